//! A process that looks at what other people wrote: with little memory, little time, and after everybody else.

use std::{
    io::{self, Read as _, Write as _},
    os::unix::process::ExitStatusExt as _,
    path::Path,
    process::{Child, Command, Stdio},
    sync::mpsc,
    thread,
    time::{Duration, Instant},
};

use rustix::process::{Pid, Resource, Rlimit};

/// Memory that it may ask for.
const MEMORY: u64 = 2 << 30;
/// More output is cut.
const LONGEST: u64 = 4 << 20;
/// How often it is asked whether it has ended.
const TICK: Duration = Duration::from_millis(5);
/// It is the last to run.
const NICE: i32 = 19;
/// Signals that come from outside: a hang-up, an interrupt, a kill, a request to end.
const KILLS: [i32; 4] = [1, 2, 9, 15];

/// What it reads.
pub(crate) enum Input {
    /// A text.
    Text(String),
    /// An open file.
    File(std::fs::File),
    /// Nothing.
    Nothing,
}

/// Runs `whyoom` and returns what it printed.
///
/// # Errors
/// Where it cannot be started or takes too long, which may pass. `InvalidData` where it fails: it would again.
pub(crate) fn run(
    program: &Path,
    arguments: &[&str],
    input: Input,
    limit: Duration,
) -> io::Result<String> {
    let (stdin, text) = match input {
        Input::Text(text) => (Stdio::piped(), Some(text)),
        Input::File(file) => (Stdio::from(file), None),
        Input::Nothing => (Stdio::null(), None),
    };
    let mut command = Command::new(program);
    command.args(arguments).stdin(stdin).stdout(Stdio::piped()).stderr(Stdio::null());
    // What reads other people's texts has no use for the key of the archive.
    for (name, _) in
        std::env::vars_os().filter(|(name, _)| name.as_encoded_bytes().starts_with(b"AWS_"))
    {
        command.env_remove(name);
    }
    let mut child = command.spawn()?;
    let printed = attend(&mut child, text, limit);
    if printed.is_err() {
        // It has ended, or does now; either way it is waited for.
        let _ = child.kill();
        let _ = child.wait();
    }
    printed
}

fn attend(child: &mut Child, text: Option<String>, limit: Duration) -> io::Result<String> {
    restrict(child)?;
    let (mut stdin, stdout) = (child.stdin.take(), child.stdout.take());
    // It may end before it has read all.
    let writer = thread::Builder::new().spawn(move || {
        if let (Some(stdin), Some(text)) = (&mut stdin, text) {
            let _ = stdin.write_all(text.as_bytes());
        }
    })?;
    let (send, receive) = mpsc::channel();
    thread::Builder::new().spawn(move || {
        let mut printed = Vec::new();
        let read = stdout.map(|out| out.take(LONGEST).read_to_end(&mut printed));
        let _ = send.send(read.unwrap_or(Ok(0)).map(|_| printed));
    })?;
    let printed = receive.recv_timeout(limit).map_err(|_| io::ErrorKind::TimedOut)??;
    let status = ended(child, Instant::now() + limit)?;
    let _ = writer.join();
    if !status.success() {
        // Whoever was killed from outside says nothing of its input.
        let is_killed = status.signal().is_some_and(|signal| KILLS.contains(&signal));
        let kind = if is_killed { io::ErrorKind::Interrupted } else { io::ErrorKind::InvalidData };
        return Err(io::Error::new(kind, format!("{status}")));
    }
    let text = |_| io::Error::new(io::ErrorKind::InvalidData, "it printed no text");
    String::from_utf8(printed).map_err(text)
}

/// Before it has read a byte: its input is written afterwards.
fn restrict(child: &Child) -> io::Result<()> {
    let pid = Pid::from_child(child);
    let memory = Rlimit { current: Some(MEMORY), maximum: Some(MEMORY) };
    rustix::process::prlimit(Some(pid), Resource::As, memory)?;
    // Where that is not allowed, it runs as everybody else.
    let _ = rustix::process::setpriority_process(Some(pid), NICE);
    Ok(())
}

fn ended(child: &mut Child, until: Instant) -> io::Result<std::process::ExitStatus> {
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(status);
        }
        if Instant::now() >= until {
            return Err(io::ErrorKind::TimedOut.into());
        }
        thread::sleep(TICK);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str, input: Input, limit: u64) -> io::Result<String> {
        run(Path::new("sh"), &["-c", script], input, Duration::from_millis(limit))
    }

    #[test]
    fn what_it_prints_is_returned() {
        assert_eq!(shell("cat", Input::Text("x".repeat(200_000)), 5000).unwrap().len(), 200_000);
        assert_eq!(shell("read go; nice", Input::Text("\n".into()), 5000).unwrap().trim(), "19");
        let failed = |script| shell(script, Input::Nothing, 5000).unwrap_err().kind();
        assert_eq!(failed("exit 3"), io::ErrorKind::InvalidData);
        assert_eq!(failed("kill -ABRT $$"), io::ErrorKind::InvalidData);
        assert_eq!(failed("kill -KILL $$"), io::ErrorKind::Interrupted);
        assert!(shell("true", Input::Text("x".repeat(1 << 20)), 5000).is_ok(), "it need not read");
    }

    #[test]
    fn what_takes_too_long_is_ended() {
        let started = Instant::now();
        assert!(shell("sleep 60", Input::Nothing, 200).is_err());
        assert!(shell("exec >&-; sleep 60", Input::Nothing, 200).is_err());
        assert!(started.elapsed() < Duration::from_secs(10));
    }

    #[test]
    fn its_memory_is_limited() {
        let taken = shell("read go; ulimit -v", Input::Text("\n".into()), 5000).unwrap();
        assert_eq!(taken.trim(), (MEMORY / 1024).to_string());
    }
}
