//! Remedies tried on the recorded run: an allocator's setting is offered only where a replay of the
//! run with it fits, and called proved only where that covers whole iterations.

use whyoom_allocators::{
    Policy, Run, SimulatedDevice, Workload, catalogue,
    policies::{
        pytorch::{PyTorch, PyTorchSettings},
        stitch::Stitch,
    },
    replay, whole_iterations,
};
use whyoom_trace::{Bytes, Tables};

use crate::{
    allocator_conf::ConfVariable,
    finding::{Finding, Level, Proof, Remedy},
    program_lines::ProgramLines,
    shell::Shell,
    verdict::Verdict,
};

/// Causes for which allocators are tried although they offer no setting: pieces that stay pieces under
/// expandable segments, and what no known cause explains (cached memory of other streams, for one).
const LEFT_TO_ALLOCATORS: [&str; 2] = ["fragmented-cache", "unknown"];
/// Causes that no allocator removes: what fits beside them in a replay fits until the next request.
const BEYOND_ALLOCATORS: [&str; 5] =
    ["working-set", "other-process", "orphan", "request-too-big", "growth"];
/// Fewer whole iterations may be the warm-up.
const ENOUGH_ITERATIONS: u64 = 2;
/// What holds must also fit in this share of the memory: the next iteration is never quite the same.
const WITH_LESS: f64 = 0.97;

/// Replays the recorded runs with each setting that the verdict offers. One that does not fit is
/// taken off the list; one that is proved goes to its head, with the figures. Where none fits, PyTorch's
/// default allocator and whyoom's own pool are tried.
///
/// A run that the model of PyTorch's allocator does not see fail as it failed proves nothing: its
/// remedies stay as they are.
pub fn prove(verdict: &mut Verdict, runs: &[Run], tables: &Tables) {
    let beyond = BEYOND_ALLOCATORS.contains(&verdict.primary.cause);
    for finding in verdict.findings_mut() {
        let own = |run: &&Run| (run.process, run.device) == (finding.process, finding.device);
        if is_provable(finding)
            && let Some(trial) =
                runs.iter().find(own).and_then(|run| Trial::of(run, beyond, tables))
        {
            trial.prove(finding);
        }
    }
    Shell::of_paths(tables).translate(verdict.findings_mut());
}

/// Whether a verdict offers anything that a replay of the run could prove.
#[must_use]
pub fn has_provable_remedies(verdict: &Verdict) -> bool {
    verdict.findings().any(is_provable)
}

/// Whether a replay could tell anything of it.
fn is_provable(finding: &Finding) -> bool {
    let has_setting = finding.remedies.iter().any(|remedy| remedy.setting.is_some());
    has_setting || LEFT_TO_ALLOCATORS.contains(&finding.cause)
}

fn iterations_of(workload: &Workload, tables: &Tables) -> u64 {
    let lines = ProgramLines::of(tables);
    whole_iterations(workload, |stack| lines.of_stack(stack))
}

/// What became of a remedy that was applied: a setting of PyTorch's allocator, or, without one, whyoom's pool. One
/// that helped is proved by that; one that did not is taken off the list.
pub fn was_applied(verdict: &mut Verdict, setting: Option<&str>, succeeded: bool) {
    let is_it = |remedy: &Remedy| remedy.proof.is_some() && remedy.setting == setting;
    for finding in verdict.findings_mut() {
        if !succeeded {
            finding.remedies.retain(|remedy| !is_it(remedy));
        }
        for remedy in finding.remedies.iter_mut().filter(|remedy| is_it(remedy)) {
            remedy.proof = remedy.proof.map(|proof| Proof { level: Level::Ran, ..proof });
        }
    }
    if !succeeded {
        let what = setting.unwrap_or("whyoom's own pool");
        verdict.primary.because.push_str(&format!(" A rerun with {what} did not help."));
    }
}

/// A run that fails under its recorded settings in a replay too.
struct Trial<'a> {
    workload: &'a Workload,
    /// The allocator's variable.
    conf: &'a str,
    capacity: u64,
    recorded: PyTorchSettings,
    /// Whole iterations at peak size before the failure.
    iterations: u64,
}

