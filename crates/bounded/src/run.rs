//! A process that looks at what other people wrote: with little memory, and little time.

use std::{
    io::{self, Read, Write as _},
    process::{Child, Command, ExitStatus, Stdio},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering::Relaxed},
        mpsc::{self, Receiver},
    },
    thread,
    time::{Duration, Instant},
};

use rustix::process::{Pid, Resource, Rlimit, Signal};

/// How often it is asked whether it has ended.
const TICK: Duration = Duration::from_millis(5);
/// It is the last to run.
const NICE: i32 = 19;
/// More of what it says on standard error is cut: only the end is of interest, and whoever says more is in a loop.
const LONGEST_ERROR: u64 = 256 << 10;

/// What a process may use.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// It is ended after so long.
    pub time: Duration,
    /// Addresses that it may have; nothing where it runs programs that reserve more than they use.
    pub memory: Option<u64>,
    /// More output is cut.
    pub output: u64,
    /// Whether it runs after everybody else.
    pub in_background: bool,
    /// Asked to end, it has so long to end what it started. It is killed then.
    pub grace: Duration,
}

/// What it reads.
#[derive(Debug)]
pub enum Input {
    /// A text.
    Text(String),
    /// An open file.
    File(std::fs::File),
    /// Nothing.
    Nothing,
}

/// What it printed, and how it ended.
#[derive(Debug)]
pub struct Printed {
    /// How it ended.
    pub status: ExitStatus,
    /// Its output, up to the limit.
    pub stdout: Vec<u8>,
    /// What it said on standard error.
    pub stderr: Vec<u8>,
}

/// Ends the processes that were started with it.
#[derive(Debug, Clone, Default)]
pub struct Stop {
    own: Arc<AtomicBool>,
    parent: Option<Box<Self>>,
}

impl Stop {
    /// One that is stopped with this one, or by itself.
    #[must_use]
    pub fn child(&self) -> Self {
        Self { own: Arc::default(), parent: Some(Box::new(self.clone())) }
    }

    /// Ends them now, and each that is started later.
    pub fn stop(&self) {
        self.own.store(true, Relaxed);
    }

    fn is_stopped(&self) -> bool {
        self.own.load(Relaxed) || self.parent.as_ref().is_some_and(|parent| parent.is_stopped())
    }
}

/// Runs a command until it ends, whatever its exit status.
///
/// # Errors
/// Where it cannot be started. `TimedOut` where it takes too long, `Interrupted` where it was stopped: it is ended
/// then, and waited for.
pub fn run(
    command: &mut Command,
    input: Input,
    limits: &Limits,
    stop: &Stop,
) -> io::Result<Printed> {
    let (stdin, text) = match input {
        Input::Text(text) => (Stdio::piped(), Some(text)),
        Input::File(file) => (Stdio::from(file), None),
        Input::Nothing => (Stdio::null(), None),
    };
    let mut child = command.stdin(stdin).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
    let printed = attend(&mut child, text, limits, stop);
    if printed.is_err() {
        end(&mut child, limits.grace);
    }
    printed
}

fn attend(
    child: &mut Child,
    text: Option<String>,
    limits: &Limits,
    stop: &Stop,
) -> io::Result<Printed> {
    let until = Instant::now() + limits.time;
    restrict(child, limits)?;
    let mut stdin = child.stdin.take();
    // It may end before it has read all.
    thread::Builder::new().spawn(move || {
        if let (Some(stdin), Some(text)) = (&mut stdin, text) {
            let _ = stdin.write_all(text.as_bytes());
        }
    })?;
    let stdout = gather(child.stdout.take(), limits.output)?;
    let stderr = gather(child.stderr.take(), LONGEST_ERROR)?;
    let waiting = || match (stop.is_stopped(), Instant::now() < until) {
        (true, _) => Err(io::ErrorKind::Interrupted),
        (false, false) => Err(io::ErrorKind::TimedOut),
        (false, true) => Ok(()),
    };
    let stdout = received(&stdout, waiting)?;
    let stderr = received(&stderr, waiting)?;
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Printed { status, stdout, stderr });
        }
        waiting()?;
        thread::sleep(TICK);
    }
}

/// Before it has read a byte of a text: that is written afterwards.
fn restrict(child: &Child, limits: &Limits) -> io::Result<()> {
    let pid = Pid::from_child(child);
    if let Some(memory) = limits.memory {
        let memory = Rlimit { current: Some(memory), maximum: Some(memory) };
        rustix::process::prlimit(Some(pid), Resource::As, memory)?;
    }
    if limits.in_background {
        // Where that is not allowed, it runs as everybody else.
        let _ = rustix::process::setpriority_process(Some(pid), NICE);
    }
    Ok(())
}

