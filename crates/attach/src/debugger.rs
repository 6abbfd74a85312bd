//! gdb, asked line by line: it stops the process, one call is made, and it lets the process go.

use std::{
    io::{BufRead, BufReader, Write},
    os::unix::process::CommandExt,
    path::{Path, PathBuf},
    process::{Child, ChildStdin, Command, Stdio},
    sync::mpsc::{Receiver, RecvTimeoutError, channel},
    thread,
    time::{Duration, Instant},
};

use crate::{
    debugger_script::{self as script, SETTINGS, answer},
    error::AttachError,
    interpreter::Interpreter,
    interrupts::Interrupts,
    scratch::{Mark, Scratch},
    target::Target,
    waiting::is_waiting,
};

/// gdb has stopped the process by then, or does not.
const LONGEST_STOP: Duration = Duration::from_secs(20);
/// So many of gdb's own words are shown.
const SHOWN: usize = 300;
/// How long gdb's answer is waited for before the next check for signals. A person does not notice this.
const BETWEEN_LOOKS: Duration = Duration::from_millis(20);
/// How long gdb may take to detach. Chosen, not measured.
const LONGEST_DETACH: Duration = Duration::from_secs(2);
/// How long a process that was killed is waited for, before an error of gdb is reported. Chosen, not measured.
const LONGEST_DEATH: Duration = Duration::from_millis(300);
/// Variables of the environment that gdb gets. Others could make it load code: `PYTHON*`, `LD_*`, `GDBHISTFILE`, …
const KEPT_VARIABLES: [&str; 7] = ["PATH", "HOME", "TERM", "LANG", "LC_ALL", "LC_CTYPE", "TMPDIR"];

/// How the call was made.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Called {
    /// Whether it was left for the interpreter's next safe point.
    pub(crate) is_left: bool,
    /// How long the process was stopped at most.
    pub(crate) stopped: Duration,
}

/// Where gdb is.
pub(crate) fn find() -> Result<PathBuf, AttachError> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut places = std::env::split_paths(&path).map(|folder| folder.join("gdb"));
    places.find(|file| file.is_file()).ok_or(AttachError::NoDebugger)
}

/// Has the process run a text in its memory, as soon as its interpreter can.
pub(crate) fn call(
    target: &Target,
    interpreter: &Interpreter,
    text: &Scratch<'_>,
    interrupts: &dyn Interrupts,
) -> Result<Called, AttachError> {
    let mut gdb = Session::start(&find()?, interrupts)?;
    let outcome = gdb.stop_and_call(target, interpreter, text);
    // A call that was given up is not over: gdb stays until it is.
    if let Some(debugger) = gdb.end() {
        text.leave_mark();
        return Err(AttachError::CallGivenUp { pid: target.pid(), debugger });
    }
    outcome.map_err(|error| match error {
        // It may have ended since, as another program.
        AttachError::Changed(_) => error,
        error if stays_alive(target) => error,
        _ => ended(target),
    })
}

/// Returns the command that starts gdb, with little of our environment.
fn command(program: &Path) -> Command {
    let mut command = Command::new(program);
    command.args(["-q", "-nx", "-nh"]);
    for setting in SETTINGS {
        command.args(["-iex", setting]);
    }
    command.env_clear();
    for name in KEPT_VARIABLES {
        if let Some(value) = std::env::var_os(name) {
            command.env(name, value);
        }
    }
    // Ctrl-C is for whyoom: gdb must not end while it has changed a thread.
    command.process_group(0);
    command
}

/// Returns false if the process ends within a short time: one that was killed still runs for some milliseconds.
fn stays_alive(target: &Target) -> bool {
    let until = Instant::now() + LONGEST_DEATH;
    while target.is_alive() {
        if Instant::now() >= until {
            return true;
        }
        thread::sleep(Duration::from_millis(5));
    }
    false
}

fn ended(target: &Target) -> AttachError {
    AttachError::EndedMeanwhile(target.pid())
}

struct Session<'a> {
    child: Child,
    input: ChildStdin,
    lines: Receiver<(Instant, String)>,
    /// Its own words, for an error.
    said: Vec<String>,
    interrupts: &'a dyn Interrupts,
    /// True while a function is called in the process.
    is_calling: bool,
    /// True from the time at which the script was handed over.
    is_handed_over: bool,
    /// The mark in the process. `None` before gdb is asked to attach.
    mark: Option<Mark>,
}

