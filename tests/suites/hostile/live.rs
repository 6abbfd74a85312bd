//! A process that says where it is recorded, and `who`, which root runs; a program that cuts its recording.

use std::process::Command;

use anyhow::{Context, Result, ensure};
use harness::{Bounded, Build, Held, Need, fresh, from_slice, root, text};

/// What stands in place of a process's part file, as `live.py` knows it.
const TRAPS: [&str; 6] = ["fifo", "device", "link", "another", "foreign", OWN];
/// Its own, which is believed.
const OWN: &str = "none";
/// The files of a recording.
const FILES: [&str; 3] = [".part", ".events", ".tables"];
/// What `cutter.py` ends with.
const STATUS: i32 = 7;
/// As a shell counts a program that SIGBUS ended.
const BUS_ERROR: i32 = 128 + 7;

/// Runs `who` beside a process with such a part file, for each of them.
fn looks(traps: &[&str]) -> Result<Vec<Vec<Bounded>>> {
    let build = Build::ready()?;
    let script = root().join("tests/suites/hostile/live.py");
    let bounded = root().join("tests/harness/bounded.py");
    let mut lab = Command::new(build.whyoom());
    lab.args(["lab", "run", "--memory", "4GiB", "--", "python3"]).arg(script).arg(bounded);
    let output = lab.arg(build.whyoom()).args(traps).output()?;
    ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let answers: Vec<Vec<Bounded>> = from_slice(&output.stdout)?;
    ensure!(answers.len() == traps.len(), "{} answers for {traps:?}", answers.len());
    Ok(answers)
}

/// What a recorder said, by `who`.
fn is_recorded(answer: &Bounded) -> Result<bool> {
    ensure!(answer.status == Some(0), "who ended with {:?}: {}", answer.status, answer.err);
    let report: serde_json::Value = serde_json::from_str(&answer.out)?;
    let holders = report["devices"][0]["holders"].as_array().context("no holders")?;
    ensure!(holders.len() == 1, "{} holders", holders.len());
    Ok(!holders[0]["recorded"].is_null())
}

/// What stands under the name of a part file and is none of that user's.
pub(super) fn part_files() -> Result<Held> {
    Need::Root.met()?;
    for (trap, answers) in TRAPS.into_iter().zip(looks(&TRAPS)?) {
        let [answer] = answers.try_into().ok().context("not one look")?;
        let is_believed = is_recorded(&answer.in_bounds(0).context(trap)?)?;
        ensure!(is_believed == (trap == OWN), "{trap}: believed: {is_believed}");
    }
    Ok(Held::new("not believed, nor waited for").count("part files", TRAPS.len() as u64))
}

/// A part file that is short at one moment and whole at the next.
pub(super) fn cut_while_looked_at() -> Result<Held> {
    let answers = looks(&["cut"])?.remove(0);
    let count = answers.len();
    ensure!(count >= 5, "only {count} looks");
    for answer in answers {
        is_recorded(&answer.in_bounds(0)?)?;
    }
    Ok(Held::new("who answers").count("looks", count as u64))
}

/// Runs the program that cuts its own recording.
fn cutter(arguments: &[&str]) -> Result<Bounded> {
    let whyoom = text(&Build::ready()?.whyoom());
    let script = text(&root().join("tests/suites/hostile/cutter.py"));
    let recording = text(&fresh("hostile-cutter")?);
    let lab = [&whyoom, "lab", "run", "--memory", "4GiB", "--"];
    let run = [&whyoom, "run", "-o", &recording, "--", "python3", &script];
    Bounded::run(&[&lab[..], &run[..], arguments].concat(), None, &[])
}

/// The program's status is its own, whatever it does to its recording.
pub(super) fn status_of_the_program() -> Result<Held> {
    for file in FILES {
        let ran = cutter(&[file])?;
        let Bounded { status, out, err, .. } = &ran;
        ensure!(*status == Some(STATUS), "{file}: exit status {status:?}: {err}");
        ensure!(out == "went on\n", "{file}: it printed {out:?}");
    }
    Ok(Held::new("it goes on, and its status stays").count("files", FILES.len() as u64))
}

/// A fault of the program's own still ends it.
pub(super) fn fault_of_the_program() -> Result<Held> {
    let ran = cutter(&[".part", "own"])?;
    ensure!(ran.status == Some(BUS_ERROR), "exit status {:?}: {}", ran.status, ran.err);
    ensure!(ran.out.is_empty(), "it went on");
    Ok(Held::new("SIGBUS ends the program, as without the recorder"))
}
