//! Recordings that somebody might send, and the commands that read them.

use std::{
    fs::{self, File},
    os::unix::fs::symlink,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result, ensure};
use harness::{Bounded, Build, empty_folder, text};
use rustix::fs::{CWD, FileType, Mode, mknodat};
use whyoom_recording::{Definition, Options, Part, RawFrame};
use whyoom_sources::recording::{Ending, MachineSample, SeenDevice};
use whyoom_trace::{Action, Address, Bytes, Event, FrameId, StackId, StringId, ThreadId, Time};

/// A terabyte, none of which is there.
pub(super) const HOLE: u64 = 1 << 40;

/// A recording of a few events, with everything that may lie beside it. Its name for the files of its process.
pub(super) fn recording(folder: &Path) -> Result<String> {
    written(folder, |part| {
        part.define(Definition::String { id: StringId(1), text: b"step" })?;
        let (function, file) = (StringId(1), StringId(0));
        part.define(Definition::Frame { id: FrameId(1), function, file, line: 3 })?;
        let frames = [RawFrame::Named(FrameId(1))];
        part.define(Definition::Stack { id: StackId(1), frames: &frames })?;
        Ok(())
    })?;
    let ending = Ending { command: vec!["train".to_owned()], pid: 1, ..Ending::default() };
    ending.write(folder)?;
    MachineSample { devices: vec![SeenDevice::default()], ..MachineSample::default() }
        .append(folder)?;
    fs::write(folder.join("keepers-1.json"), r#"{"pid":1,"keepers":[]}"#)?;
    fs::create_dir(folder.join("torch"))?;
    let snapshot = harness::root().join("tests/fixtures/snapshots/private-pool-oom.pickle");
    fs::copy(snapshot, folder.join("torch/1.pickle"))?;
    let part =
        files(folder)?.into_iter().find_map(|name| Some(name.strip_suffix(".part")?.to_owned()));
    part.context("no part")
}

/// A recording with the definitions that are given, and blocks with the stack 1.
pub(super) fn written(
    folder: &Path,
    define: impl FnOnce(&Part) -> Result<(), whyoom_recording::Stop>,
) -> Result<()> {
    let part = Part::create(folder, Options { segment_bytes: 64 << 10, limit: None })?;
    define(&part)?;
    let mut lease = part.lease(ThreadId(1))?;
    for at in 0..100 {
        let (address, size) = (Address(at * 512), Bytes(512));
        let action = Action::BlockAlloc { address, requested: size, size };
        let (time, stack) = (Time(at * 10), StackId(1));
        lease.event(&part, &Event { time, stack, action, ..Event::default() })?;
    }
    Ok(())
}

/// The names of a folder's files.
pub(super) fn files(folder: &Path) -> Result<Vec<String>> {
    let entries = fs::read_dir(folder)?.map(|entry| Ok(entry?.file_name()));
    let names = entries.map(|name: Result<_>| Ok(name?.to_string_lossy().into_owned()));
    names.collect()
}

/// What somebody may put in the place of a file.
#[derive(Clone, Copy, Debug)]
pub(super) enum Instead {
    Fifo,
    Folder,
    Hole,
    LinkToDevice,
    LinkToFifo,
    LinkToFolder,
    LinkToSecret,
}

impl Instead {
    /// Puts it there. What a link leads to lies beside the recording.
    pub(super) fn put(self, path: &Path, beside: &Path) -> Result<()> {
        if path.is_dir() {
            fs::remove_dir_all(path)?;
        } else {
            fs::remove_file(path)?;
        }
        match self {
            Self::Fifo => fifo(path),
            Self::Folder => Ok(fs::create_dir(path)?),
            Self::Hole => Ok(File::create_new(path)?.set_len(HOLE)?),
            Self::LinkToDevice => Ok(symlink("/dev/zero", path)?),
            Self::LinkToFifo => {
                let target = beside.join("fifo");
                if !target.exists() {
                    fifo(&target)?;
                }
                Ok(symlink(target, path)?)
            }
            // The recording itself: whoever follows it comes here again.
            Self::LinkToFolder => Ok(symlink(beside.join("copy"), path)?),
            Self::LinkToSecret => {
                let target = beside.join("secret");
                fs::write(&target, SECRET)?;
                Ok(symlink(target, path)?)
            }
        }
    }
}

/// A file that whoever made the recording could not read: as an ending of a run, it would be shown.
pub(super) const SECRET: &str = r#"{"command":["secret-token"],"pid":1,"time":1,"status":null,"signal":9,
    "killed_for_memory":1,"killed_in_group":1}"#;

pub(super) fn fifo(path: &Path) -> Result<()> {
    Ok(mknodat(CWD, path, FileType::Fifo, Mode::from_raw_mode(0o600), 0)?)
}

/// A folder for a recording, and the one that it lies in.
pub(super) fn place(name: &str) -> Result<(PathBuf, PathBuf)> {
    let beside = empty_folder(&format!("hostile-{name}"))?;
    let folder = beside.join("received");
    fs::create_dir(&folder)?;
    Ok((folder, beside))
}

/// Has every command read a folder: each in bounds for an input of so many bytes, and none knows the secret.
pub(super) fn read_by_all(folder: &Path, beside: &Path, input: u64, what: &str) -> Result<u64> {
    let (whyoom, folder) = (text(&Build::ready()?.whyoom()), text(folder));
    let [page, export] = ["page.html", "run.perfetto-trace"].map(|name| text(&beside.join(name)));
    let commands = [
        vec!["why", &folder],
        vec!["report", &folder, "--force", "-o", &page],
        vec!["replay", &folder],
        vec!["export", &folder, "--force", "-o", &export],
    ];
    for command in &commands {
        let words: Vec<&str> =
            [whyoom.as_str()].into_iter().chain(command.iter().copied()).collect();
        let context = || format!("{} of {what}", command[0]);
        let ran = Bounded::run(&words, None, &[])?.in_bounds(input).with_context(context)?;
        ensure!(!ran.out.contains("secret-token"), "{}: {}", context(), ran.out);
        ensure!(ran.status.is_some_and(|status| status <= 1), "{}: {}", context(), ran.err);
    }
    Ok(commands.len() as u64)
}
