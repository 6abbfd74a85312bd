//! The four ways in which a program is run, and what must be seen in each.

use std::{fs, path::Path, process::Command, time::Duration};

use anyhow::{Context, Result, ensure};
use harness::{
    Build,
    documents::{Fit, Why},
    empty_folder, environment, from_str, root, text,
};
use serde_json::Value;

use super::{
    cell::Cell,
    limited::{self, Ended},
    peaks,
    table::{Counts, Program},
};

/// A way to run a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Way {
    /// On the simulated GPU.
    Lab,
    /// Asked whether it fits.
    Fit,
    /// Recorded on a GPU that is too small.
    Run,
    /// Served by the pool.
    Pool,
}

/// All of them.
pub(super) const WAYS: [Way; 4] = [Way::Lab, Way::Fit, Way::Run, Way::Pool];

impl Way {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Lab => "lab",
            Self::Fit => "fit",
            Self::Run => "run",
            Self::Pool => "pool",
        }
    }

    /// Runs a program in this way, and compares what is seen with the table.
    pub(super) fn tried(self, build: &Build, program: &Program) -> Cell {
        let mut seconds = 0.0;
        match self.judged(build, program, &mut seconds) {
            Ok(said) => Cell::Green { seconds, said },
            Err(error) => Cell::Red { seconds, why: format!("{error:#}") },
        }
    }

    fn judged(self, build: &Build, program: &Program, seconds: &mut f64) -> Result<String> {
        let folder = empty_folder(&format!("stacks-{}-{}", program.name, self.name()))?;
        let ended = self.run(build, program, &folder)?;
        *seconds = ended.seconds;
        ensure!(
            ended.status.is_some(),
            "killed after {} s: {}",
            program.seconds,
            last_error(&ended.err)
        );
        match self {
            Self::Lab => ran(program, &ended),
            Self::Fit => fitted(program, &ended),
            Self::Run => explained(program, &ended, &folder),
            Self::Pool => pooled(program, &ended, &folder),
        }
    }

    /// Runs a program in this way, in a folder.
    pub(super) fn run(self, build: &Build, program: &Program, folder: &Path) -> Result<Ended> {
        let words = self.words(&text(&build.file("whyoom")), program, &python(program)?);
        let mut command = Command::new(&words[0]);
        command.args(&words[1..]).envs(&program.variables);
        limited::run(&mut command, folder, Duration::from_secs(program.seconds))
    }

    /// The whole command. The recording and the verdict lie in the folder in which it runs.
    fn words(self, whyoom: &str, program: &Program, python: &str) -> Vec<String> {
        let lab = format!("{whyoom} lab run --gpu {} --gpus {}", program.gpu, program.gpus);
        let run = format!("{whyoom} run --output recording --json verdict.json");
        let front = match self {
            Self::Lab => format!("{lab} --"),
            Self::Fit => {
                format!("{whyoom} fit --json --gpu {} --gpus {} --", program.gpu, program.gpus)
            }
            Self::Run => format!("{lab} --memory {} -- {run} --", program.oom.memory),
            Self::Pool => format!("{lab} -- {run} --pool --"),
        };
        let arguments = match (self, &program.oom.arguments) {
            (Self::Run, Some(arguments)) => arguments,
            _ => &program.arguments,
        };
        let script = root().join("tests/scenarios/stacks/programs").join(&program.script);
        let mut words: Vec<String> = front.split(' ').map(str::to_owned).collect();
        words.push(python.to_owned());
        if !program.launcher.is_empty() {
            words.push("-m".to_owned());
        }
        words.extend(program.launcher.iter().cloned());
        words.push(text(&script));
        words.extend(arguments.iter().cloned());
        words
    }
}

fn python(program: &Program) -> Result<String> {
    Ok(text(&environment(&program.environment)?.join("bin/python")))
}

/// It ended well, and PyTorch's own peak is the arithmetic's on every rank.
fn ran(program: &Program, ended: &Ended) -> Result<String> {
    succeeded(ended)?;
    let reports = reports(&ended.out);
    ensure!(reports.iter().any(Value::is_object), "it reported nothing");
    if program.counts == Counts::Driver {
        return Ok("ended".to_owned());
    }
    peaks::judged(program, &peaks::of_reports(&reports))
}

/// The lines in which a program reports: of each rank one.
fn reports(out: &str) -> Vec<Value> {
    out.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
}

/// It fits, and the peak is the arithmetic's in every process.
fn fitted(program: &Program, ended: &Ended) -> Result<String> {
    succeeded(ended)?;
    let fit: Fit = from_str(&ended.out)?;
    ensure!(fit.gpus.iter().all(|gpu| gpu.fits), "it says that it does not fit");
    let processes = fit.gpus.iter().flat_map(|gpu| &gpu.processes);
    peaks::judged(program, &peaks::of_processes(program, processes))
}

