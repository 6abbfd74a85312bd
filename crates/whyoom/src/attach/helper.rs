//! The helper: whyoom itself, started anew, which alone touches files of the process.
//!
//! It opens the root folder of the process, checks that the process is still the one that whyoom looked at, and then gives up
//! all rights but those of the process's user. Only then does it touch files below that root. So whatever that user puts in
//! the way (a mount, a link, another root), the helper can do there no more than the user could. When whyoom ends, the
//! helper removes the folder and ends.

use std::{
    ffi::OsString,
    io::{self, BufRead, Read, Write},
    os::fd::OwnedFd,
    path::Path,
};

use anyhow::{Context, Result, bail, ensure};
use rustix::{
    fs::Mode,
    process::{DumpableBehavior, geteuid, set_dumpable_behavior, umask},
    thread::{
        CapabilitySet, CapabilitySets, capabilities, set_capabilities, set_no_new_privs,
        set_thread_groups, set_thread_res_gid, set_thread_res_uid,
    },
};
use whyoom_attach::{ProcessRoot, started};

use super::{
    folder::{Folder, Scripts},
    protocol::{HELPER_NAME, Reply, Request},
};

/// The process whose files are touched, as the command line has it.
pub(super) struct TargetProcess {
    pub(super) pid: u32,
    /// When the process started: numbers are used again.
    pub(super) started: u64,
    pub(super) user: u32,
    pub(super) group: u32,
}

impl TargetProcess {
    /// Returns the words of the command line.
    pub(super) fn words(&self) -> [String; 4] {
        let Self { pid, started, user, group } = self;
        [pid.to_string(), started.to_string(), user.to_string(), group.to_string()]
    }

    fn parse(words: &[OsString]) -> Option<Self> {
        let [pid, started, user, group] = words else { return None };
        Some(Self {
            pid: pid.to_str()?.parse().ok()?,
            started: started.to_str()?.parse().ok()?,
            user: user.to_str()?.parse().ok()?,
            group: group.to_str()?.parse().ok()?,
        })
    }
}

/// Runs the helper if this process was started under its name. Returns `None` otherwise.
pub(crate) fn run_if_started_as_helper() -> Option<Result<()>> {
    let words: Vec<OsString> = std::env::args_os().collect();
    let name = words.first().and_then(|first| Path::new(first).file_name());
    if name?.to_str() != Some(HELPER_NAME) {
        return None;
    }
    Some(serve(words.get(1..).unwrap_or_default()))
}

fn serve(words: &[OsString]) -> Result<()> {
    let process = TargetProcess::parse(words)
        .with_context(|| format!("{HELPER_NAME} is started by whyoom attach only"))?;
    // An error of `prepare` is the reply to the first request.
    let mut server = Server { root: prepare(&process), user: process.user, folder: None };
    let (mut input, mut output) = (io::stdin().lock(), io::stdout().lock());
    let mut line = String::new();
    // At the end of its input whyoom is gone.
    while input.read_line(&mut line).is_ok_and(|bytes| bytes > 0) {
        let request: Request = serde_json::from_str(&line)?;
        if server.answer(request, &mut output).is_err() {
            break;
        }
        line.clear();
    }
    match &mut server.folder {
        Some(folder) => folder.remove(),
        None => Ok(()),
    }
}

/// Opens the root of the process, and gives up all rights but those of its user.
fn prepare(process: &TargetProcess) -> Result<ProcessRoot> {
    let root = ProcessRoot::open(process.pid).context("its root cannot be opened")?;
    ensure!(started(process.pid) == Some(process.started), "the process ended meanwhile");
    give_up_rights(process)?;
    Ok(root)
}

