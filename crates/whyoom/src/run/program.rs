//! The program: started, waited for, and given the signals that are meant for it.

use std::{
    io,
    process::{Child, Command, ExitStatus},
    sync::{
        Arc, LazyLock,
        atomic::{AtomicBool, Ordering::SeqCst},
    },
    thread::JoinHandle,
};

use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use signal_hook::{
    consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2},
    flag,
    iterator::{Handle, SignalsInfo, exfiltrator::WithRawSiginfo},
};
use whyoom_files::kernel;

use crate::parent;

/// With who sent them.
type Signals = SignalsInfo<WithRawSiginfo>;

/// The terminal sends these to the program itself, and then we only have to outlive them.
const OF_THE_TERMINAL: [i32; 2] = [SIGINT, SIGQUIT];
/// These come to us alone, from a scheduler or a person, and are meant for the program.
const PASSED_ON: [i32; 4] = [SIGTERM, SIGHUP, SIGUSR1, SIGUSR2];

/// Whether no program runs. Then signals end us as they would anybody: that handler stays for good, for
/// the default cannot be had back, and must keep still while a program, or a second one, runs.
static IDLE: LazyLock<Arc<AtomicBool>> = LazyLock::new(|| {
    let idle = Arc::new(AtomicBool::new(false));
    for signal in heeded() {
        let _ = flag::register_conditional_default(signal, Arc::clone(&idle));
    }
    idle
});

/// A program that runs.
pub(super) struct Running {
    child: Child,
    signals: Option<(Handle, JoinHandle<()>)>,
}

impl Running {
    /// Starts a command with our own input and output.
    pub(super) fn start(mut command: Command) -> io::Result<Self> {
        parent::hide_server(&mut command);
        // A handler, unlike ignoring, does not reach what is started.
        let signals = Signals::new(heeded())?;
        IDLE.store(false, SeqCst);
        let child = command.spawn().inspect_err(|_| IDLE.store(true, SeqCst))?;
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
        IDLE.store(true, SeqCst);
        status
    }
}

/// The signals that are not ignored: what `nohup` ignores for us, the program must find ignored.
fn heeded() -> Vec<i32> {
    let status = kernel::text("/proc/self/status").unwrap_or_default();
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
        for received in &mut signals {
            // The kernel's codes are above zero: what the terminal sends, the program gets as well.
            let by_terminal = received.si_code > 0 && OF_THE_TERMINAL.contains(&received.si_signo);
            let signal = Signal::from_named_raw(received.si_signo).filter(|_| !by_terminal);
            if let (Some(process), Some(signal)) = (&process, signal) {
                let _ = pidfd_send_signal(process, signal);
            }
        }
    };
    let thread = std::thread::Builder::new().name("whyoom-signals".to_owned()).spawn(forward);
    thread.ok().map(|thread| (handle, thread))
}
