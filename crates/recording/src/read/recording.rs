//! A recording as a whole.

use std::{
    collections::{HashMap, HashSet},
    io,
};

use whyoom_files::folder::Folder;
use whyoom_trace::{EventSink, Tables};

use super::{
    Ending, Losses, OpenError, PartInfo, ReadError, Resolve,
    cursor::{lose_file, lose_header},
    definitions::{Definer, ParseLimits},
    delivery::Reading,
    folder::{self, FileView, Files},
    merge::{Chain, Merge, Part},
    part_file::PartFile,
};
use crate::{format::Kind, header::Wrong};

/// No process makes more pieces of its tables while its recording is opened.
const MADE_MEANWHILE: usize = 64;

/// A recording, as it stood when it was opened: a process that still writes to it adds nothing.
#[derive(Debug)]
pub struct Recording {
    folder: Folder,
    infos: Vec<PartInfo>,
    parts: Vec<OpenPart>,
    /// What opening it already showed to be missing.
    losses: Losses,
}

/// The files of one part.
#[derive(Debug)]
struct OpenPart {
    unix_offset: i64,
    segments: Vec<FileView>,
    pieces: Vec<u32>,
}

impl Recording {
    /// Opens the recording in a folder.
    ///
    /// # Errors
    /// Where there is none, or none that this version can read.
    pub fn open(folder: impl Into<Folder>) -> Result<Self, OpenError> {
        let folder = &folder.into();
        let unreadable = |error| OpenError::Unreadable { folder: folder.path(), error };
        let (files, passed_over) = folder::list(folder).map_err(unreadable)?;
        if files.is_empty() {
            return Err(OpenError::Empty(folder.path()));
        }
        let mut recording = Self {
            folder: folder.clone(),
            infos: Vec::new(),
            parts: Vec::new(),
            losses: Losses { passed_over, ..Losses::default() },
        };
        let mut clocks = HashMap::new();
        let mut newer = None;
        let mut opened: Vec<_> = Vec::new();
        for (stem, files) in files {
            match PartFile::read(folder, &stem, files.has_part) {
                Ok(part) => opened.push((part, files)),
                Err(version) => newer = newer.max(Some(version)),
            }
        }
        opened.sort_by_key(|(part, _)| (part.created, part.info.pid, part.info.program));
        for (part, files) in opened {
            recording.add(part, files, &mut clocks);
        }
        match newer {
            Some(version) if recording.parts.is_empty() => {
                Err(OpenError::Newer { folder: folder.path(), version })
            }
            newer => {
                recording.losses.newer_files += u64::from(newer.is_some());
                recording.find_replaced();
                Ok(recording)
            }
        }
    }

    /// The processes that were recorded, in the order in which recording started.
    #[must_use]
    pub fn parts(&self) -> &[PartInfo] {
        &self.infos
    }

    /// Reads everything: first what ids stand for, into the tables, then every event in the order
    /// they happened, into the sink. Times are Unix times. What is damaged is left out.
    ///
    /// # Errors
    /// Where the folder is gone.
    pub fn read(
        &self,
        resolve: &mut dyn Resolve,
        tables: &mut Tables,
        sink: &mut dyn EventSink,
    ) -> Result<Losses, ReadError> {
        if !self.folder.exists() {
            return Err(ReadError::Gone(self.folder.path()));
        }
        let mut losses = self.losses.clone();
        let (mut parts, mut ids) = (Vec::new(), Vec::new());
        let mut chains = Vec::new();
        let mut limits = ParseLimits::default();
        for (info, open) in self.infos.iter().zip(&self.parts) {
            let mut definer = Definer::new(tables, resolve, &mut limits);
            for number in self.all_pieces(info, &open.pieces) {
                self.define(info, number, &mut definer, &mut losses);
            }
            ids.push(definer.ids);
            let process = tables.process(info.name());
            // One that was begun since holds events of a later moment, which may name what was not defined before.
            let mut segments = open.segments.clone();
            segments.retain(|view| {
                let entry = folder::entry(&self.folder, &info.stem, Kind::Events, view.number);
                view.begun_since(&entry, Kind::Events).is_none()
            });
            chains.extend(chains_of(parts.len(), &segments));
            parts.push(Part {
                stem: &info.stem,
                drops: info.limit.is_some(),
                process,
                unix_offset: open.unix_offset,
            });
        }
        let merge = Merge::new(&self.folder, parts, chains);
        Reading { merge, ids, losses: &mut losses }.deliver(tables, sink);
        Ok(losses)
    }

