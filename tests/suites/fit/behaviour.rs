//! Programs that end, grow, fail or decide in ways that `whyoom fit` must notice.

use anyhow::{Result, ensure};
use harness::{Check, Held, python};

use super::question::{answer, fit, script};

/// A program, what it is asked, how the command must end, and what its answer must hold.
struct Case {
    name: &'static str,
    program: &'static str,
    flags: &'static [&'static str],
    status: i32,
    /// What must be in its notes.
    notes: &'static [&'static str],
    /// Whether what was asserted holds, one by one.
    assertions: &'static [bool],
}

const CASES: &[Case] = &[
    noted("inference", &["model calls, when they repeated"]),
    noted("accumulation", &["stopped after 3 optimizer steps, when they repeated"]),
    noted(
        "varying",
        &["differ in size; stopped after 80, none of which exceeded the peak since the 30th"],
    ),
    Case {
        name: "varying-steps",
        flags: &["--steps", "7"],
        ..noted("varying", &["stopped after 7 optimizer steps, as requested"])
    },
    noted("growing", &["each step leaves 256.00 KiB more allocated"]),
    noted("deciding", &["read values back", "queried free memory once"]),
    noted("workers", &["stopped after 3 optimizer steps, when they repeated"]),
    noted("short", &["ran to completion, with 1 optimizer steps"]),
    Case {
        name: "short-asserted",
        flags: &["--assert", "peak<2GiB", "--assert", "headroom>0"],
        assertions: &[true, true],
        ..noted("short", &[])
    },
    Case {
        name: "short-asserted-wrongly",
        flags: &["--assert", "allocated>=1GiB"],
        status: 3,
        assertions: &[false],
        ..noted("short", &[])
    },
];

const fn noted(program: &'static str, notes: &'static [&'static str]) -> Case {
    Case { name: program, program, flags: &[], status: 0, notes, assertions: &[] }
}

pub(super) fn checks() -> Vec<Check> {
    let check =
        |case: &'static Case| Check::new(format!("behaviour::{}", case.name), || case.run());
    let others =
        [Check::new("behaviour::failing", failing), Check::new("behaviour::ddp", launched)];
    CASES.iter().map(check).chain(others).collect()
}

/// The command about a program of `behaviour.py`, which must end so: what it printed.
fn asked(program: &str, flags: &[&str], status: i32) -> Result<std::process::Output> {
    let command = [python()?, script("behaviour.py"), program.to_owned()];
    let output = fit(&[&["--gpu", "l4"], flags].concat(), &command)?;
    let said = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.code() == Some(status), "{}, not {status}:\n{said}", output.status);
    Ok(output)
}

impl Case {
    fn run(&self) -> Result<Held> {
        let answer = answer(&asked(self.program, self.flags, self.status)?)?;
        ensure!(answer.gpus.len() == 1, "{} GPUs are judged", answer.gpus.len());
        for note in self.notes {
            ensure!(answer.notes_say(note), "no note “{note}” in {:?}", answer.notes);
        }
        let hold: Vec<bool> = answer.assertions.iter().map(|one| one.holds).collect();
        ensure!(hold == self.assertions, "{:?}", answer.assertions);
        Ok(Held::new(format!("status {}, {:?}", self.status, self.notes)).count("programs", 1))
    }
}

fn failing() -> Result<Held> {
    let output = asked("failing", &[], 4)?;
    let said = String::from_utf8_lossy(&output.stderr);
    ensure!(said.contains("the data set is missing"), "its last line is not shown:\n{said}");
    Ok(Held::new("status 4, with the program's own last line").count("programs", 1))
}

/// A data-parallel program by its launcher: both ranks are seen, each on its own GPU.
fn launched() -> Result<Held> {
    let launch = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"];
    let words = launch.into_iter().map(str::to_owned);
    let command: Vec<_> = [python()?].into_iter().chain(words).chain([script("ddp.py")]).collect();
    let output = fit(&["--gpu", "l4,a100", "--gpus", "2"], &command)?;
    ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let answer = answer(&output)?;
    ensure!(answer.gpus.len() == 2, "{} GPUs are judged", answer.gpus.len());
    for gpu in &answer.gpus {
        let processes = gpu.processes.iter();
        let places: Vec<_> = processes.map(|one| (one.rank.as_str(), one.device)).collect();
        ensure!(places == [("0", 0), ("1", 1)], "{}: rank and device are {places:?}", gpu.name);
        let peaks = [0, 1].map(|rank: usize| gpu.processes[rank].peak_allocated_bytes);
        ensure!(peaks[0] > Some(0) && peaks[0] == peaks[1], "the ranks differ: {peaks:?}");
    }
    Ok(Held::new("torchrun, 2 ranks, each on its own GPU").count("programs", 1))
}
