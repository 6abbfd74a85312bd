//! The importer of RMM's logs: the lines that `rmm::mr::logging_resource_adaptor` writes, and what else writes
//! the same form (whyoom's own pool does).
//!
//! ```text
//! Thread,Time,Action,Pointer,Size,Stream
//! 21761,22:46:18.507971,allocate,0x7f04a7600000,52428800,0x10040
//! 21761,22:46:18.508035,free,0x7f04a7600000,52428800,0x10040
//! 21761,22:46:18.508453,allocate failure,(nil),31457280,0x10040
//! ```
//!
//! The log tells what RMM gave to the program, when, by which thread and on which stream. It tells neither who
//! asked nor what lies below: whether a pool served a request, or the driver, and what either had left.

mod clock;
mod line;
mod lines;

use std::{collections::HashSet, io::Read};

use clock::Clock;
use foldhash::fast::RandomState;
use line::{Act, Line};
use lines::Lines;
use whyoom_trace::{
    Action, Address, Bytes, DeviceId, Event, EventSink, Origin, ProcessId, Tables, Time,
    facts::Fact,
};

/// The first line of a log.
pub const HEADER: &str = "Thread,Time,Action,Pointer,Size,Stream";

/// A file that was put together from more logs than this is told apart no further.
const MOST_RUNS: usize = 64;

/// What an import found.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RmmLogSummary {
    /// Allocations that were served.
    pub allocations: u64,
    /// Allocations that failed.
    pub failures: u64,
    /// Frees of memory that the log does not show being allocated.
    pub unmatched: u64,
    /// Lines that are none of such a log.
    pub passed_over: u64,
    /// Whether the last line ends in its middle.
    pub cut_short: bool,
}

impl RmmLogSummary {
    /// What is worth saying of it to whoever reads the figures.
    #[must_use]
    pub fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        if self.unmatched > 0 {
            notes.push(format!(
                "it frees memory that was allocated before it begins ({} times): more was held than it shows",
                self.unmatched
            ));
        }
        if self.passed_over > 0 {
            notes.push(format!(
                "{} lines are not lines of an RMM log and were skipped",
                self.passed_over
            ));
        }
        if self.cut_short {
            notes.push(
                "it ends in the middle of a line, and what came behind is lost: where the program is killed, \
                 log with auto_flush=true"
                    .to_owned(),
            );
        }
        notes
    }
}

/// Whether a file that starts with these bytes is such a log: by its header or, where that was cut off, by its
/// first line.
#[must_use]
pub fn is_rmm_log(first_bytes: &[u8]) -> bool {
    let text = first_bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(first_bytes);
    let (first, ended) = match memchr::memchr(b'\n', text) {
        Some(end) => (&text[..end], true),
        None => (text, false),
    };
    let first = first.strip_suffix(b"\r").unwrap_or(first);
    first == HEADER.as_bytes() || (ended && Line::parse(first).is_some())
}

/// The device whose memory a log is of: RMM's Python functions put its number into the file's name
/// (`rmm.dev0.csv`), and nothing else tells.
#[must_use]
pub fn device_of(name: &str) -> DeviceId {
    let mut parts = name.rsplit('.');
    let number = parts.find_map(|part| part.strip_prefix("dev")?.parse::<u16>().ok());
    number.filter(|&number| number < DeviceId::UNKNOWN.0).map_or(DeviceId::UNKNOWN, DeviceId)
}

/// Imports a log of one device.
///
/// `name` names the process; of a file that holds several logs behind each other, each is a process of its own.
///
/// # Errors
/// When the log cannot be read.
pub fn import<R: Read>(
    reader: R,
    name: &str,
    device: DeviceId,
    tables: &mut Tables,
    sink: &mut dyn EventSink,
) -> std::io::Result<RmmLogSummary> {
    let mut lines = Lines::new(reader);
    let mut import = Import {
        name,
        device,
        tables,
        sink,
        runs: 0,
        process: None,
        clock: Clock::default(),
        live: HashSet::default(),
        summary: RmmLogSummary::default(),
    };
    while let Some(line) = lines.next()? {
        import.line(line.bytes, line.ended);
    }
    Ok(import.summary)
}

struct Import<'a> {
    name: &'a str,
    device: DeviceId,
    tables: &'a mut Tables,
    sink: &'a mut dyn EventSink,
    runs: usize,
    /// The process of this run, once it did something.
    process: Option<ProcessId>,
    clock: Clock,
    /// Where memory was given out and not yet given back.
    live: HashSet<Address, RandomState>,
    summary: RmmLogSummary,
}

impl Import<'_> {
    fn line(&mut self, bytes: &[u8], ended: bool) {
        let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
        let bytes = bytes.strip_suffix(b"\r").unwrap_or(bytes);
        if bytes.is_empty() {
            return;
        }
        if bytes == HEADER.as_bytes() {
            self.begin_run();
            return;
        }
        match Line::parse(bytes) {
            Some(line) => self.act(&line),
            // The program was ended while the logger's buffer was being written.
            None if !ended => self.summary.cut_short = true,
            None => self.summary.passed_over += 1,
        }
    }

    /// A header in mid-file: what comes behind it is another run's, with addresses of its own.
    fn begin_run(&mut self) {
        if self.process.is_some() && self.runs < MOST_RUNS {
            self.process = None;
            self.clock = Clock::default();
            self.live.clear();
        }
    }

    fn process(&mut self) -> ProcessId {
        if let Some(process) = self.process {
            return process;
        }
        self.runs += 1;
        let name = match self.runs {
            1 => self.name.to_owned(),
            run => format!("{}, run {run}", self.name),
        };
        // What is read a second time with the same tables keeps its ids.
        let known = self.tables.process_named(&name);
        let process = known.unwrap_or_else(|| self.tables.process(name));
        self.process = Some(process);
        let fact = Fact::AllocatorLog { allocator: self.tables.string("RMM") };
        self.emit(process, Time(0), &Line::default(), Action::Fact { fact });
        process
    }

    fn act(&mut self, line: &Line) {
        let process = self.process();
        let time = self.clock.at(line.time_of_day);
        let (address, size) = (line.address, Bytes(line.size));
        let action = match line.act {
            // Nothing was asked for, and nothing given.
            Act::Allocate | Act::Free if address == Address(0) => return,
            Act::Allocate => {
                self.summary.allocations += 1;
                self.live.insert(address);
                Action::BlockAlloc { address, requested: size, size }
            }
            Act::Free => {
                if !self.live.remove(&address) {
                    self.summary.unmatched += 1;
                    return;
                }
                Action::BlockFree { address }
            }
            Act::Fail => {
                self.summary.failures += 1;
                Action::OutOfMemory { requested: size }
            }
        };
        self.emit(process, time, line, action);
    }

    fn emit(&mut self, process: ProcessId, time: Time, line: &Line, action: Action) {
        let (device, thread, stream) = (self.device, line.thread, line.stream);
        let origin = Origin { process, thread, device, stream, ..Origin::default() };
        self.sink.event(&Event { time, origin, action, ..Event::default() }, self.tables);
    }
}

#[cfg(test)]
mod tests;
