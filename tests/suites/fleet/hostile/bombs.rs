//! Snapshots and recordings that are made to be too much: refused and counted, and the next honest one is told.

use std::{
    fs::{self, File},
    path::Path,
    process::Command,
    time::Instant,
};

use anyhow::{Context, Result, ensure};
use harness::{files, must_succeed, root, text};
use whyoom_incident::Incident;

use super::{Attacked, Bystander, make_old, small};
use crate::fleet::place::wait_for;

/// Those that the suite `hostile` has, as files.
const WRITE: &str = "import os, sys; sys.path.insert(0, sys.argv[1]); import pickles
for number, (_, content) in enumerate(pickles.cases()):
    open(os.path.join(sys.argv[2], f'bomb{number}.pickle'), 'wb').write(content)";
const HONEST: &str = "tests/fixtures/snapshots/growth-oom.pickle";
const HOLE: u64 = 1 << 40;
/// An honest one is told after so many seconds, whatever came before.
const SOON: u64 = 45;

pub(super) fn run(bystander: &Bystander) -> Result<String> {
    let folder = text(&harness::scratch("fresh")?.join("fleet-bombs"));
    let attacked = Attacked::judged(
        "fleet-bombs",
        &format!(
            "snapshots = ['{folder}/snapshots/*.pickle']\nrecordings = ['{folder}/recordings/*']\n"
        ),
    )?;
    for name in ["snapshots", "recordings"] {
        fs::create_dir(attacked.node.path(name))?;
    }
    let bombs = make_pickles(&attacked)? + make_recordings(&attacked.node.path("recordings"))?;
    let agent = attacked.start()?;
    let started = Instant::now();
    let mut largest = 0;
    wait_for("all bombs are refused", SOON, || {
        largest = largest.max(children_peak(agent.0.id()));
        let failures = attacked.metric("whyoom_agent_failures_total")?;
        let dismissed = attacked.metric("whyoom_agent_dismissed_messages_total")?;
        Ok(failures + dismissed >= bombs as u64)
    })?;
    let seconds = started.elapsed().as_secs_f64();
    let failures = attacked.metric("whyoom_agent_failures_total")?;
    // What is sound up to a hole is judged up to there.
    let is_sound = |row: &Incident| row.file.ends_with("/swollen");
    let told = attacked.rows()?;
    ensure!(told.iter().all(is_sound), "a bomb was told as an incident: {told:?}");
    fs::write(attacked.log("honest.log"), bystander.blame())?;
    let honest = attacked.node.path("snapshots/honest.pickle");
    fs::copy(root().join(HONEST), &honest)?;
    make_old(&honest)?;
    attacked.archived(3, SOON)?;
    let rows = attacked.rows()?;
    let told = rows.iter().find(|row| row.file.ends_with("honest.pickle")).context("not told")?;
    ensure!(told.cause == "growth", "the honest snapshot's cause is {}", told.cause);
    for folder in [&attacked.node.folder, &attacked.node.path("snapshots")] {
        ensure!(!folder.join("OWNED").exists(), "a pickle ran a command");
    }
    fs::remove_dir_all(attacked.node.path("snapshots"))?;
    Ok(format!(
        "{bombs} bombs refused in {seconds:.0} s, {failures} counted, processes of {} MiB at most; then two honest \
         incidents; {}",
        largest >> 20,
        small(&agent)?
    ))
}

fn make_pickles(attacked: &Attacked) -> Result<usize> {
    let folder = attacked.node.path("snapshots");
    let module = root().join("tests/suites/hostile");
    must_succeed(
        Command::new("python3")
            .env("PYTHONDONTWRITEBYTECODE", "1")
            .args(["-c", WRITE])
            .arg(module)
            .arg(&folder),
    )?;
    let whole = fs::read(root().join(HONEST))?;
    for (number, part) in [10, 2].into_iter().enumerate() {
        fs::write(folder.join(format!("cut{number}.pickle")), &whole[..whole.len() / part])?;
    }
    let made = files(&folder)?;
    made.iter().try_for_each(|path| make_old(path))?;
    ensure!(made.len() > 20, "only {} pickles", made.len());
    Ok(made.len())
}

/// Garbage under the names of a recording, and holes.
fn make_recordings(folder: &Path) -> Result<usize> {
    let sound = root().join("crates/recording/tests/fixtures/version-1");
    let names = ["garbage", "hole", "swollen", "empty"];
    for name in names {
        let run = folder.join(name);
        fs::create_dir(&run)?;
        fs::write(run.join("run.json"), "{")?;
        for file in files(&sound)? {
            let copy = run.join(file.file_name().context("no name")?);
            match name {
                "garbage" => fs::write(
                    copy,
                    (0..200_000_u32).flat_map(u32::to_le_bytes).collect::<Vec<u8>>(),
                )?,
                "hole" => File::create(copy)?.set_len(HOLE)?,
                "swollen" => {
                    fs::copy(&file, &copy)?;
                    File::options().write(true).open(&copy)?.set_len(HOLE)?;
                }
                _ => {}
            }
        }
        make_old(&run.join("run.json"))?;
    }
    // One is sound up to where its hole begins.
    Ok(names.len() - 1)
}

/// The most memory that a child of a process has had, of those that run now.
fn children_peak(parent: u32) -> u64 {
    let all = fs::read_dir("/proc").into_iter().flatten().flatten();
    let peaks = all.filter_map(|entry| {
        let status = fs::read_to_string(entry.path().join("status")).ok()?;
        let field = |name: &str| status.lines().find_map(|line| line.strip_prefix(name));
        let is_child = field("PPid:")?.trim().parse() == Ok(parent);
        let kib: u64 = field("VmHWM:")?.trim().trim_end_matches(" kB").parse().ok()?;
        is_child.then_some(kib << 10)
    });
    peaks.max().unwrap_or(0)
}
