//! What a recording lacks, in words.

use std::fmt;

use whyoom_trace::Bytes;

/// What a recording lacks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Losses {
    /// Blocks of events with a wrong checksum, or with records that nobody writes.
    pub damaged_blocks: u64,
    /// Bytes of events that were left out because of that.
    pub damaged_bytes: u64,
    /// Events that are known to be lost, in segments that tell how many they had.
    pub lost_events: u64,
    /// Bytes that were written and that their file no longer has.
    pub cut_bytes: u64,
    /// Segments whose header is damaged; their events were read as far as they are told by themselves.
    pub damaged_headers: u64,
    /// Files that were written and are not there.
    pub missing_files: u64,
    /// Files that could not be read.
    pub unreadable_files: u64,
    /// Files beyond those that are read of one recording.
    pub passed_over: u64,
    /// Files that a newer version wrote.
    pub newer_files: u64,
    /// Processes of which only the events are left, not what process it was.
    pub nameless_parts: u64,
    /// Bytes of definitions that were left out.
    pub damaged_definitions: u64,
    /// Events that name a stack, string or pool that is not defined.
    pub undefined: u64,
    /// Processes that ended without a word while threads of theirs recorded: how many threads.
    pub interrupted_threads: u64,
    /// Ring mode: events that were dropped to make room.
    pub dropped_events: u64,
    /// Ring mode: events that have a stand-in for their stack.
    pub stand_ins: u64,
    /// Ring mode: segments that were dropped while the recording was read.
    pub dropped_while_read: u64,
    /// Processes in which recording stopped, and why: the first few.
    pub stopped: Vec<String>,
}

impl Losses {
    /// Whether everything that was recorded is there. What ring mode drops, the last record of a
    /// thread that was killed, and what came after recording stopped were never in the recording.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        self.damaged_blocks == 0
            && self.lost_events == 0
            && self.cut_bytes == 0
            && self.damaged_headers == 0
            && self.missing_files == 0
            && self.unreadable_files == 0
            && self.passed_over == 0
            && self.newer_files == 0
            && self.nameless_parts == 0
            && self.damaged_definitions == 0
            && self.undefined == 0
    }

    /// One sentence a loss; none where nothing is lost.
    #[must_use]
    pub fn words(&self) -> Vec<String> {
        let mut words = self.stopped.clone();
        let mut say = |count: u64, sentence: fmt::Arguments<'_>| {
            if count > 0 {
                words.push(sentence.to_string());
            }
        };
        say(
            self.dropped_events,
            format_args!(
                "The oldest {} were dropped to keep the recording within its limit.",
                counted(self.dropped_events, "event")
            ),
        );
        say(
            self.stand_ins,
            format_args!(
                "{} a stand-in for their stack: there are more different stacks than the limit has room for.",
                match self.stand_ins {
                    1 => "1 event has".to_owned(),
                    many => format!("{many} events have"),
                }
            ),
        );
        say(
            self.dropped_while_read,
            format_args!(
                "{} dropped to free memory while the recording was read.",
                was(self.dropped_while_read, "segment")
            ),
        );
        say(
            self.interrupted_threads,
            format_args!(
                "{} interrupted while recording: the last event of each may be missing.",
                was(self.interrupted_threads, "thread")
            ),
        );
        say(
            self.cut_bytes,
            format_args!("Files are truncated: {} missing.", Bytes(self.cut_bytes)),
        );
        say(
            self.damaged_blocks,
            format_args!(
                "{} damaged: {} of events skipped.",
                was(self.damaged_blocks, "block"),
                Bytes(self.damaged_bytes)
            ),
        );
        say(
            self.damaged_headers,
            format_args!(
                "The first bytes of {} are damaged: the readable rest was read.",
                counted(self.damaged_headers, "segment")
            ),
        );
        self.say_files(&mut say);
        say(
            self.lost_events,
            format_args!("At least {} lost as a result.", are(self.lost_events, "event")),
        );
        say(
            self.damaged_definitions,
            format_args!(
                "{} of names and stacks are damaged and skipped.",
                Bytes(self.damaged_definitions)
            ),
        );
        say(
            self.undefined,
            format_args!(
                "{} a stack or a name that is not in the recording.",
                match self.undefined {
                    1 => "1 event has".to_owned(),
                    many => format!("{many} events have"),
                }
            ),
        );
        words
    }

    fn say_files(&self, say: &mut impl FnMut(u64, fmt::Arguments<'_>)) {
        let missing = was(self.missing_files, "file");
        say(self.missing_files, format_args!("{missing} removed from the recording."));
        let unreadable = counted(self.unreadable_files, "file");
        say(self.unreadable_files, format_args!("{unreadable} could not be read."));
        let passed_over = was(self.passed_over, "file");
        say(
            self.passed_over,
            format_args!("{passed_over} skipped: whyoom does not read more per recording."),
        );
        let newer = was(self.newer_files, "file");
        say(
            self.newer_files,
            format_args!("{newer} written by a newer whyoom: read the recording with that one."),
        );
        let nameless = counted(self.nameless_parts, "process");
        say(
            self.nameless_parts,
            format_args!("The metadata of {nameless} is damaged: the events are intact."),
        );
    }
}

impl fmt::Display for Losses {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.words().join("\n"))
    }
}

fn counted(count: u64, thing: &str) -> String {
    match (count, thing) {
        (1, _) => format!("1 {thing}"),
        (_, "process") => format!("{count} processes"),
        _ => format!("{count} {thing}s"),
    }
}

fn are(count: u64, thing: &str) -> String {
    let verb = if count == 1 { "is" } else { "are" };
    format!("{} {verb}", counted(count, thing))
}

fn was(count: u64, thing: &str) -> String {
    let verb = if count == 1 { "was" } else { "were" };
    format!("{} {verb}", counted(count, thing))
}
