//! `whyoom run --flight` on a program that leaks: exact though the ring drops most of it, answered while it runs, and
//! nothing left where nothing is wrong.

use std::{
    fs,
    path::Path,
    process::{Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context, Result, bail, ensure};
use harness::{Build, Check, Held, Trial, documents::Why, fresh, python, text};
use rustix::process::{Pid, Signal, kill_process};

use super::programs_in_c::source;

const STEPS: &str = "3000";
const PAUSE: &str = "0.002";
/// Holds some 20,000 events: a fraction of the run.
const FLIGHT: [&str; 3] = ["--flight", "--limit", "256KiB"];
const PATIENCE: Duration = Duration::from_secs(120);
/// Tells its own number, and becomes the program that follows: `sh -c TOLD - FILE COMMAND…`
const TOLD: &str = r#"echo $$ >"$1"; shift; exec "$@""#;

pub(super) fn checks() -> Vec<Check> {
    vec![
        Check::new("flight::whole", whole),
        Check::new("flight::live", live),
        Check::new("flight::healthy", healthy),
        Check::new("flight::kept-until-exit", kept_until_exit),
    ]
}

/// The verdict of a ring is that of everything.
fn whole() -> Result<Held> {
    let program = [python()?, text(&source("kept_for_long.py")), STEPS.into(), PAUSE.into()];
    let trial = Trial::new("4GiB", &program);
    let ring = trial.recorded_with("recorder/flight-ring", &FLIGHT)?;
    let all = trial.recorded("recorder/flight-all")?;
    ring.ran.succeeded()?;
    all.ran.succeeded()?;
    ensure!(ring.folder.join("flight.model").is_file(), "the ring dropped nothing");
    let (followed, expected) = (ring.verdict()?, all.verdict()?);
    expected.has_cause("growth")?;
    let notes: Vec<_> = followed.inputs.iter().flat_map(|input| &input.notes).collect();
    ensure!(notes.is_empty(), "{notes:?}");
    let told = |why: &Why| {
        let said = &why.verdict;
        let sites: Vec<_> = said.call_sites.iter().map(|site| format!("{site:?}")).collect();
        (said.headline.clone(), said.because.clone(), said.gives_back_bytes, sites)
    };
    let (followed, expected) = (told(&followed), told(&expected));
    ensure!(followed == expected, "{followed:?} in place of {expected:?}");
    Ok(Held::new(format!("{STEPS} steps: {} {}", followed.0, followed.1)))
}

/// It is told while it runs; and where `whyoom run` is killed, the program goes on, and the ring says what it lacks.
fn live() -> Result<Held> {
    let folder = fresh("recorder/flight-live")?;
    let [number, done] = ["pid", "done"].map(|kind| folder.with_extension(kind));
    for file in [&number, &done] {
        let _ = fs::remove_file(file);
    }
    let whyoom = Build::ready()?.whyoom();
    let mut command = Command::new("timeout");
    command.arg("240").arg(&whyoom).args(["lab", "run", "--", "sh", "-c", TOLD, "-"]).arg(&number);
    command.arg(&whyoom).arg("run").args(FLIGHT).arg("-o").arg(&folder).arg("--");
    command.arg(python()?).arg(source("kept_for_long.py")).args([STEPS, "0.01"]).arg(&done);
    let silent = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = silent.spawn()?;
    appears(&folder.join("flight.model"))?;
    let running = Why::ask(Build::ready()?, &[&folder])?;
    let pid = fs::read_to_string(&number)?.trim().parse()?;
    let sent = kill_process(Pid::from_raw(pid).context("process 0")?, Signal::KILL);
    child.wait()?;
    sent?;
    running.has_cause("growth")?;
    has_note(&running, "still runs")?;
    let abandoned = Why::ask(Build::ready()?, &[&folder])?;
    has_note(&abandoned, "whyoom run was killed before the program ended")?;
    appears(&done)?;
    Ok(Held::new(format!("while it ran: {}; the program went on without", running.verdict.because)))
}

/// Nothing is left of a run in which nothing was wrong, but one line.
fn healthy() -> Result<Held> {
    let (said, left) = flown("healthy", &["kept_for_long.py", "3", "0"])?;
    let line = said.lines().find(|line| line.contains("kept none")).context(said.clone())?;
    ensure!(line.contains("nothing is wrong: peak"), "{line}");
    ensure!(left == 0, "{left} things are left");
    Ok(Held::new(line.to_owned()))
}

/// A run that kept more and more is told of, though it had memory enough and freed all of it in the end.
fn kept_until_exit() -> Result<Held> {
    let (said, left) = flown("kept-until-exit", &["kept_until_exit.py"])?;
    let line = said.lines().find(|line| line.contains("[growth]")).context(said.clone())?;
    ensure!(line.contains("4.00 MiB every iteration and is freed only at exit"), "{line}");
    ensure!(left == 1, "{left} things are left in place of a recording");
    Ok(Held::new(line.to_owned()))
}

/// A program under the flight recorder of a site: what is said of it, and how much is left.
fn flown(name: &str, program: &[&str]) -> Result<(String, usize)> {
    let folder = fresh(&format!("recorder/flight-{name}"))?;
    fs::create_dir_all(&folder)?;
    let whyoom = Build::ready()?.whyoom();
    let mut command = Command::new("timeout");
    command.arg("120").arg(&whyoom).args(["lab", "run", "--"]).arg(&whyoom).args(["run", "--"]);
    command.arg(python()?).arg(source(program[0])).args(&program[1..]);
    let output = command.current_dir(&folder).env("WHYOOM_FLIGHT", "1").output()?;
    ensure!(output.status.success(), "it ended with {}", output.status);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    Ok((said, fs::read_dir(&folder)?.count()))
}

fn has_note(why: &Why, words: &str) -> Result<()> {
    let notes: Vec<_> = why.inputs.iter().flat_map(|input| &input.notes).collect();
    ensure!(notes.iter().any(|note| note.contains(words)), "“{words}” is not in {notes:?}");
    Ok(())
}

fn appears(path: &Path) -> Result<()> {
    let until = Instant::now() + PATIENCE;
    while Instant::now() < until {
        if path.exists() {
            return Ok(());
        }
        thread::sleep(Duration::from_millis(20));
    }
    bail!("{} does not come", path.display())
}