impl<'a> Session<'a> {
    fn start(program: &Path, interrupts: &'a dyn Interrupts) -> Result<Self, AttachError> {
        let io = |error| AttachError::io("start gdb", error);
        // One pipe for both: what it says and why it fails come in the order in which it happens.
        let (output, writer) = std::io::pipe().map_err(io)?;
        let mut command = command(program);
        command.stdin(Stdio::piped()).stdout(writer.try_clone().map_err(io)?).stderr(writer);
        let mut child = command.spawn().map_err(io)?;
        // It has our ends of the pipe, which would never end.
        drop(command);
        let input = child.stdin.take();
        let input = input.ok_or_else(|| AttachError::Debugger("it has no input".to_owned()))?;
        let (sender, lines) = channel();
        thread::spawn(move || forward(BufReader::new(output), &sender));
        let said = Vec::new();
        Ok(Self {
            child,
            input,
            lines,
            said,
            interrupts,
            is_calling: false,
            is_handed_over: false,
            mark: None,
        })
    }

    fn stop_and_call(
        &mut self,
        target: &Target,
        interpreter: &Interpreter,
        text: &Scratch<'_>,
    ) -> Result<Called, AttachError> {
        let (calls, mark) = (&interpreter.calls, text.mark());
        self.mark = Some(mark);
        self.ask(&script::stop(target.pid()))?;
        let (stopping, _) = self.wait_for("attaching", LONGEST_STOP)?;
        self.wait_for("attached", LONGEST_STOP)?;
        // From now on the process is stopped: it starts another program only in a call, after which it is checked again.
        interpreter.check_unchanged(target)?;
        self.ask(&script::try_registers())?;
        self.can_write_registers(target.pid())?;
        self.ask(&script::is_initialized(calls, mark))?;
        self.is_calling = true;
        // In one that ends, the lock is nobody's to take.
        if self.answer_of_call("initialized", target, interpreter)? == 0 {
            return Err(AttachError::NoInterpreter(target.pid()));
        }
        self.ask(&script::holds(calls, mark))?;
        let holds = self.answer_of_call("holds", target, interpreter)? != 0;
        let is_left = holds
            || !is_waiting(target.pid(), target.pid())
            || self.is_locked(target, interpreter, mark)?;
        self.is_handed_over = true;
        self.ask(&match is_left {
            true => script::leave_call(calls, text.address(), mark),
            false => script::call_now(calls, text.address(), mark),
        })?;
        let result = self.result();
        // A program that was started meanwhile is named before the call that failed by it.
        if result.is_err() && !self.interrupts.is_second_signal() {
            interpreter.check_unchanged(target)?;
        }
        let result = result?;
        self.is_calling = false;
        self.ask(&script::release())?;
        let (released, _) = self.wait_for("detached", LONGEST_STOP)?;
        if result != 0 {
            return Err(AttachError::Debugger(format!("the interpreter answered {result}")));
        }
        Ok(Called { is_left, stopped: released.duration_since(stopping) })
    }

    /// Returns what a call returned, if the process still runs the same program after it.
    fn answer_of_call(
        &mut self,
        word: &str,
        target: &Target,
        interpreter: &Interpreter,
    ) -> Result<i64, AttachError> {
        loop {
            let (_, line) = self.line(LONGEST_STOP)?;
            let Some(found) = answer(&line) else { continue };
            if found.word != word && found.word != script::FAILED {
                continue;
            }
            interpreter.check_unchanged(target)?;
            if found.word == script::FAILED {
                return Err(self.call_failed());
            }
            return Ok(found.number);
        }
    }

    fn call_failed(&self) -> AttachError {
        AttachError::Debugger(format!("the call failed ({})", self.last_words()))
    }

    /// Nothing is called before this is known: a call ends with the registers as they were before it.
    fn can_write_registers(&mut self, pid: u32) -> Result<(), AttachError> {
        loop {
            let (_, line) = self.line(LONGEST_STOP)?;
            match answer(&line).map(|found| found.word) {
                Some("writes") => return Ok(()),
                Some("tried") => return Err(self.unwritable(pid)),
                _ => {}
            }
        }
    }

    /// The last of gdb's own words says why.
    fn unwritable(&self, pid: u32) -> AttachError {
        let said = self.said.last().map_or("", |line| line.trim_end_matches('.'));
        if said == script::NOT_ATTACHED {
            return AttachError::Debugger(format!("it did not attach ({})", self.last_words()));
        }
        AttachError::Registers { pid, said: said.chars().take(SHOWN).collect() }
    }

