//! The folder in which the process and whyoom meet: in the process's own `/tmp`, which is another than ours in a
//! container. Only the process's user can read it, and it is removed at the end.
//!
//! A helper keeps it, which has no more rights than that user. Whatever is read from it is that user's choice.

use std::{
    ffi::OsStr,
    fs,
    io::{self, Read, Write},
    os::unix::process::CommandExt,
    path::{Path, PathBuf},
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context, Result, bail, ensure};
use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    rand::{GetRandomFlags, getrandom},
};
use serde::de::DeserializeOwned;
use whyoom_attach::{Interrupts, Target};
use whyoom_files::private;

use super::{
    helper::TargetProcess,
    protocol::{Entry, HELPER_NAME, MAX_REPLY_BYTES, Reply, Request},
    script::{self, Settings},
    signals::SignalState,
};
use crate::terminal::say;

/// Where the process finds it.
const TEMPORARY: &str = "/tmp";
/// This program's file, whatever its path leads to by now.
const OWN_PROGRAM: &str = "/proc/self/exe";
/// Longest answer, in bytes. It is a few lines.
const MAX_ANSWER_BYTES: u64 = 64 << 10;
/// How long the helper may be silent: the file system may be the process's own, and never answer. Chosen, not measured.
const LONGEST_SILENCE: Duration = Duration::from_secs(10);
/// How long the helper may take to reply that it removed the folder. Chosen, not measured.
const REMOVAL_REPLY_LIMIT: Duration = Duration::from_secs(3);
/// How long the helper may take to end. Longer than it tries to remove the folder.
const LONGEST_END: Duration = Duration::from_millis(1500);
/// Longest wait between two checks for a signal, in nanoseconds.
const SIGNAL_POLL_NS: i64 = 50_000_000;
/// Error of a request to a helper that has ended, or is asked nothing more.
const ENDED: &str = "whyoom's helper in the process's files has ended";
/// Bytes that are copied at a time.
const PIECE_BYTES: usize = 64 << 10;

/// The folder, kept by a helper process.
pub(super) struct SharedFolder<'a> {
    helper: Helper<'a>,
    /// Path of the folder, as the process sees it.
    inner: PathBuf,
}

impl<'a> SharedFolder<'a> {
    /// Starts the helper and creates the folder with the scripts.
    pub(super) fn make(
        target: &Target,
        settings: Settings,
        signals: &'a SignalState,
    ) -> Result<Self> {
        let name = format!("whyoom-attach-{:016x}", random()?);
        let inner = Path::new(TEMPORARY).join(&name);
        let text = inner.to_string_lossy().into_owned();
        let mut helper = Helper::start(target, signals)?;
        let (start, look) = (script::start(&text), script::look(&text, settings));
        let request = Request::Make { name, start, look };
        let made = helper.ask_for_done(&request);
        made.with_context(|| format!("cannot use {TEMPORARY} of process {}", target.pid()))?;
        Ok(Self { helper, inner })
    }

    /// Returns the path of start.py, as the process sees it.
    pub(super) fn start(&self) -> PathBuf {
        self.inner.join("start.py")
    }

    /// Closes the pipe; the process notices that nobody watches.
    pub(super) fn release(&mut self) -> Result<()> {
        self.helper.ask_for_done(&Request::Release)
    }

    /// Returns true if the process runs start.py.
    pub(super) fn has_begun(&mut self) -> Result<bool> {
        Ok(self.find("begun")? == Entry::Folder)
    }

    /// Returns true if the process finished this file.
    pub(super) fn has(&mut self, name: &str) -> Result<bool> {
        Ok(self.find(name)? == Entry::File)
    }

    fn find(&mut self, name: &str) -> Result<Entry> {
        match self.helper.ask(&Request::Find { name: name.to_owned() })? {
            Reply::Found(entry) => Ok(entry),
            other => Err(unexpected(other)),
        }
    }

    /// Reads a JSON answer of the process.
    pub(super) fn read<T: DeserializeOwned>(&mut self, name: &str) -> Result<T> {
        let mut bytes = Vec::new();
        self.helper.read_file(name, MAX_ANSWER_BYTES, &mut bytes)?;
        Ok(serde_json::from_slice(&bytes)?)
    }

    /// Copies a file of at most `most_bytes` out. Returns false if the process did not write it. A copy that is not whole is
    /// removed.
    pub(super) fn copy_out(&mut self, name: &str, most_bytes: u64, to: &Path) -> Result<bool> {
        if !self.has(name)? {
            return Ok(false);
        }
        let shown = to.file_name().and_then(OsStr::to_str).unwrap_or_default();
        let mut file = private::create_file(to).with_context(|| format!("cannot write {shown}"))?;
        let copied = self.helper.read_file(name, most_bytes, &mut file);
        if copied.is_err() {
            let _ = fs::remove_file(to);
        }
        copied.with_context(|| format!("cannot copy {name} out of the process"))?;
        Ok(true)
    }
}

