//! A check in a process of its own.

use std::{
    io::Read,
    os::unix::process::{CommandExt, ExitStatusExt},
    process::{Child, Command, ExitStatus, Stdio},
    thread,
    time::{Duration, Instant},
};

use rustix::process::{Pid, Signal, kill_process_group};

use crate::{
    outcome::{Outcome, Status},
    report::Checked,
};

/// How long the end of one that was killed is waited for.
const LAST_WAIT: Duration = Duration::from_secs(1);

/// How often it is asked whether it has ended.
const GLANCE: Duration = Duration::from_millis(5);

/// Runs a command that prints an [`Outcome`] as JSON, for so long at most.
pub fn examine(name: &str, limit: Duration, mut command: Command) -> Checked {
    let begun = Instant::now();
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null()).process_group(0);
    let outcome = match command.spawn() {
        Ok(child) => ended(child, begun + limit),
        Err(error) => Outcome::failed(
            format!("the check cannot be started: {error}"),
            "whyoom cannot start programs here",
        ),
    };
    Checked { name: name.to_owned(), seconds: begun.elapsed().as_secs_f64(), outcome }
}

fn ended(mut child: Child, until: Instant) -> Outcome {
    let stdout = child.stdout.take();
    // What it prints is read as it comes: a full pipe would keep it from its end.
    let reader = thread::spawn(move || {
        let mut text = Vec::new();
        stdout.map(|mut stdout| stdout.read_to_end(&mut text));
        text
    });
    let status = wait(&mut child, until);
    // Where it was ended by force, what it started may still have the pipe.
    let Some(status) = status else {
        return Outcome::ended(Status::TimedOut, "it did not end in time");
    };
    let text = reader.join().unwrap_or_default();
    if let Some(signal) = status.signal() {
        return Outcome::ended(Status::Killed, format!("signal {signal} ended it"));
    }
    serde_json::from_slice(&text).unwrap_or_else(|_| {
        Outcome::ended(Status::Failed, format!("it ended without an answer ({status})"))
    })
}

/// How it ended; nothing where it had to be killed.
fn wait(child: &mut Child, until: Instant) -> Option<ExitStatus> {
    loop {
        match child.try_wait() {
            Ok(Some(status)) => return Some(status),
            Ok(None) if Instant::now() < until => thread::sleep(GLANCE),
            _ => break,
        }
    }
    // All that it started, too. One that hangs in the driver may not end at all: it is left behind.
    let group = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    let _ = group.map(|group| kill_process_group(group, Signal::KILL));
    let last = Instant::now() + LAST_WAIT;
    while matches!(child.try_wait(), Ok(None)) && Instant::now() < last {
        thread::sleep(GLANCE);
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str, limit: Duration) -> Checked {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        examine("shell", limit, command)
    }

    #[test]
    fn what_kills_or_hangs_a_check_is_a_result() {
        let long = Duration::from_secs(20);
        let status = |script, limit| shell(script, limit).outcome.status;
        assert_eq!(status("kill -SEGV $$", long), Status::Killed);
        assert_eq!(status("exec sleep 60", Duration::from_millis(50)), Status::TimedOut);
        assert_eq!(status("echo nonsense", long), Status::Failed);
        let json = r#"{"status":"ok","found":["it"],"means":[],"figures":{}}"#;
        assert_eq!(status(&format!("echo '{json}'"), long), Status::Ok);
    }
}
