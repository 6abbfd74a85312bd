//! An interpreter that comes to no safe point in time, and a visitor that is killed: nothing is left behind.

use std::{
    fs::{self, File},
    path::PathBuf,
    process::{Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context, Result, ensure};
use harness::{Build, Check, Held, text};

use super::program::{Program, alone, is_in_memory, leftovers, open_files};

/// What the text of the call has in it.
const CALL: &[u8] = b"lambda b,f:b.exec";

pub(super) fn checks() -> Vec<Check> {
    vec![
        Check::new("late::no-safe-point", no_safe_point),
        Check::new("late::killed", killed),
        Check::new("late::killed-in-a-call", || in_a_call("killed-in-a-call", &["KILL"])),
        Check::new("late::given-up", || in_a_call("given-up", &["INT", "INT"])),
    ]
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
    ensure!(!folder.exists(), "{} stays", folder.display());
    let ran = program.end()?;
    ensure!(ran.like(&plain)? == 0, "it said more: {}", ran.stderr);
    Ok(Held::new("whoever watches is killed: the history is off, and no thread is left"))
}

/// gdb has a function called, which waits for the interpreter's lock. whyoom gets signals: it ends, and gdb lets the process
/// go when the call returns.
fn in_a_call(check: &str, signals: &[&str]) -> Result<Held> {
    let plain = alone(check, "computes", &[])?;
    let program = Program::start(check, "computes", &[])?;
    let mut whyoom = Command::new(Build::ready()?.whyoom());
    whyoom.args(["attach", &program.pid.to_string(), "-o", &text(&program.found())]);
    let said = harness::scratch("attach")?.join(format!("{check}-said"));
    let mut whyoom = whyoom.stdin(Stdio::null()).stderr(File::create(&said)?).spawn()?;
    let waits = wait_until(Duration::from_secs(8), || is_in_a_call(program.pid))?;
    ensure!(waits, "gdb calls nothing: {}", fs::read_to_string(&said)?);
    for signal in signals {
        Command::new("kill").args([&format!("-{signal}"), &whyoom.id().to_string()]).status()?;
        thread::sleep(Duration::from_millis(500));
    }
    let ended = wait_until(Duration::from_secs(5), || Ok(whyoom.try_wait()?.is_some()))?;
    whyoom.kill()?;
    whyoom.wait()?;
    let said = fs::read_to_string(said)?;
    ensure!(ended, "whyoom does not end: {said}");
    ensure!(signals.len() == 1 || said.contains("Do not end gdb"), "{said}");
    let free = wait_until(Duration::from_secs(60), || Ok(tracer(program.pid)? == "0"))?;
    ensure!(free, "gdb stays");
    let ran = program.end()?;
    ensure!(ran.like(&plain)? == 0, "it said more: {}", ran.stderr);
    Ok(Held::new("gdb lets the process go when the call returns, and the program ends well"))
}

fn wait_until(most: Duration, mut is_there: impl FnMut() -> Result<bool>) -> Result<bool> {
    let until = Instant::now() + most;
    while Instant::now() < until {
        if is_there()? {
            return Ok(true);
        }
        thread::sleep(Duration::from_millis(20));
    }
    Ok(false)
}

/// The PID of the process that traces another, `0` without one.
fn tracer(pid: u32) -> Result<String> {
    let status = fs::read_to_string(format!("/proc/{pid}/status"))?;
    let line = status.lines().find_map(|line| line.strip_prefix("TracerPid:"));
    Ok(line.context("no tracer")?.trim().to_owned())
}

/// Returns true if the first thread, which sleeps by itself, waits for a lock while it is traced.
fn is_in_a_call(pid: u32) -> Result<bool> {
    const FUTEX: &str = if cfg!(target_arch = "x86_64") { "202 " } else { "98 " };
    let call = fs::read_to_string(format!("/proc/{pid}/syscall"))?;
    Ok(tracer(pid)? != "0" && call.starts_with(FUTEX))
}