    /// The pieces that were there, and those that a process that still writes has made since: the
    /// last events may name what is in them.
    fn all_pieces(&self, info: &PartInfo, listed: &[u32]) -> impl Iterator<Item = u32> {
        // A piece of the largest number has none after it.
        let next = listed.last().map_or(Some(0), |last| last.checked_add(1));
        let later = next.into_iter().flat_map(|next| next..=u32::MAX);
        let made =
            |number: &u32| folder::entry(&self.folder, &info.stem, Kind::Tables, *number).exists();
        // A list of a folder that is written to may omit a file and have one that was made after it.
        let first = (0..next.unwrap_or(u32::MAX)).take(listed.len() + MADE_MEANWHILE);
        let unlisted = first.filter(|number| listed.binary_search(number).is_err()).filter(made);
        let mut pieces: Vec<u32> = listed.iter().copied().chain(unlisted).collect();
        pieces.sort_unstable();
        pieces.into_iter().chain(later.take(MADE_MEANWHILE).take_while(made))
    }

    fn define(&self, info: &PartInfo, number: u32, definer: &mut Definer<'_>, losses: &mut Losses) {
        let entry = folder::entry(&self.folder, &info.stem, Kind::Tables, number);
        // Looked at only now: whatever an event names was defined before the event was written.
        let read = FileView::look(&entry, Kind::Tables, number).and_then(|view| {
            lose_header(&view, losses);
            if matches!(view.identity, Err(Wrong::Newer(_))) {
                return Ok(());
            }
            definer.piece(&entry, &view, losses)
        });
        if let Err(error) = read {
            lose_file(&error, losses);
        }
    }

    fn add(&mut self, part: PartFile, files: Files, clocks: &mut HashMap<[u8; 16], i64>) {
        let losses = &mut self.losses;
        losses.nameless_parts += u64::from(part.nameless);
        losses.dropped_events += part.info.dropped_events;
        losses.stand_ins += part.info.stand_ins;
        if !part.info.stopped.is_empty() && losses.stopped.len() < 16 {
            let (name, why) = (part.info.name(), &part.info.stopped);
            losses.stopped.push(format!("{name} stopped recording: {why}."));
        }
        let mut segments = Vec::with_capacity(files.segments.len());
        for number in files.segments {
            let entry = folder::entry(&self.folder, &part.info.stem, Kind::Events, number);
            match FileView::look(&entry, Kind::Events, number) {
                Ok(view) => {
                    lose_header(&view, losses);
                    losses.cut_bytes += view.cut();
                    if !matches!(view.identity, Err(Wrong::Newer(_))) {
                        segments.push(view);
                    }
                }
                // Dropped by ring mode since the folder was listed.
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => lose_file(&error, losses),
            }
        }
        // Clocks of one machine agree better than their distances to Unix time, each read once.
        let told = segments.iter().find_map(|view| view.identity.ok()).map(|id| id.unix_offset);
        let unix_offset = match part.boot {
            boot if boot == [0; 16] => told.unwrap_or(part.unix_offset),
            boot => *clocks.entry(boot).or_insert(part.unix_offset),
        };
        losses.missing_files += part.missing(&segments, &files.pieces);
        losses.interrupted_threads += part.interrupted(&segments);
        self.infos.push(part.info);
        self.parts.push(OpenPart { unix_offset, segments, pieces: files.pieces });
    }
}

impl Recording {
    /// A program that another of the same process came after was replaced by it.
    fn find_replaced(&mut self) {
        let name = |info: &PartInfo| (info.pid, info.start_ticks, info.program);
        let all: HashSet<_> = self.infos.iter().map(name).collect();
        for info in &mut self.infos {
            let next = (info.pid, info.start_ticks, info.program.saturating_add(1));
            if info.ending != Ending::InOrder && all.contains(&next) {
                info.ending = Ending::Replaced;
            }
        }
    }
}

/// Puts segments that follow each other into chains.
fn chains_of(part: usize, segments: &[FileView]) -> Vec<Chain> {
    let mut chains = Vec::<Chain>::new();
    let mut ends = HashMap::new();
    for &view in segments {
        let after = view.identity.ok().and_then(|identity| identity.after);
        let chain = after.and_then(|number| ends.remove(&number)).unwrap_or(chains.len());
        if chain == chains.len() {
            chains.push(Chain { part, segments: Vec::new() });
        }
        chains[chain].segments.push(view);
        ends.insert(view.number, chain);
    }
    for chain in &mut chains {
        chain.segments.reverse();
    }
    chains
}