    /// Whether a thread keeps the interpreter's lock while it waits for something else: nobody else gets it then.
    fn is_locked(
        &mut self,
        target: &Target,
        interpreter: &Interpreter,
        mark: Mark,
    ) -> Result<bool, AttachError> {
        self.ask(&script::holders(&interpreter.calls, mark))?;
        let (mut asked, mut holder) = (None, None);
        loop {
            let (_, line) = self.line(LONGEST_STOP)?;
            asked = script::thread(&line).or(asked);
            match answer(&line) {
                Some(found) if found.word == "holder" && found.number != 0 => holder = asked,
                Some(found) if found.word == "asked" => break,
                _ => {}
            }
        }
        interpreter.check_unchanged(target)?;
        Ok(holder.is_some_and(|thread| is_waiting(target.pid(), thread)))
    }

    /// What the call returned. Only a second signal ends the waiting for it: the call waits for nothing but another
    /// thread's turn.
    fn result(&mut self) -> Result<i64, AttachError> {
        loop {
            let (_, line) = self.line(Duration::MAX)?;
            match answer(&line) {
                Some(found) if found.word == "called" => return Ok(found.number),
                Some(found) if found.word == "over" => return Err(self.call_failed()),
                _ => {}
            }
        }
    }

    fn ask(&mut self, commands: &str) -> Result<(), AttachError> {
        let io = |error| AttachError::io("ask gdb", error);
        self.input.write_all(commands.as_bytes()).and_then(|()| self.input.flush()).map_err(io)
    }

    /// The number behind a word, and when it came.
    fn wait_for(&mut self, word: &str, most: Duration) -> Result<(Instant, i64), AttachError> {
        let until = Instant::now().checked_add(most);
        loop {
            let left = until.map_or(most, |until| until.saturating_duration_since(Instant::now()));
            let (at, line) = self.line(left)?;
            if let Some(found) = answer(&line).filter(|found| found.word == word) {
                return Ok((at, found.number));
            }
        }
    }

    fn line(&mut self, most: Duration) -> Result<(Instant, String), AttachError> {
        let until = Instant::now().checked_add(most);
        let line = loop {
            match self.lines.recv_timeout(BETWEEN_LOOKS) {
                Ok(line) => break line,
                Err(RecvTimeoutError::Timeout) => {}
                Err(why) => return Err(self.failure(why)),
            }
            // The first signal ends what has not begun; a call in the process goes on until the second.
            let is_over = self.interrupts.is_second_signal()
                || (!self.is_handed_over && self.interrupts.wants_end());
            if is_over {
                return Err(AttachError::Interrupted);
            }
            if until.is_some_and(|until| Instant::now() >= until) {
                return Err(self.failure(RecvTimeoutError::Timeout));
            }
        };
        if answer(&line.1).is_none() {
            self.said.push(line.1.trim().to_owned());
        }
        Ok(line)
    }

    fn last_words(&self) -> String {
        let last: Vec<&str> = self.said.iter().rev().take(4).rev().map(String::as_str).collect();
        last.join("; ").chars().take(SHOWN).collect()
    }

    fn failure(&self, why: RecvTimeoutError) -> AttachError {
        let said = self.last_words();
        AttachError::Debugger(match why {
            RecvTimeoutError::Timeout => format!("it takes too long ({said})"),
            RecvTimeoutError::Disconnected => format!("it ended ({said})"),
        })
    }

    /// Has gdb detach and end. A process that is still stopped goes on then. Returns gdb's PID if gdb is left alone, because
    /// a call is under way in the process.
    ///
    /// gdb must not be ended during a call. The thread would crash where the call returns to. A call that gdb cuts off
    /// (SIGINT) does not leave the process as it was either: a system call that the thread waited in may fail. gdb has
    /// all of its commands by then: when the call returns, it frees the interpreter's lock, detaches, and ends.
    fn end(mut self) -> Option<u32> {
        let _ = self.input.write_all(script::end(self.mark).as_bytes());
        drop(self.input);
        let until = Instant::now() + LONGEST_DETACH;
        while Instant::now() < until {
            if !matches!(self.child.try_wait(), Ok(None)) {
                return None;
            }
            thread::sleep(Duration::from_millis(5));
        }
        if self.is_calling {
            return Some(self.child.id());
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
        None
    }
}

fn forward(output: impl BufRead, to: &std::sync::mpsc::Sender<(Instant, String)>) {
    for line in output.split(b'\n').map_while(Result::ok) {
        let line = String::from_utf8_lossy(&line).into_owned();
        if to.send((Instant::now(), line)).is_err() {
            return;
        }
    }
}
