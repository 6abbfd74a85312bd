//! The end of `whyoom mcp` ends what it started, even if the server is killed by SIGKILL.

use std::path::Path;

use rustix::process::{Pid, Signal, getppid, set_parent_process_death_signal};
use whyoom_files::kernel;
use whyoom_mcp::PARENT_VARIABLE;
use whyoom_node::proc::stat::Stat;

/// Has the kernel send SIGTERM to this process when the server that started it ends. Returns false if the server has
/// ended already. A program that this process starts inherits the variable, so it may name no parent of ours: then
/// nothing is set.
pub(crate) fn end_with_server() -> bool {
    let named = std::env::var(PARENT_VARIABLE).ok().and_then(|number| number.parse().ok());
    let Some(server) = named else { return true };
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
