//! An interpreter that comes to no safe point in time, and a visitor that is killed: nothing is left behind.

use std::{
    fs,
    path::PathBuf,
    process::{Command, Stdio},
    thread,
    time::Duration,
};

use anyhow::{Context, Result, ensure};
use harness::{Build, Check, Held, text};

use super::program::{Program, alone, is_in_memory, leftovers, open_files};

/// What the text of the call has in it.
const CALL: &[u8] = b"lambda b,f:b.exec";

pub(super) fn checks() -> Vec<Check> {
    vec![Check::new("late::no-safe-point", no_safe_point), Check::new("late::killed", killed)]
}

fn no_safe_point() -> Result<Held> {
    let plain = alone("no-safe-point", "holds", &[])?;
    let program = Program::start("no-safe-point", "holds", &[])?;
    let output = program.attach(&["--wait", "1s"])?;
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    ensure!(output.status.code() == Some(1), "status {:?}: {said}", output.status.code());
    ensure!(said.contains("no safe point in 1 s"), "{said}");
    ensure!(!is_in_memory(program.pid, CALL)?, "the call is still in its memory");
    let ran = program.end()?;
    ensure!(ran.like(&plain)? == 0, "it said more: {}", ran.stderr);
    Ok(Held::new(said.lines().last().unwrap_or_default()))
}

/// Whoever watches is killed: the history is switched off all the same.
fn killed() -> Result<Held> {
    let plain = alone("killed", "idle", &[])?;
    let program = Program::start("killed", "idle", &[])?;
    let mut whyoom = Command::new(Build::ready()?.whyoom());
    let folder = text(&program.found());
    whyoom.args(["attach", &program.pid.to_string(), "--watch", "-o", &folder]);
    let mut whyoom = whyoom.stdin(Stdio::null()).stderr(Stdio::null()).spawn()?;
    // Other checks have folders there at the same time: the process has the pipe of its own open.
    let watching = || -> Result<Option<PathBuf>> {
        let open = open_files(program.pid)?;
        let is_own = |folder: &PathBuf| {
            folder.join("watching.json").exists() && open.contains(&folder.join("pipe"))
        };
        Ok(leftovers()?.into_iter().find(is_own))
    };
    let mut folder = None;
    for _ in 0..600 {
        folder = watching()?;
        if folder.is_some() {
            break;
        }
        thread::sleep(Duration::from_millis(50));
    }
    let folder = folder.context("it does not watch")?;
    whyoom.kill()?;
    whyoom.wait()?;
    // The program itself says whether its history is off, and whether a thread or a handler is left.
    thread::sleep(Duration::from_secs(2));
    fs::remove_dir_all(folder)?;
    let ran = program.end()?;
    ensure!(ran.like(&plain)? == 0, "it said more: {}", ran.stderr);
    Ok(Held::new("whoever watches is killed: the history is off, and no thread is left"))
}
