//! The program: started, waited for, and given the signals that are meant for it.

use std::{
    io,
    process::{Child, Command, ExitStatus},
    sync::{Arc, atomic::AtomicBool},
    thread::JoinHandle,
};

use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use signal_hook::{
    consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2},
    flag,
    iterator::{Handle, Signals},
};

/// The terminal sends these to the program itself; we only have to outlive them.
const OF_THE_TERMINAL: [i32; 2] = [SIGINT, SIGQUIT];
/// These come to us alone, from a scheduler or a person, and are meant for the program.
const PASSED_ON: [i32; 4] = [SIGTERM, SIGHUP, SIGUSR1, SIGUSR2];

/// A program that runs.
pub(super) struct Running {
    child: Child,
    signals: Option<(Handle, JoinHandle<()>)>,
}

impl Running {
    /// Starts a command with our own input and output.
    pub(super) fn start(mut command: Command) -> io::Result<Self> {
        // A handler, unlike ignoring, does not reach what is started.
        let signals = Signals::new(heeded())?;
        let child = command.spawn()?;
        let signals = pass_on(signals, child.id());
        Ok(Self { child, signals })
    }

    pub(super) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Waits until it ends.
    pub(super) fn wait(mut self) -> io::Result<ExitStatus> {
        let status = self.child.wait();
        if let Some((handle, thread)) = self.signals.take() {
            handle.close();
            let _ = thread.join();
        }
        // From here on they are for us.
        for signal in OF_THE_TERMINAL.into_iter().chain(PASSED_ON) {
            let always = Arc::new(AtomicBool::new(true));
            let _ = flag::register_conditional_default(signal, always);
        }
        status
    }
}

/// The signals that are not ignored: what `nohup` ignores for us, the program must find ignored.
fn heeded() -> Vec<i32> {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let ignored = ignored.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0);
    let all = OF_THE_TERMINAL.into_iter().chain(PASSED_ON);
    all.filter(|signal| ignored >> (signal - 1) & 1 == 0).collect()
}

fn pass_on(mut signals: Signals, pid: u32) -> Option<(Handle, JoinHandle<()>)> {
    let handle = signals.handle();
    // By descriptor: the number may belong to another process when a signal comes late.
    let pid = i32::try_from(pid).ok().and_then(Pid::from_raw)?;
    let process = pidfd_open(pid, PidfdFlags::empty()).ok();
    let forward = move || {
        for signal in &mut signals {
            let signal = PASSED_ON.contains(&signal).then(|| Signal::from_named_raw(signal));
            if let (Some(process), Some(Some(signal))) = (&process, signal) {
                let _ = pidfd_send_signal(process, signal);
            }
        }
    };
    let thread = std::thread::Builder::new().name("whyoom-signals".to_owned()).spawn(forward);
    thread.ok().map(|thread| (handle, thread))
}