impl<'a> Trial<'a> {
    fn of(run: &'a Run, beyond_allocators: bool, tables: &Tables) -> Option<Self> {
        let workload = &run.workload;
        let capacity = workload.known_capacity()?;
        let recorded = PyTorchSettings {
            device_total: capacity,
            ..PyTorchSettings::from_recorded(&run.settings)
        };
        let names = ["PYTORCH_CUDA_ALLOC_CONF", "PYTORCH_ALLOC_CONF"];
        let conf =
            names.iter().find_map(|name| run.settings.iter().find(|(known, _)| known == name));
        let conf = conf.map_or("", |(_, value)| value.as_str());
        let trial = Self { workload, conf, capacity, recorded, iterations: 0 };
        if trial.fits(|| PyTorch::new(trial.recorded.clone())).is_some() {
            return None;
        }
        // Only now: few runs come so far.
        let iterations = if beyond_allocators { 0 } else { iterations_of(workload, tables) };
        Some(Self { iterations, ..trial })
    }

    fn prove(&self, finding: &mut Finding) {
        let has_setting = finding.remedies.iter().any(|remedy| remedy.setting.is_some());
        finding.remedies = std::mem::take(&mut finding.remedies)
            .into_iter()
            .filter_map(|remedy| self.tried(remedy))
            .collect();
        let a_setting_fits = finding.remedies.iter().any(|remedy| remedy.proof.is_some())
            || !has_setting && self.fits_with("expandable_segments:True").is_some();
        if !a_setting_fits {
            finding.remedies.extend(self.by_another_allocator());
        }
        // Of those that are proved the one that takes least; the others stay as they were.
        finding.remedies.sort_by_key(|remedy| {
            let proof = remedy.proof.filter(Proof::holds);
            proof.map_or(Bytes(u64::MAX), |proof| proof.peak)
        });
        if finding.remedies.is_empty() {
            finding.remedies.push(Remedy::advice(
                "no allocator setting that was tried fits this run: pad inputs to a few fixed sizes, or \
                 use less memory",
            ));
        }
    }

    /// The same with what a replay says of it; nothing where it does not fit.
    fn tried(&self, remedy: Remedy) -> Option<Remedy> {
        let Some(setting) = remedy.setting else { return Some(remedy) };
        let proof = self.fits_with(setting)?;
        Some(Remedy { proof: Some(proof), ..remedy })
    }

    /// The default allocator or whyoom's pool: of both one that is proved, else the one that changes less.
    fn by_another_allocator(&self) -> Option<Remedy> {
        let default = self.by_default_allocator();
        if default.as_ref().is_some_and(Remedy::is_proved) {
            return default;
        }
        let pool = self.by_pool();
        if pool.as_ref().is_some_and(Remedy::is_proved) { pool } else { default.or(pool) }
    }

    /// PyTorch's allocator without the expandable segments that were on.
    fn by_default_allocator(&self) -> Option<Remedy> {
        const OFF: &str = "expandable_segments:False";
        if !self.recorded.expandable_segments {
            return None;
        }
        let proof = self.fits_with(OFF)?;
        let what = "the default allocator fits, without the expandable segments that are on";
        let name = "PYTORCH_CUDA_ALLOC_CONF";
        let variable = ConfVariable {
            name,
            set_now: name,
            hides_another: false,
            value: self.conf,
            release: None,
        };
        let remedy = variable.add(OFF, what);
        Some(Remedy { proof: Some(proof), ..remedy.by_setting(OFF) })
    }

    /// Whyoom's own pool, where its policy was replayed and fitted.
    fn by_pool(&self) -> Option<Remedy> {
        let proof = self.fits(|| Stitch::new(self.capacity))?;
        let entry = catalogue::find("stitch")?;
        let what =
            "no PyTorch allocator setting that was tried fits this run; whyoom's own pool does";
        Some(Remedy { proof: Some(proof), ..Remedy::line(entry.switch, what) })
    }

    fn fits_with(&self, setting: &str) -> Option<Proof> {
        let settings = self.recorded.with_option(setting).ok()?;
        self.fits(|| PyTorch::new(settings.clone()))
    }

    /// What the run reserves under a policy at most; nothing where it fails.
    fn fits<P: Policy>(&self, policy: impl Fn() -> P) -> Option<Proof> {
        let on = |capacity| {
            let mut device = SimulatedDevice::new(capacity);
            replay(self.workload, &mut policy(), &mut device)
        };
        let outcome = on(self.capacity);
        let (peak, capacity) = (Bytes(outcome.peak_reserved), Bytes(self.capacity));
        if !outcome.fits() {
            return None;
        }
        let holds = self.iterations >= ENOUGH_ITERATIONS
            && on((self.capacity as f64 * WITH_LESS) as u64).fits();
        let level =
            if holds { Level::WholeIterations(self.iterations) } else { Level::ThisRequest };
        Some(Proof { peak, capacity, level })
    }
}
