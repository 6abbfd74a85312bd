//! The fifteen programs of which the cause is known.

use anyhow::Result;

use crate::{checkout::scratch, programs::cuda_programs, scenarios::scenarios, trial::Trial};

/// Each program with what is true of it.
pub const FIFTEEN: &[(&str, &str)] = &[
    ("program01", "healthy"),
    ("program02", "unchecked-error"),
    ("program03", "mempool-held"),
    ("program04", "healthy"),
    ("program05", "healthy"),
    ("program06", "cache-held"),
    ("program07", "device-heap"),
    ("program08", "pinned-host"),
    ("program09", "request-too-big"),
    ("program10", "growth"),
    ("program11", "other-process"),
    ("program12", "leak-at-exit"),
    ("program13", "working-set"),
    ("program14", "working-set"),
    ("program15", "other-process"),
];

/// One of them.
#[derive(Debug, Clone)]
pub struct Fifteen {
    /// How it is run.
    pub trial: Trial,
    /// Whether it is one of PyTorch's, or in CUDA C.
    pub is_torch: bool,
}

/// One of the fifteen.
pub fn fifteen(name: &str) -> Result<Fifteen> {
    let script = format!("{name}.py");
    if let Some(scenario) = scenarios()?.iter().find(|scenario| scenario.script == script) {
        return Ok(Fifteen { trial: scenario.trial(&scratch("lab-torch")?)?, is_torch: true });
    }
    let mut trial = Trial::new("2GiB", &[cuda_programs()?.join(name)]);
    // The lab's kernels compute nothing: it is told what this one does.
    let effect = ["--kernel", "allocate_in_kernel=heap-exhausted"].map(str::to_owned);
    trial.lab.extend(effect.into_iter().filter(|_| name == "program07"));
    Ok(Fifteen { trial, is_torch: false })
}
