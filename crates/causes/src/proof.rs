//! Remedies proved on the recorded run: an allocator's setting is offered only where a replay of the
//! run with it fits.

use whyoom_allocators::{
    Policy, SimulatedDevice, catalogue,
    policies::{
        pytorch::{PyTorch, PyTorchSettings},
        stitch::Stitch,
    },
    replay::replay,
    workload::{Run, Workload},
};
use whyoom_trace::Bytes;

use crate::{
    finding::{Finding, Proof, Remedy},
    verdict::Verdict,
};

/// Causes for which the pool is tried although they offer no setting: pieces that stay pieces under
/// expandable segments, and what no known cause explains (cached memory of other streams, for one).
const LEFT_TO_THE_POOL: [&str; 2] = ["fragmented-cache", "unknown"];

/// Replays the recorded runs with each setting that the verdict offers. One that does not fit is
/// taken off the list; one that fits goes to its head, with the figures. Where none fits, whyoom's own
/// pool is tried.
///
/// A run that the model of PyTorch's allocator does not see fail as it failed proves nothing: its
/// remedies stay as they are.
pub fn prove(verdict: &mut Verdict, runs: &[Run]) {
    for finding in std::iter::once(&mut verdict.primary).chain(&mut verdict.contributing) {
        let own = |run: &&Run| (run.process, run.device) == (finding.process, finding.device);
        if let Some(run) = runs.iter().find(own) {
            prove_finding(finding, run);
        }
    }
}

fn prove_finding(finding: &mut Finding, run: &Run) {
    let has_setting = finding.remedies.iter().any(|remedy| remedy.setting.is_some());
    if !has_setting && !LEFT_TO_THE_POOL.contains(&finding.cause) {
        return;
    }
    let Some(capacity) = run.workload.known_capacity() else { return };
    let recorded =
        PyTorchSettings { device_total: capacity, ..PyTorchSettings::from_recorded(&run.settings) };
    let fits = |policy: &mut dyn Policy| replayed(&run.workload, policy, capacity);
    if fits(&mut PyTorch::new(recorded.clone())).is_some() {
        return;
    }
    let tried = std::mem::take(&mut finding.remedies).into_iter().filter_map(|remedy| {
        let Some(setting) = remedy.setting else { return Some(remedy) };
        let mut settings = recorded.clone();
        settings.apply(setting).ok()?;
        let proof = fits(&mut PyTorch::new(settings))?;
        Some(Remedy { proof: Some(proof), ..remedy })
    });
    finding.remedies = tried.collect();
    let expandable = PyTorchSettings { expandable_segments: true, ..recorded };
    let a_setting_fits = finding.remedies.iter().any(|remedy| remedy.proof.is_some())
        || !has_setting && fits(&mut PyTorch::new(expandable)).is_some();
    if !a_setting_fits {
        let proof = fits(&mut Stitch::new(capacity));
        finding.remedies.extend(proof.and_then(by_pool));
    }
    finding.remedies.sort_by_key(|remedy| remedy.proof.map_or(Bytes(u64::MAX), |proof| proof.peak));
    if finding.remedies.is_empty() {
        finding.remedies.push(Remedy::advice(
            "no allocator setting that was tried fits this run: pad inputs to a few fixed sizes, or \
             use less memory",
        ));
    }
}

/// Whyoom's own pool, where its policy was replayed and fitted.
fn by_pool(proof: Proof) -> Option<Remedy> {
    let entry = catalogue::find("stitch")?;
    let what =
        "no setting of PyTorch's allocator that was tried fits this run; whyoom's own pool does";
    Some(Remedy { proof: Some(proof), ..Remedy::line(entry.switch, what) })
}

/// What the run reserves under a policy at most; nothing where it fails.
fn replayed(workload: &Workload, policy: &mut dyn Policy, capacity: u64) -> Option<Proof> {
    let mut device = SimulatedDevice::new(capacity);
    let outcome = replay(workload, policy, &mut device);
    let proof = Proof { peak: Bytes(outcome.peak_reserved), capacity: Bytes(capacity) };
    outcome.fits().then_some(proof)
}
