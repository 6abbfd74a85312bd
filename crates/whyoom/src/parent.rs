//! The end of `whyoom mcp` ends what it started, even if the server is killed by SIGKILL.

use std::{path::Path, process::Command};

use rustix::process::{Pid, Signal, getppid, set_parent_process_death_signal};
use whyoom_files::kernel;
use whyoom_mcp::PARENT_VARIABLE;
use whyoom_node::proc::stat::Stat;

use crate::terminal::say;

/// Removes the variable from the environment of a user's program. The program may outlive the server, and a whyoom that it
/// starts must not end because of that.
pub(crate) fn hide_server(command: &mut Command) {
    command.env_remove(PARENT_VARIABLE);
}

/// Has the kernel send SIGTERM to this process when the server that started it ends. Returns false, and says why, if the
/// server has ended already. A whyoom that this process starts inherits the variable, so it may name no parent of ours:
/// then nothing is set.
pub(crate) fn end_with_server() -> bool {
    let named = std::env::var(PARENT_VARIABLE).ok().and_then(|number| number.parse().ok());
    let Some(server) = named else { return true };
    let goes_on = bind_to(server);
    if !goes_on {
        say(&format!(
            "nothing was done, because {PARENT_VARIABLE} names process {server}, a `whyoom mcp` that has \
             ended. To use whyoom in a terminal: unset {PARENT_VARIABLE}"
        ));
    }
    goes_on
}

/// Returns false if the server has ended.
fn bind_to(server: i32) -> bool {
    let is_parent = || getppid().map(Pid::as_raw_pid) == Some(server);
    if !is_parent() {
        return is_running(server);
    }
    // The kernel sends the signal when the *thread* ends that started this process. The server's thread waits for this process,
    // so it ends with the server or after this process.
    // The server may have ended between `getppid` and `prctl`; then no signal arrives.
    let _ = set_parent_process_death_signal(Some(Signal::TERM));
    is_parent()
}

/// Returns true if the process exists and is not a zombie.
fn is_running(pid: i32) -> bool {
    let line = kernel::bytes(Path::new("/proc").join(pid.to_string()).join("stat"));
    let stat = line.ok().and_then(|line| Stat::parse(&String::from_utf8_lossy(&line)));
    stat.is_some_and(|stat| !stat.ended() || stat.threads > 1)
}