/// It ran out of memory, and the verdict has the right cause.
fn explained(program: &Program, ended: &Ended, folder: &Path) -> Result<String> {
    ensure!(!ended.status.is_some_and(|status| status.success()), "memory did not run out");
    let verdict = verdict(folder).with_context(|| last_error(&ended.err))?.verdict;
    let (said, cause) = (format!("{}: {}", verdict.cause, verdict.headline), &program.oom.cause);
    ensure!(verdict.cause == *cause, "{said} (the cause is {cause})");
    Ok(said)
}

/// It ended well, and the pool was not off.
fn pooled(program: &Program, ended: &Ended, folder: &Path) -> Result<String> {
    succeeded(ended)?;
    let mut own = ended.err.lines().filter(|line| line.starts_with("whyoom:"));
    let off =
        own.find(|line| line.contains("the pool is off") || line.contains("without the pool"));
    ensure!(off.is_none(), "{}", off.unwrap_or_default());
    let verdict = verdict(folder)?.verdict;
    ensure!(verdict.cause == "healthy", "{}: {}", verdict.cause, verdict.headline);
    ensure!(
        is_served(&reports(&ended.out), &verdict.because),
        "nothing shows that the pool served"
    );
    if program.counts == Counts::Allocated {
        ran(program, ended)?;
    }
    Ok(verdict.headline)
}

/// PyTorch says which allocator it has. Of other programs, the verdict tells what the pool held at the end.
fn is_served(reports: &[Value], because: &str) -> bool {
    let mut allocators = reports.iter().filter_map(|report| report.get("allocator")).peekable();
    match allocators.peek() {
        Some(_) => allocators.all(|allocator| allocator == "pluggable"),
        None => because.contains("whyoom's pool"),
    }
}

fn verdict(folder: &Path) -> Result<Why> {
    let text = fs::read_to_string(folder.join("verdict.json")).context("there is no verdict")?;
    from_str(&text)
}

fn succeeded(ended: &Ended) -> Result<()> {
    let status = ended.status.context("it did not end")?;
    ensure!(status.success(), "{status}: {}", last_error(&ended.err));
    Ok(())
}

/// The last line that looks like an error, and is not the launcher's about its children.
fn last_error(err: &str) -> String {
    let is_error = |line: &&str| line.contains("Error") && !line.contains("ChildFailedError");
    let line = err.lines().rev().find(is_error).or_else(|| err.lines().last());
    line.map_or_else(String::new, |line| line.chars().take(200).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stacks::table::read;

    fn program() -> Program {
        read().unwrap().programs.swap_remove(0)
    }

    fn ended(out: &str) -> Ended {
        let status = Command::new("true").status().unwrap();
        Ended { status: Some(status), seconds: 1.0, out: out.to_owned(), err: String::new() }
    }

    #[test]
    fn every_rank_reports() {
        let launcher = vec!["torch.distributed.run".to_owned()];
        let (alone, ranks) = (program(), Program { launcher, gpus: 2, ..program() });
        let line = format!("{{\"allocated\": {}}}", alone.peak.bytes);
        let (one, two) = (ended(&format!("hello\n{line}")), ended(&format!("{line}\n{line}")));
        assert!(ran(&alone, &one).is_ok() && ran(&ranks, &two).is_ok());
        assert!(ran(&ranks, &one).is_err());
    }

    #[test]
    fn what_is_missing_is_not_green() {
        let program = program();
        for out in ["", "hello", "{\"shape\": []}"] {
            assert!(ran(&program, &ended(out)).is_err(), "{out}");
        }
        let fit = fitted(&program, &ended("{}"));
        assert!(fit.is_err());
        let folder = empty_folder("stacks-way-test").unwrap();
        assert!(explained(&program, &ended(""), &folder).is_err(), "it did not fail");
        assert!(pooled(&program, &ended(""), &folder).is_err(), "no verdict");
    }

    #[test]
    fn the_error_of_a_rank_is_told_and_not_the_launchers() {
        let err = "[rank1]: RuntimeError: no\ntorch.distributed.ChildFailedError:\nend";
        assert_eq!(last_error(err), "[rank1]: RuntimeError: no");
        assert_eq!(last_error("one\ntwo"), "two");
    }

    #[test]
    fn a_pool_that_served_nothing_is_noticed() {
        let served = |out: &str, because: &str| is_served(&reports(out), because);
        assert!(served(r#"{"allocator": "pluggable"}"#, ""));
        assert!(!served(
            "{\"allocator\": \"pluggable\"}\n{\"allocator\": \"native\"}",
            "whyoom's pool"
        ));
        assert!(served("{}", "whyoom's pool held 1 GiB") && !served("{}", "At the peak"));
    }

    #[test]
    fn a_launcher_is_a_module() {
        let launcher = vec!["torch.distributed.run".to_owned()];
        let program = Program { launcher, ..program() };
        let words = Way::Run.words("whyoom", &program, "python").join(" ");
        assert!(words.contains("-- python -m torch.distributed.run /"), "{words}");
        assert!(words.contains(&format!("--memory {}", program.oom.memory)), "{words}");
    }
}