/// Sets the effective user to the process's. If root attaches, real and saved user stay root's, so the process's user can
/// neither signal nor trace the helper. It has no capabilities.
fn give_up_rights(process: &TargetProcess) -> Result<()> {
    let own = geteuid();
    if own.as_raw() != process.user {
        let (user, group) =
            (rustix::fs::Uid::from_raw(process.user), rustix::fs::Gid::from_raw(process.group));
        set_thread_groups(&[]).context("cannot give up the groups")?;
        set_thread_res_gid(group, group, group).context("cannot become its group")?;
        set_thread_res_uid(own, user, own).context("cannot become its user")?;
    }
    let none = CapabilitySet::empty();
    let sets = CapabilitySets { effective: none, permitted: none, inheritable: none };
    set_capabilities(None, sets).context("cannot give up capabilities")?;
    set_no_new_privs(true)?;
    set_dumpable_behavior(DumpableBehavior::NotDumpable)?;
    umask(Mode::RWXG | Mode::RWXO);
    let left = capabilities(None)?.permitted;
    ensure!(geteuid().as_raw() == process.user && left.is_empty(), "rights are left");
    Ok(())
}

/// The helper's state.
struct Server {
    root: Result<ProcessRoot>,
    user: u32,
    folder: Option<Folder>,
}

impl Server {
    /// Answers one request. Returns an error if whyoom does not read the answer.
    fn answer(&mut self, request: Request, output: &mut impl Write) -> Result<()> {
        let outcome = match request {
            Request::Make { name, start, look } => self.make(&name, &start, &look),
            Request::Find { name } => self.folder().map(|folder| Reply::Found(folder.find(&name))),
            Request::Read { name, most_bytes } => return self.read(&name, most_bytes, output),
            Request::Release => self.folder().map(|folder| {
                folder.release();
                Reply::Done
            }),
            Request::Remove => self.remove(),
        };
        send(&outcome.unwrap_or_else(|error| failed(&error)), output)
    }

    fn make(&mut self, name: &str, start: &str, look: &str) -> Result<Reply> {
        let root: &OwnedFd = match &self.root {
            Ok(root) => root.folder(),
            Err(error) => bail!("{error:#}"),
        };
        self.folder = Some(Folder::make(root, self.user, name, &Scripts { start, look })?);
        Ok(Reply::Done)
    }

    fn folder(&mut self) -> Result<&mut Folder> {
        self.folder.as_mut().context("there is no folder")
    }

    /// Sends a file. A file that becomes shorter meanwhile ends the helper: whyoom waits for all of it.
    fn read(&mut self, name: &str, most_bytes: u64, output: &mut impl Write) -> Result<()> {
        let opened = match self.folder().and_then(|folder| folder.open(name, most_bytes)) {
            Ok(opened) => opened,
            Err(error) => return send(&failed(&error), output),
        };
        send(&Reply::Bytes(opened.bytes), output)?;
        let sent = io::copy(&mut opened.file.take(opened.bytes), output)?;
        output.flush()?;
        ensure!(sent == opened.bytes, "{name} became shorter");
        Ok(())
    }

    /// Removes the folder. A folder that could not be removed is tried again at the end.
    fn remove(&mut self) -> Result<Reply> {
        if let Some(folder) = &mut self.folder {
            folder.remove()?;
        }
        self.folder = None;
        Ok(Reply::Done)
    }
}

fn failed(error: &anyhow::Error) -> Reply {
    Reply::Failed(format!("{error:#}"))
}

fn send(reply: &Reply, output: &mut impl Write) -> Result<()> {
    let mut line = serde_json::to_vec(reply)?;
    line.push(b'\n');
    output.write_all(&line)?;
    Ok(output.flush()?)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use anyhow::anyhow;
    use rustix::fs::{OFlags, open};

    use super::*;

    #[test]
    fn a_removal_that_failed_can_be_asked_again() {
        let root = tempfile::tempdir().expect("a folder");
        fs::create_dir(root.path().join("tmp")).expect("a folder");
        let user = geteuid().as_raw();
        let opened = open(root.path(), OFlags::PATH, Mode::empty()).expect("it is there");
        let scripts = Scripts { start: "", look: "" };
        let folder = Folder::make(&opened, user, "visit", &scripts).expect("it is made");
        let mut server = Server { root: Err(anyhow!("not used")), user, folder: Some(folder) };
        let path = root.path().join("tmp/visit");
        fs::write(path.join("other"), "in the way").expect("it is written");
        server.remove().expect_err("it is not empty");
        fs::remove_file(path.join("other")).expect("it is there");
        server.remove().expect("it is empty");
        assert!(!path.exists(), "it was not tried again");
    }
}
