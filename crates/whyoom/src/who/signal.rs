//! A signal to exactly one process: its number may be another process's by the time it is sent.

use std::{
    io,
    os::fd::OwnedFd,
    time::{Duration, Instant},
};

use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal},
};

/// A process that is held on to: the kernel's handle stays this process's when its number is given
/// to another.
pub(crate) struct Pinned(OwnedFd);

impl Pinned {
    /// Holds on to whatever process has this number now. Whether it is the one that was meant has to
    /// be asked afterwards.
    pub(crate) fn new(pid: u32) -> io::Result<Self> {
        let pid = i32::try_from(pid).ok().and_then(Pid::from_raw);
        let pid = pid.ok_or_else(|| io::Error::from(io::ErrorKind::InvalidInput))?;
        Ok(Self(pidfd_open(pid, PidfdFlags::empty())?))
    }

    /// Asks it to end.
    pub(crate) fn terminate(&self) -> io::Result<()> {
        Ok(pidfd_send_signal(&self.0, Signal::TERM)?)
    }

    /// Waits until it has ended, all threads of it, but not beyond a moment. Says whether it has.
    pub(crate) fn ends_by(&self, deadline: Instant) -> bool {
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            let mut handles = [PollFd::new(&self.0, PollFlags::IN)];
            match poll(&mut handles, Some(&timespec(left))) {
                Ok(ready) => return ready > 0,
                Err(error) if error == rustix::io::Errno::INTR => {}
                Err(_) => return false,
            }
        }
    }
}

fn timespec(duration: Duration) -> Timespec {
    Timespec {
        tv_sec: i64::try_from(duration.as_secs()).unwrap_or(i64::MAX),
        tv_nsec: duration.subsec_nanos().into(),
    }
}

#[cfg(test)]
mod tests {
    use std::process::{Child, Command};

    use super::*;

    fn child() -> Child {
        Command::new("sleep").arg("60").spawn().expect("sleep is everywhere")
    }

    fn soon() -> Instant {
        Instant::now() + Duration::from_secs(5)
    }

    #[test]
    fn it_ends_a_process_and_sees_it_end() {
        let mut child = child();
        let pinned = Pinned::new(child.id()).expect("it lives");
        assert!(!pinned.ends_by(Instant::now()));
        pinned.terminate().expect("it is ours");
        assert!(pinned.ends_by(soon()));
        child.wait().expect("it is ours");
        assert!(pinned.terminate().is_err(), "nobody else gets its signals");
        assert!(Pinned::new(0).is_err());
    }

    #[test]
    fn what_has_gone_cannot_be_held() {
        let mut child = child();
        child.kill().expect("it lives");
        child.wait().expect("it is ours");
        assert!(Pinned::new(child.id()).is_err());
    }
}
