//! Remedies proved on the recorded run: an allocator's setting is offered only where a replay of the
//! run with it fits.

use whyoom_allocators::{
    SimulatedDevice,
    policies::pytorch::{PyTorch, PyTorchSettings},
    replay::replay,
    workload::{Run, Workload},
};
use whyoom_trace::Bytes;

use crate::{
    finding::{Finding, Proof, Remedy},
    verdict::Verdict,
};

/// Replays the recorded runs with each setting that the verdict offers. One that does not fit is
/// taken off the list; one that fits goes to its head, with the figures.
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
    if finding.remedies.iter().all(|remedy| remedy.setting.is_none()) {
        return;
    }
    let Some(capacity) = run.workload.known_capacity() else { return };
    let recorded =
        PyTorchSettings { device_total: capacity, ..PyTorchSettings::from_recorded(&run.settings) };
    if replayed(&run.workload, &recorded, capacity).is_some() {
        return;
    }
    let tried = std::mem::take(&mut finding.remedies).into_iter().filter_map(|remedy| {
        let Some(setting) = remedy.setting else { return Some(remedy) };
        let mut settings = recorded.clone();
        settings.apply(setting).ok()?;
        let peak = replayed(&run.workload, &settings, capacity)?;
        let proof = Proof { peak: Bytes(peak), capacity: Bytes(capacity) };
        Some(Remedy { proof: Some(proof), ..remedy })
    });
    finding.remedies = tried.collect();
    finding.remedies.sort_by_key(|remedy| remedy.proof.map_or(Bytes(u64::MAX), |proof| proof.peak));
    if finding.remedies.is_empty() {
        finding.remedies.push(Remedy::advice(
            "no allocator setting that was tried fits this run: pad inputs to a few fixed sizes, or \
             use less memory",
        ));
    }
}

/// The most that the run reserves under these settings; nothing where it fails.
fn replayed(workload: &Workload, settings: &PyTorchSettings, capacity: u64) -> Option<u64> {
    let mut device = SimulatedDevice::new(capacity);
    let outcome = replay(workload, &mut PyTorch::new(settings.clone()), &mut device);
    outcome.fits().then_some(outcome.peak_reserved)
}
