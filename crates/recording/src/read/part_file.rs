//! The file that says which process a part is of and how it stands.

use std::{mem::offset_of, sync::OnceLock};

use whyoom_files::{folder::Folder, kernel};
use whyoom_trace::Time;

use super::{
    Ending, PartInfo,
    folder::{self, FileView},
};
use crate::{
    format::{HEADER, Kind, PART_FILE, PART_IDENTITY},
    header::{Wrong, u32_at, u64_at},
    identity::{PartIdentity, boot_number, parent_and_start},
    live::{LONGEST_REASON, LiveTotals, State},
};

/// What a part's file says, and whether it says anything.
#[derive(Debug)]
pub(super) struct PartFile {
    pub(super) info: PartInfo,
    pub(super) created: u64,
    pub(super) boot: [u8; 16],
    pub(super) unix_offset: i64,
    /// The file is missing or damaged.
    pub(super) nameless: bool,
    segments_made: u64,
    segments_dropped: u64,
    pieces_made: u64,
}

impl PartFile {
    /// Reads it. The error is the version of a newer format.
    pub(super) fn read(folder: &Folder, stem: &str, exists: bool) -> Result<Self, u32> {
        let mut bytes = Vec::new();
        if let Ok(file) = folder.entry(&format!("{stem}{}", Kind::Part.suffix())).open() {
            let _ = file.read_range(0, &mut bytes, PART_FILE);
        }
        let identity = PartIdentity::read(&bytes);
        if let Err(Wrong::Newer(version)) = identity {
            return Err(version);
        }
        // A process that was killed while it made the file has written nothing else either.
        let nameless = identity.is_err() && !(exists && identity == Err(Wrong::Blank));
        let identity = identity.unwrap_or_else(|_| from_name(stem));
        Ok(Self::new(stem, identity, &bytes, nameless))
    }

    pub(super) fn new(stem: &str, identity: PartIdentity, bytes: &[u8], nameless: bool) -> Self {
        let state = bytes.get(PART_IDENTITY..).unwrap_or_default();
        let time = |monotonic: u64| Time(monotonic.saturating_add_signed(identity.unix_offset));
        let until = u64_at(state, offset_of!(State, dropped_until));
        let totals = offset_of!(State, totals);
        let info = PartInfo {
            stem: stem.to_owned(),
            pid: identity.pid,
            start_ticks: identity.started,
            program: folder::process(stem).map_or(0, |(_, _, program)| program),
            started: time(identity.created),
            parent: identity.parent,
            ending: ending(&identity, u32_at(state, offset_of!(State, ended)) == 1),
            stopped: reason(state),
            failures: u32_at(state, totals + offset_of!(LiveTotals, failures)),
            events: u64_at(state, totals + offset_of!(LiveTotals, events)),
            limit: (identity.limit > 0).then_some(identity.limit),
            dropped_events: u64_at(state, offset_of!(State, dropped_events)),
            dropped_until: (until > 0).then(|| time(until)),
            stand_ins: u64_at(state, offset_of!(State, stand_ins)),
            command: arguments(&identity.command),
        };
        Self {
            info,
            created: identity.created,
            boot: identity.boot,
            unix_offset: identity.unix_offset,
            nameless,
            segments_made: u32_at(state, offset_of!(State, segments)).into(),
            segments_dropped: u64_at(state, offset_of!(State, dropped_segments)),
            pieces_made: u32_at(state, offset_of!(State, pieces)).into(),
        }
    }

    /// How many of its files are gone that nobody dropped.
    pub(super) fn missing(&self, segments: &[FileView], pieces: &[u32]) -> u64 {
        if self.info.ending == Ending::Running {
            return 0;
        }
        let kept = self.segments_made.saturating_sub(self.segments_dropped);
        kept.saturating_sub(segments.len() as u64)
            + self.pieces_made.saturating_sub(pieces.len() as u64)
    }

    /// How many threads may have been in the middle of a record when the process ended.
    pub(super) fn interrupted(&self, segments: &[FileView]) -> u64 {
        if matches!(self.info.ending, Ending::InOrder | Ending::Running) {
            return 0;
        }
        let open = |view: &&FileView| {
            view.identity.is_ok() && !view.progress.closed && view.end() >= HEADER as u64
        };
        segments.iter().filter(open).count() as u64
    }
}

/// What the name of a part's files tells of its process.
fn from_name(stem: &str) -> PartIdentity {
    let (pid, started, _) = folder::process(stem).unwrap_or_default();
    PartIdentity { pid, started, ..PartIdentity::default() }
}

fn ending(identity: &PartIdentity, in_order: bool) -> Ending {
    if in_order {
        Ending::InOrder
    } else if runs(identity) {
        Ending::Running
    } else {
        Ending::Untold
    }
}

/// Whether the process still runs, as far as this process can see it.
fn runs(identity: &PartIdentity) -> bool {
    static BOOT: OnceLock<[u8; 16]> = OnceLock::new();
    let boot = || kernel::text("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    // Another machine's, or a part that tells nothing of itself.
    if *BOOT.get_or_init(|| boot_number(&boot())) != identity.boot {
        return false;
    }
    let stat = kernel::text(format!("/proc/{}/stat", identity.pid)).unwrap_or_default();
    let ended = stat.rsplit_once(") ").is_none_or(|(_, fields)| fields.starts_with(['Z', 'X']));
    let (_, started) = parent_and_start(&stat);
    !ended && started == identity.started
}

fn reason(state: &[u8]) -> String {
    let length = u32_at(state, offset_of!(State, reason_length)) as usize;
    let at = offset_of!(State, reason);
    let bytes = state.get(at..at + length.min(LONGEST_REASON)).unwrap_or_default();
    if length > LONGEST_REASON { String::new() } else { String::from_utf8_lossy(bytes).into() }
}

fn arguments(command: &[u8]) -> Vec<String> {
    let command = command.strip_suffix(&[0]).unwrap_or(command);
    if command.is_empty() {
        return Vec::new();
    }
    command.split(|&byte| byte == 0).map(|word| String::from_utf8_lossy(word).into()).collect()
}
