//! Sending a signal to the process that was meant, and to no other.

use std::io;

use rustix::{
    io::Errno,
    param::clock_ticks_per_second,
    process::{self, Pid, PidfdFlags, kill_process, pidfd_open, pidfd_send_signal},
};
use whyoom_files::kernel;

use crate::{
    error::SendError,
    state::{Signal, Target, same_start},
};

/// Sends it if the process is still the one that was shown. A descriptor of the process is taken before
/// its start is compared, so that a number that is used again in between is not hit.
pub(crate) fn send(target: &Target, signal: Signal) -> Result<(), SendError> {
    let pid = target.pid;
    let gone = || SendError::Gone { pid };
    let number = i32::try_from(pid).ok().and_then(Pid::from_raw).ok_or_else(gone)?;
    let descriptor = pidfd_open(number, PidfdFlags::empty());
    if matches!(descriptor, Err(Errno::SRCH)) {
        return Err(gone());
    }
    let started = started(pid).map_err(|_| gone())?;
    if !same_start(Some(started), Some(target.started)) {
        return Err(SendError::Another { pid });
    }
    let sent = match descriptor {
        Ok(descriptor) => pidfd_send_signal(descriptor, number_of(signal)),
        // Kernels before 5.3 have none.
        Err(Errno::NOSYS) => kill_process(number, number_of(signal)),
        Err(error) => Err(error),
    };
    sent.map_err(|error| match error {
        Errno::SRCH => gone(),
        Errno::PERM => SendError::NotAllowed { pid, signal: signal.word() },
        other => SendError::Other { pid, source: other.into() },
    })
}

fn number_of(signal: Signal) -> process::Signal {
    match signal {
        Signal::Terminate => process::Signal::TERM,
        Signal::Interrupt => process::Signal::INT,
        Signal::Kill => process::Signal::KILL,
    }
}

/// When a process started, in nanoseconds since 1970.
fn started(pid: u32) -> io::Result<u64> {
    let stat = kernel::text(format!("/proc/{pid}/stat"))?;
    let ticks = start_ticks(&stat).ok_or(io::ErrorKind::InvalidData)?;
    let boot = boot_seconds(&kernel::text("/proc/stat")?).ok_or(io::ErrorKind::InvalidData)?;
    let nanoseconds =
        u128::from(ticks) * 1_000_000_000 / u128::from(clock_ticks_per_second().max(1));
    let boot = u128::from(boot) * 1_000_000_000;
    Ok(u64::try_from(boot + nanoseconds).unwrap_or(u64::MAX))
}

/// The 22nd field. The second, the name, is in parentheses and may hold spaces and parentheses.
fn start_ticks(stat: &str) -> Option<u64> {
    let (_, after_name) = stat.rsplit_once(") ")?;
    after_name.split_whitespace().nth(19)?.parse().ok()
}

fn boot_seconds(stat: &str) -> Option<u64> {
    let line = stat.lines().find_map(|line| line.strip_prefix("btime "))?;
    line.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use std::process::{Child, Command};

    use super::*;

    fn sleeper() -> Child {
        Command::new("sleep").arg("60").spawn().unwrap()
    }

    fn target(pid: u32, started: u64) -> Target {
        Target { pid, started, user: None, command: None, holds: Vec::new() }
    }

    #[test]
    fn names_with_parentheses_do_not_confuse() {
        let rest = (3..=22).map(|field| field.to_string()).collect::<Vec<_>>().join(" ");
        assert_eq!(start_ticks(&format!("7 (a) b) {rest}")), Some(22));
        assert_eq!(start_ticks("7 (a"), None);
    }

    #[test]
    fn ends_the_process_that_was_meant() {
        let mut child = sleeper();
        let started = started(child.id()).unwrap();
        send(&target(child.id(), started), Signal::Terminate).unwrap();
        assert!(!child.wait().unwrap().success());
        let after = send(&target(child.id(), started), Signal::Terminate);
        assert!(matches!(after, Err(SendError::Gone { .. })), "{after:?}");
    }

    #[test]
    fn a_later_process_of_the_same_number_is_spared() {
        let mut child = sleeper();
        let earlier = started(child.id()).unwrap() - 60_000_000_000;
        let sent = send(&target(child.id(), earlier), Signal::Kill);
        assert!(matches!(sent, Err(SendError::Another { .. })), "{sent:?}");
        assert!(child.try_wait().unwrap().is_none());
        child.kill().unwrap();
        child.wait().unwrap();
    }

    #[test]
    fn numbers_that_no_process_can_have() {
        for pid in [0, u32::MAX] {
            assert!(send(&target(pid, 0), Signal::Kill).is_err());
        }
    }
}
