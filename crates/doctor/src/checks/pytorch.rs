//! PyTorch where it is installed: a training, a CUDA graph and a copy between GPUs, alone, recorded and pooled; and what
//! `whyoom fit` says of the training before.

use std::{ffi::OsString, path::PathBuf, process::Command};

use serde_json::Value;
use whyoom_lab_calibrate::calibrate;
use whyoom_trace::Bytes;

use super::programs::{POOLED, Program, RECORDED, last, text, worse};
use crate::outcome::Outcome;

const TRAINED: &str = include_str!("trained.py");
/// The last line of the program that is compared with `fit`: what PyTorch had reserved at most.
const PEAK: &str = "\nprint('peak', torch.cuda.max_memory_reserved())\n";
/// `whyoom fit` answers so where the program does not fit, too.
const FIT_ANSWERS: [Option<i32>; 2] = [Some(0), Some(3)];

/// How Python ends where PyTorch is installed and finds no GPU.
const NO_GPU: i32 = 3;

/// What PyTorch does alone, recorded and pooled.
pub(super) fn run() -> Outcome {
    let python = match python() {
        Ok(python) => python,
        Err(why) => return Outcome::not_run(why),
    };
    let program = Program {
        words: words(python, TRAINED.to_owned()),
        says: "trained",
        is: "a training with PyTorch, a CUDA graph and a copy",
    };
    worse(program.under(RECORDED), program.under(POOLED))
}

/// What `whyoom fit` says of the training, and what it takes.
pub(super) fn fit() -> Outcome {
    let python = match python() {
        Ok(python) => python,
        Err(why) => return Outcome::not_run(why),
    };
    let Ok(gpu) = calibrate(0) else { return Outcome::not_run("GPU 0 cannot be measured") };
    let Some(model) = gpu.model() else {
        return Outcome::not_run(format!("{} is not in whyoom lab list", gpu.model_name()));
    };
    let words = words(python, format!("{TRAINED}{PEAK}"));
    let program = Program { words: words.clone(), says: "trained", is: "a training with PyTorch" };
    let Some(took) = program.alone().ok().and_then(|ran| peak(&text(&ran.stdout))) else {
        return Outcome::not_run("a training with PyTorch does not work here");
    };
    match predicted(model.name, &words) {
        Err(why) => Outcome::failed(
            format!("whyoom fit gives no answer: {why}"),
            "fit does not work here: send this report",
        ),
        Ok(said) if said == took => {
            Outcome::ok(format!("whyoom fit tells what a training takes: {}", Bytes(took)))
        }
        Ok(said) => Outcome::differs(
            format!("whyoom fit says {}, and a training takes {}", Bytes(said), Bytes(took)),
            "what PyTorch reserves is not what fit says here: take its figures for estimates, and send this report",
        )
        .with("fit_bytes", said as f64)
        .with("run_bytes", took as f64),
    }
}

/// The peak that a program says last.
fn peak(said: &str) -> Option<u64> {
    said.lines().last()?.strip_prefix("peak ")?.parse().ok()
}

/// What `whyoom fit` says that PyTorch reserves.
fn predicted(gpu: &str, words: &[OsString]) -> Result<u64, String> {
    let own = std::env::current_exe().map_err(|error| error.to_string())?;
    let mut fit = Command::new(own);
    fit.args(["fit", "--json", "--gpu", gpu, "--"]).args(words);
    let answered = fit.output().map_err(|error| error.to_string())?;
    let told: Value = match answered.status.code() {
        code if FIT_ANSWERS.contains(&code) => {
            serde_json::from_slice(&answered.stdout).map_err(|error| error.to_string())?
        }
        _ => return Err(last(&answered)),
    };
    let peak = &told["gpus"][0]["processes"][0]["peak_reserved_bytes"];
    peak.as_u64().ok_or_else(|| "it has no peak".to_owned())
}

/// The Python beside this command, or the first one that is found, if it has PyTorch and PyTorch a GPU.
fn python() -> Result<PathBuf, &'static str> {
    let own = std::env::current_exe().ok();
    let beside = own.and_then(|own| Some(own.parent()?.join("python")));
    let named = ["python3", "python"].into_iter().map(PathBuf::from);
    let mut without_gpu = false;
    for python in beside.into_iter().chain(named) {
        let asked =
            format!("import sys, torch; sys.exit(0 if torch.cuda.is_available() else {NO_GPU})");
        let answered = Command::new(&python).args(["-c", &asked]).output();
        match answered.ok().and_then(|answered| answered.status.code()) {
            Some(0) => return Ok(python),
            code => without_gpu |= code == Some(NO_GPU),
        }
    }
    Err(match without_gpu {
        true => {
            "PyTorch finds no GPU: is it a build for the processor only? (python -c 'import torch; print(torch.version.cuda)')"
        }
        false => "no Python with PyTorch was found: start doctor in its environment",
    })
}

fn words(python: PathBuf, script: String) -> Vec<OsString> {
    vec![python.into_os_string(), "-c".into(), script.into()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_peak_is_the_last_line() {
        assert_eq!(peak("trained 1\npeak 2097152\n"), Some(2 << 20));
        assert_eq!(peak("trained 1\n"), None);
    }
}
