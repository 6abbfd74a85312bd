//! A command with a time limit, after which it and all that it started are killed.

use std::{
    fs::{self, File},
    path::Path,
    process::{Command, ExitStatus, Stdio},
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context, Result};

/// Every process that a command starts inherits it, wherever it moves in the process tree.
const MARK: &str = "WHYOOM_STACKS_RUN";

/// How a command ended.
pub(super) struct Ended {
    /// Nothing where its time was over.
    pub status: Option<ExitStatus>,
    pub seconds: f64,
    pub out: String,
    pub err: String,
}

/// Runs a command in an empty folder, which keeps what it printed.
pub(super) fn run(command: &mut Command, folder: &Path, limit: Duration) -> Result<Ended> {
    let mark = format!("{}-{}", std::process::id(), folder.display());
    let (out, err) = (folder.join("out"), folder.join("err"));
    command.env(MARK, &mark).current_dir(folder).stdin(Stdio::null());
    command.stdout(File::create(&out)?).stderr(File::create(&err)?);
    let start = Instant::now();
    let mut child = command.spawn().with_context(|| format!("{command:?}"))?;
    let mut status = child.try_wait()?;
    while status.is_none() && start.elapsed() < limit {
        thread::sleep(Duration::from_millis(50));
        status = child.try_wait()?;
    }
    let seconds = start.elapsed().as_secs_f64();
    kill_marked(&mark)?;
    if status.is_none() {
        child.wait()?;
    }
    let text = |file| fs::read(file).map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    Ok(Ended { status, seconds, out: text(&out)?, err: text(&err)? })
}

/// Kills until none is left: one that is about to start another may be missed the first time.
fn kill_marked(mark: &str) -> Result<()> {
    for _ in 0..50 {
        let left = marked(mark)?;
        if left.is_empty() {
            return Ok(());
        }
        Command::new("kill").arg("-KILL").args(&left).stderr(Stdio::null()).status()?;
        thread::sleep(Duration::from_millis(20));
    }
    Ok(())
}

/// The live processes with a mark. A zombie has no environment.
fn marked(mark: &str) -> Result<Vec<String>> {
    let line = format!("{MARK}={mark}");
    let mut found = Vec::new();
    for entry in fs::read_dir("/proc")? {
        let entry = entry?;
        let Ok(variables) = fs::read(entry.path().join("environ")) else { continue };
        let name = entry.file_name().to_string_lossy().into_owned();
        let is_process = name.bytes().all(|byte| byte.is_ascii_digit());
        if is_process && variables.split(|byte| *byte == 0).any(|one| one == line.as_bytes()) {
            found.push(name);
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use harness::empty_folder;

    use super::*;

    #[test]
    fn a_command_that_hangs_is_killed_with_all_that_it_started() {
        let folder = empty_folder("stacks-limited").unwrap();
        let mut command = Command::new("sh");
        command.args(["-c", "setsid sh -c 'sleep 60; true' & echo started; sleep 60; true"]);
        let ended = run(&mut command, &folder, Duration::from_secs(3)).unwrap();
        assert!(ended.status.is_none() && ended.seconds < 30.0 && ended.out == "started\n");
        let mark = format!("{}-{}", std::process::id(), folder.display());
        assert_eq!(marked(&mark).unwrap(), Vec::<String>::new());
    }

    #[test]
    fn a_command_that_ends_has_its_status_and_words() {
        let folder = empty_folder("stacks-ended").unwrap();
        let mut command = Command::new("sh");
        command.args(["-c", "echo no >&2; exit 3"]);
        let ended = run(&mut command, &folder, Duration::from_secs(10)).unwrap();
        assert_eq!(ended.status.and_then(|status| status.code()), Some(3));
        assert_eq!(ended.err, "no\n");
    }
}
