//! Ctrl-C in `whyoom fit` ends everything that it started.
#![allow(clippy::disallowed_methods, reason = "a test's own files")]
#![expect(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

use std::{
    process::{Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use rustix::process::{Pid, Signal, kill_process, test_kill_process};

/// A machine under load takes its time; a person does not wait longer.
const AT_ONCE: Duration = Duration::from_secs(10);

fn wait_for(mut what: impl FnMut() -> bool) {
    let started = Instant::now();
    while !what() {
        assert!(started.elapsed() < Duration::from_secs(60), "it never happened");
        thread::sleep(Duration::from_millis(20));
    }
}

/// Interrupts a command whose program has a child in a session of its own, as torchrun's workers have.
fn interrupted(words: &[&str], signal: Signal, code: i32) {
    let folder = tempfile::tempdir().unwrap();
    let (temporary, pid) = (folder.path().join("tmp"), folder.path().join("pid"));
    std::fs::create_dir(&temporary).unwrap();
    // The program does not heed the terminal's interrupt.
    let script = format!(
        "trap '' INT; setsid sleep 1000 & echo $! > {0}.new; mv {0}.new {0}; sleep 1000",
        pid.display()
    );
    let mut command = Command::new(env!("CARGO_BIN_EXE_whyoom"));
    command.args(words).args(["--", "sh", "-c", &script, "{n}"]).env("TMPDIR", &temporary);
    let mut fit = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    wait_for(|| pid.exists() || fit.try_wait().unwrap().is_some());
    if let Some(status) = fit.try_wait().unwrap() {
        // Without its libraries beside this program the lab does not start.
        let said = fit.wait_with_output().unwrap().stderr;
        let said = String::from_utf8(said).unwrap();
        assert!(said.contains("libraries are not next to"), "{status}: {said}");
        return;
    }
    let started = Instant::now();
    kill_process(Pid::from_child(&fit), signal).unwrap();
    let output = fit.wait_with_output().unwrap();
    assert!(started.elapsed() < AT_ONCE);
    let said = String::from_utf8(output.stderr).unwrap();
    let ours: Vec<&str> = said.lines().filter(|line| line.starts_with("whyoom:")).collect();
    assert_eq!(output.status.code(), Some(code), "{said}");
    assert_eq!(ours.len(), 1, "{said}");
    assert!(ours[0].contains("the program and its simulated GPUs were ended"), "{said}");
    let child = std::fs::read_to_string(&pid).unwrap().trim().parse().unwrap();
    wait_for(|| test_kill_process(Pid::from_raw(child).unwrap()).is_err());
    assert_eq!(std::fs::read_dir(&temporary).unwrap().count(), 0, "nothing is left");
}

#[test]
fn a_fit_is_interrupted() {
    interrupted(&["fit", "--gpu", "t4"], Signal::INT, 130);
}

#[test]
fn a_search_is_interrupted() {
    interrupted(&["fit", "--gpu", "t4,l4", "--vary", "n=1..8"], Signal::INT, 130);
}

#[test]
fn a_fit_is_terminated() {
    interrupted(&["fit", "--gpu", "t4"], Signal::TERM, 143);
}