impl Drop for SharedFolder<'_> {
    /// Removes the folder. The helper does it with or without a request, also where the process has ended.
    fn drop(&mut self) {
        if let Err(error) = self.helper.remove_folder() {
            say(&format!("{} stays in the process's files: {error:#}", self.inner.display()));
        }
    }
}

/// Returns 64 random bits, so that another user cannot guess the folder's name.
fn random() -> io::Result<u64> {
    let mut bytes = [0; 8];
    getrandom(&mut bytes, GetRandomFlags::empty())?;
    Ok(u64::from_ne_bytes(bytes))
}

fn unexpected(reply: Reply) -> anyhow::Error {
    match reply {
        Reply::Failed(why) => anyhow::anyhow!(why),
        other => anyhow::anyhow!("whyoom's helper answered {other:?}"),
    }
}

/// whyoom's helper, which has the process's user's rights.
struct Helper<'a> {
    child: Child,
    /// `None` once it is closed, by which the helper is asked to end.
    input: Option<ChildStdin>,
    /// `None` once it is closed, by which a helper that still writes is asked to end.
    output: Option<ChildStdout>,
    /// Bytes that were read and not yet used.
    buffer: Vec<u8>,
    signals: &'a SignalState,
    /// True while the folder is removed. Signals do not end that.
    is_leaving: bool,
}

impl<'a> Helper<'a> {
    fn start(target: &Target, signals: &'a SignalState) -> Result<Self> {
        let (user, group) = target.owner();
        let process = TargetProcess { pid: target.pid(), started: target.started(), user, group };
        let mut command = Command::new(OWN_PROGRAM);
        command.arg0(HELPER_NAME).args(process.words()).env_clear();
        Self::spawn(command, signals)
    }

    fn spawn(mut command: Command, signals: &'a SignalState) -> Result<Self> {
        // In a group of its own: Ctrl-C is for whyoom, and the helper removes the folder after it.
        command.process_group(0);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().context("cannot start whyoom's helper")?;
        let (input, output) = (child.stdin.take(), child.stdout.take());
        Ok(Self { child, input, output, buffer: Vec::new(), signals, is_leaving: false })
    }

    fn ask_for_done(&mut self, request: &Request) -> Result<()> {
        match self.ask(request)? {
            Reply::Done => Ok(()),
            other => Err(unexpected(other)),
        }
    }

    /// Sends a request, and returns the reply. If no whole reply comes, the helper is asked nothing more: the next bytes
    /// would still belong to this reply.
    fn ask(&mut self, request: &Request) -> Result<Reply> {
        let reply = self.send_and_receive(request);
        if reply.is_err() {
            self.hang_up();
        }
        reply
    }

    fn send_and_receive(&mut self, request: &Request) -> Result<Reply> {
        let mut line = serde_json::to_vec(request)?;
        line.push(b'\n');
        self.input.as_mut().context(ENDED)?.write_all(&line).context(ENDED)?;
        let end = loop {
            if let Some(end) = self.buffer.iter().position(|byte| *byte == b'\n') {
                break end;
            }
            ensure!(self.buffer.len() < MAX_REPLY_BYTES, "whyoom's helper answers too much");
            self.read_more()?;
        };
        let rest = self.buffer.split_off(end + 1);
        let line = std::mem::replace(&mut self.buffer, rest);
        Ok(serde_json::from_slice(&line)?)
    }

    /// Copies a file of the folder. If the copy cannot be written whole, the helper is asked nothing more: the rest of the
    /// file is in the pipe.
    fn read_file(&mut self, name: &str, most_bytes: u64, to: &mut impl Write) -> Result<()> {
        let request = Request::Read { name: name.to_owned(), most_bytes };
        let bytes = match self.ask(&request)? {
            Reply::Bytes(bytes) if bytes <= most_bytes => bytes,
            Reply::Failed(why) => bail!(why),
            other => {
                self.hang_up();
                return Err(unexpected(other));
            }
        };
        let copied = self.copy_bytes(bytes, to);
        if copied.is_err() {
            self.hang_up();
        }
        copied
    }

    fn copy_bytes(&mut self, mut left: u64, to: &mut impl Write) -> Result<()> {
        while left > 0 {
            if self.buffer.is_empty() {
                self.read_more()?;
            }
            let piece = self.buffer.len().min(usize::try_from(left).unwrap_or(usize::MAX));
            to.write_all(&self.buffer[..piece])?;
            self.buffer.drain(..piece);
            left -= piece as u64;
        }
        Ok(())
    }

    /// Reads the next bytes of the helper into the buffer.
    fn read_more(&mut self) -> Result<()> {
        let longest = if self.is_leaving { REMOVAL_REPLY_LIMIT } else { LONGEST_SILENCE };
        let until = Instant::now() + longest;
        loop {
            // For each piece: a helper that always has bytes to read would never be waited for.
            if self.signals.is_second_signal() && !self.is_leaving {
                bail!("interrupted");
            }
            if self.is_readable()? {
                break;
            }
            ensure!(
                Instant::now() < until,
                "its file system did not answer within {} s",
                longest.as_secs()
            );
        }
        let mut piece = vec![0; PIECE_BYTES];
        let read = self.output.as_mut().context(ENDED)?.read(&mut piece)?;
        ensure!(read > 0, "whyoom's helper ended, or a file became shorter");
        self.buffer.extend_from_slice(&piece[..read]);
        Ok(())
    }

