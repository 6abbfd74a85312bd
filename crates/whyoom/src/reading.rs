//! The inputs of a verdict, and where they can be read again.

use std::{
    collections::HashSet,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result};
use whyoom_causes::{InputOrigin, Referrer, Verdict};
use whyoom_files::folder::Folder;
use whyoom_reading::{Inquiry, ReportOf, referrers};
use whyoom_report::{Answer, Report};
use whyoom_sources::{InputKind, recording::is_recording};

use crate::{
    beside::{process_in, snapshots},
    machine::MachineFile,
    recording_origin,
    source::{Frames, packed, read, read_entry, read_stream},
};

/// What was read, and where it can be read again.
#[derive(Default)]
pub(crate) struct Reading {
    pub(crate) inquiry: Inquiry,
    /// Each file with what it was taken for.
    files: Vec<(PathBuf, InputKind)>,
    /// Those that are packed recordings: they are unpacked again where they are read again, since each takes memory.
    packed: HashSet<PathBuf>,
    /// Those that were found in a recording, and not named by a person.
    entries: HashSet<PathBuf>,
    /// How many events recordings held.
    pub(crate) recorded_events: u64,
    /// Whether the libraries that a recording names are not opened.
    nameless_frames: bool,
}

impl Reading {
    /// One that keeps what a report shows, where one is wanted.
    pub(crate) fn new(for_report: bool) -> Self {
        Self { inquiry: Inquiry::new(for_report), ..Self::default() }
    }

    /// Opens no library that a recording names: whoever made it chose those paths.
    pub(crate) fn leave_frames_nameless(&mut self) {
        self.nameless_frames = true;
    }

    /// Reads an input: a recording with what lies beside it, a file, or `-`.
    pub(crate) fn add(&mut self, path: &Path) -> Result<()> {
        self.inquiry.begin_launch();
        let kind = self.add_one(path)?;
        self.inquiry.add_origin(
            match kind == InputKind::Recording && !self.packed.contains(path) {
                true => recording_origin::of_recording(path),
                false => InputOrigin::default(),
            },
        );
        let is_folder_of_run = kind == InputKind::Recording && !self.packed.contains(path);
        if is_folder_of_run || process_in(path).is_some() {
            self.inquiry.referrers.extend(referrers(&Folder::from(path)));
        }
        if is_folder_of_run {
            for snapshot in snapshots(path) {
                self.entries.insert(snapshot.clone());
                self.add_one(&snapshot)?;
            }
        }
        Ok(())
    }

    /// Reads a text that was given as an argument.
    pub(crate) fn add_text(&mut self, text: &str) -> Result<()> {
        self.inquiry.begin_launch();
        let kind = self.inquiry.take(|tables, sink| {
            let name = ("the text", None);
            anyhow::Ok(read_stream(text.as_bytes(), None, name, tables, sink)?.input)
        })?;
        self.inquiry.add_origin(InputOrigin::default());
        // Like standard input, it is not read a second time.
        self.files.push((PathBuf::from("-"), kind));
        Ok(())
    }

    fn add_one(&mut self, path: &Path) -> Result<InputKind> {
        let is_entry = self.entries.contains(path);
        let kind = if !is_entry && is_recording(path) {
            self.add_recording(path)?
        } else if !is_entry && let Some(packed) = packed(path)? {
            let context = || format!("cannot read {}", path.display());
            self.inquiry.take_packed(&packed).with_context(context)?;
            self.packed.insert(path.to_owned());
            InputKind::Recording
        } else {
            self.inquiry.take(|tables, sink| {
                let contents = match is_entry {
                    true => read_entry(path, tables, sink)?,
                    false => read(path, Frames::Nameless, tables, sink)?,
                };
                anyhow::Ok(contents.input)
            })?
        };
        self.files.push((path.to_owned(), kind));
        Ok(kind)
    }

    fn add_recording(&mut self, path: &Path) -> Result<InputKind> {
        let frames = if self.nameless_frames { Frames::Nameless } else { Frames::Named };
        let (name, mut events) = (path.display().to_string(), 0);
        let modelled =
            self.inquiry.take_recording(&name, &Folder::from(path), |tables, sink| {
                let contents = read(path, frames, tables, sink)?;
                events = contents.recorded_events;
                anyhow::Ok(contents.input)
            })?;
        self.recorded_events += modelled.unwrap_or(events);
        Ok(InputKind::Recording)
    }

    /// Takes what was measured of the machine that the inputs are from, in place of what is assumed.
    pub(crate) fn measure(&mut self, machine: &MachineFile) {
        self.inquiry.measured = machine.measured();
        if let Some(input) = self.inquiry.inputs_mut().first_mut() {
            input.notes.push(machine.told_of_context());
        }
    }

    /// The verdict, with what a replay of the runs can prove.
    pub(crate) fn judge(&mut self) -> Result<Verdict> {
        let Self { inquiry, files, packed: packed_ones, entries, .. } = self;
        inquiry.judge(|tables, workloads| {
            for (path, kind) in files.iter() {
                if packed_ones.contains(path) {
                    let again = packed(path)?.context("it was a packed recording before")?;
                    again.import_all(tables, workloads)?;
                } else if entries.contains(path) {
                    read_entry(path, tables, workloads)?;
                } else if *kind != InputKind::Text && path != Path::new("-") {
                    read(path, Frames::Nameless, tables, workloads)?;
                }
            }
            anyhow::Ok(())
        })
    }

    /// What there is to show of a verdict.
    pub(crate) fn answer<'a>(&'a self, verdict: &'a Verdict) -> Answer<'a> {
        self.inquiry.answer(verdict)
    }

    /// What Python told of who keeps tensors alive.
    pub(crate) fn referrers(&self) -> &[Referrer] {
        &self.inquiry.referrers
    }

    /// What is worth saying of the inputs.
    pub(crate) fn notes(&self) -> impl Iterator<Item = &str> {
        self.inquiry.inputs().iter().flat_map(|input| &input.notes).map(String::as_str)
    }

    /// The names of what was read.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.inquiry.inputs().iter().map(|input| input.name.as_str())
    }

    /// The report of a verdict.
    pub(crate) fn with_report<T>(
        &mut self,
        verdict: &Verdict,
        about: ReportOf,
        then: impl FnOnce(&Report<'_>) -> T,
    ) -> T {
        self.inquiry.with_report(verdict, about, then)
    }
}