/// Reads what a process prints, in a thread: it must not wait for us.
fn gather(
    printed: Option<impl Read + Send + 'static>,
    longest: u64,
) -> io::Result<Receiver<io::Result<Vec<u8>>>> {
    let (send, receive) = mpsc::channel();
    thread::Builder::new().spawn(move || {
        let mut bytes = Vec::new();
        let read = printed.map(|out| out.take(longest).read_to_end(&mut bytes));
        let _ = send.send(read.unwrap_or(Ok(0)).map(|_| bytes));
    })?;
    Ok(receive)
}

fn received(
    printed: &Receiver<io::Result<Vec<u8>>>,
    waiting: impl Fn() -> Result<(), io::ErrorKind>,
) -> io::Result<Vec<u8>> {
    loop {
        match printed.recv_timeout(TICK) {
            Ok(bytes) => return bytes,
            Err(mpsc::RecvTimeoutError::Timeout) => waiting()?,
            Err(mpsc::RecvTimeoutError::Disconnected) => return Err(io::ErrorKind::Other.into()),
        }
    }
}

/// Ends a process, and waits for it.
fn end(child: &mut Child, grace: Duration) {
    let until = Instant::now() + grace;
    if !grace.is_zero() {
        let _ = rustix::process::kill_process(Pid::from_child(child), Signal::TERM);
    }
    while Instant::now() < until && matches!(child.try_wait(), Ok(None)) {
        thread::sleep(TICK);
    }
    // It has ended, or does now; either way it is waited for.
    let _ = child.kill();
    let _ = child.wait();
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: Limits = Limits {
        time: Duration::from_secs(5),
        memory: Some(1 << 30),
        output: 1 << 20,
        in_background: true,
        grace: Duration::ZERO,
    };

    fn shell(script: &str, input: Input, limits: &Limits) -> io::Result<Printed> {
        run(Command::new("sh").args(["-c", script]), input, limits, &Stop::default())
    }

    #[test]
    fn what_it_prints_is_returned() {
        let printed = |script: &str, text: String| {
            let printed = shell(script, Input::Text(text), &LIMITS).unwrap();
            (String::from_utf8(printed.stdout).unwrap(), printed.status.code())
        };
        assert_eq!(printed("cat", "x".repeat(200_000)).0.len(), 200_000);
        assert_eq!(printed("read go; nice", "\n".into()).0.trim(), "19");
        assert_eq!(printed("true", "x".repeat(1 << 20)).1, Some(0), "it need not read");
        assert_eq!(printed("exit 3", String::new()).1, Some(3));
        let said = shell("echo no >&2", Input::Nothing, &LIMITS).unwrap();
        assert_eq!(said.stderr, b"no\n");
    }

    #[test]
    fn output_is_cut() {
        let limits = Limits { output: 1000, ..LIMITS };
        let printed = shell("yes", Input::Nothing, &limits).unwrap();
        assert_eq!(printed.stdout.len(), 1000);
    }

    #[test]
    fn what_takes_too_long_is_ended() {
        let started = Instant::now();
        let limits = Limits { time: Duration::from_millis(200), ..LIMITS };
        for script in ["sleep 60", "exec >&- 2>&-; sleep 60"] {
            let kind = shell(script, Input::Nothing, &limits).unwrap_err().kind();
            assert_eq!(kind, io::ErrorKind::TimedOut, "{script}");
        }
        assert!(started.elapsed() < Duration::from_secs(10));
    }

    #[test]
    fn what_is_stopped_may_end_what_it_started() {
        let folder = std::env::temp_dir().join(format!("whyoom-bounded-{}", std::process::id()));
        let stopping = Stop::default();
        let stop = stopping.child();
        let stopper = thread::spawn(move || {
            thread::sleep(Duration::from_millis(300));
            stopping.stop();
        });
        let script = format!("trap 'mkdir {}; exit' TERM; sleep 60 & wait", folder.display());
        let limits = Limits { grace: Duration::from_secs(5), ..LIMITS };
        let mut command = Command::new("sh");
        let ended = run(command.args(["-c", &script]), Input::Nothing, &limits, &stop);
        assert_eq!(ended.unwrap_err().kind(), io::ErrorKind::Interrupted);
        stopper.join().unwrap();
        std::fs::remove_dir(&folder).expect("it heard that it was asked to end");
    }

    #[test]
    fn its_memory_is_limited() {
        let taken = shell("read go; ulimit -v", Input::Text("\n".into()), &LIMITS).unwrap();
        assert_eq!(String::from_utf8(taken.stdout).unwrap().trim(), "1048576");
    }
}