    fn is_readable(&self) -> Result<bool> {
        let output = self.output.as_ref().context(ENDED)?;
        let mut files = [PollFd::new(output, PollFlags::IN)];
        let interval = Timespec { tv_sec: 0, tv_nsec: SIGNAL_POLL_NS };
        match poll(&mut files, Some(&interval)) {
            Ok(ready) => Ok(ready > 0),
            Err(rustix::io::Errno::INTR) => Ok(false),
            Err(error) => Err(io::Error::from(error).into()),
        }
    }

    /// Has the helper remove the folder: by a request, or by closing the pipes if the helper can be asked nothing more. A
    /// helper that could not remove the folder tries again when the pipes are closed.
    fn remove_folder(&mut self) -> Result<()> {
        self.is_leaving = true;
        if self.input.is_none() {
            return self.end(REMOVAL_REPLY_LIMIT);
        }
        let removed = self.ask_for_done(&Request::Remove);
        if removed.is_err() && self.end(LONGEST_END).is_ok() {
            return Ok(());
        }
        removed
    }

    /// Closes the pipes. A helper that waits for a request reads the end of its input. One that writes gets EPIPE. Both
    /// then remove the folder and end.
    fn hang_up(&mut self) {
        self.input = None;
        self.output = None;
        self.buffer.clear();
    }

    /// Ends the helper, which first removes the folder if that was not yet done. A helper that waits for the process's
    /// file system is killed. Returns an error if the helper could not remove the folder, or was killed.
    fn end(&mut self, most: Duration) -> Result<()> {
        self.hang_up();
        let until = Instant::now() + most;
        loop {
            match self.child.try_wait()? {
                Some(status) if status.success() => return Ok(()),
                Some(_) => bail!("whyoom's helper could not remove it"),
                None if Instant::now() >= until => break,
                None => thread::sleep(Duration::from_millis(5)),
            }
        }
        let _ = self.child.kill();
        // It may be in an uninterruptible sleep: do not wait.
        let _ = self.child.try_wait();
        bail!("its file system did not answer within {} s", most.as_secs_f32())
    }
}

impl Drop for Helper<'_> {
    fn drop(&mut self) {
        let _ = self.end(LONGEST_END);
    }
}

#[cfg(test)]
mod tests {
    use tempfile::TempDir;

    use super::*;

    /// A file system that is full.
    struct Full;

    impl Write for Full {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            Err(io::ErrorKind::StorageFull.into())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    /// Runs a shell script as the helper, in a folder.
    fn helper<'a>(script: &str, folder: &TempDir, signals: &'a SignalState) -> Helper<'a> {
        let mut command = Command::new("sh");
        command.args(["-c", script]).current_dir(folder);
        Helper::spawn(command, signals).expect("there is a shell")
    }

    #[test]
    fn a_copy_that_fails_ends_the_helper_which_removes_the_folder() {
        let (folder, signals) = (tempfile::tempdir().expect("a folder"), SignalState::default());
        let script = r#"trap '' PIPE; read request; echo '{"Bytes":1000000}'
            head -c 1000000 /dev/zero; touch removed"#;
        let mut helper = helper(script, &folder, &signals);
        helper.read_file("snapshot.pickle", 1 << 30, &mut Full).expect_err("the disk is full");
        helper.remove_folder().expect("the helper removed it");
        assert!(folder.path().join("removed").exists(), "the helper was killed");
    }

    #[test]
    fn a_removal_that_fails_is_tried_again_at_the_end() {
        let (folder, signals) = (tempfile::tempdir().expect("a folder"), SignalState::default());
        for (status, is_removed) in [(0, true), (1, false)] {
            let script = format!(
                r#"read request; echo '{{"Failed":"it is busy"}}'; read end; exit {status}"#
            );
            let mut helper = helper(&script, &folder, &signals);
            let removed = helper.remove_folder();
            assert_eq!(removed.is_ok(), is_removed, "{removed:?}");
            if let Err(error) = removed {
                assert_eq!(error.to_string(), "it is busy");
            }
        }
    }

    #[test]
    fn a_refused_file_leaves_the_helper_to_be_asked() {
        let (folder, signals) = (tempfile::tempdir().expect("a folder"), SignalState::default());
        let script = r#"read request; echo '{"Failed":"holes"}'; read request; echo '"Done"'"#;
        let mut helper = helper(script, &folder, &signals);
        let error = helper.read_file("keepers.json", 9, &mut Full).expect_err("it is refused");
        assert_eq!(error.to_string(), "holes");
        helper.ask_for_done(&Request::Remove).expect("the helper answers");
    }
}
