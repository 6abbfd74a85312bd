//! The importer of out-of-memory messages, found in any text: a traceback that was pasted, or a log
//! of millions of lines that many ranks wrote at once.

mod amount;
mod formats;
mod message;
mod settings;
mod window;

use std::{
    collections::{HashMap, HashSet},
    io::{ErrorKind, Read},
    sync::LazyLock,
};

use aho_corasick::AhoCorasick;
use amount::regex;
use formats::FORMATS;
use message::Message;
use regex::Regex;
use whyoom_trace::{Action, DeviceId, Event, EventSink, Origin, ProcessId, Symptom, Tables};
use window::{LOOK_AHEAD, LOOK_BEHIND, Window};

const CHUNK: usize = 1 << 20;
/// Distinct messages beyond this are counted, not emitted.
const MAX_MESSAGES: usize = 4096;
/// How much of a message is kept as its text.
const KEPT_TEXT: usize = 400;
/// How much of the line before it: an exception's class, the name of a device's kind.
const KEPT_PREFIX: usize = 60;

/// What a scan found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TextSummary {
    /// Bytes read.
    pub bytes: u64,
    /// Lines read.
    pub lines: u64,
    /// Messages understood, repetitions included.
    pub messages: u64,
    /// The formats of the messages, in order of first sight.
    pub formats: Vec<&'static str>,
}

/// Finds every message in a text.
///
/// `source` names the text; each rank that it tells apart becomes a process of its own.
///
/// # Errors
/// When the text cannot be read.
pub fn scan<R: Read>(
    mut reader: R,
    source: &str,
    tables: &mut Tables,
    sink: &mut dyn EventSink,
) -> std::io::Result<TextSummary> {
    let mut scanner = Scanner {
        source,
        tables,
        sink,
        processes: HashMap::new(),
        seen: HashSet::new(),
        summary: TextSummary::default(),
    };
    let mut buffer = Vec::with_capacity(CHUNK + LOOK_AHEAD + LOOK_BEHIND);
    let mut searched = 0;
    loop {
        let at_end = !fill(&mut reader, &mut buffer)?;
        let search_to = if at_end { buffer.len() } else { buffer.len().saturating_sub(LOOK_AHEAD) };
        scanner.search(&buffer, searched, search_to);
        if at_end {
            return Ok(scanner.summary);
        }
        let keep_from = search_to.saturating_sub(LOOK_BEHIND);
        buffer.drain(..keep_from);
        searched = search_to - keep_from;
    }
}

/// Adds a chunk to the buffer; false at the end of the text.
fn fill(reader: &mut impl Read, buffer: &mut Vec<u8>) -> std::io::Result<bool> {
    let mut filled = buffer.len();
    let target = filled + CHUNK;
    buffer.resize(target, 0);
    while filled < target {
        match reader.read(&mut buffer[filled..]) {
            Ok(0) => break,
            Ok(read) => filled += read,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    buffer.truncate(filled);
    Ok(filled == target)
}

/// Every anchor of every format, and the settings' behind them.
#[expect(clippy::expect_used, reason = "the anchors are constants, and every test builds this")]
static ANCHORS: LazyLock<AhoCorasick> = LazyLock::new(|| {
    let words = FORMATS.iter().flat_map(|format| format.anchors).chain(settings::ANCHORS);
    AhoCorasick::new(words).expect("the anchors of this crate")
});

static RANK: LazyLock<Regex> =
    LazyLock::new(|| regex(r"\[(?:rank|default)(\d+)\]|\b[Rr]ank[=: ](\d+)|^(\d{1,5}): "));

struct Scanner<'a> {
    source: &'a str,
    tables: &'a mut Tables,
    sink: &'a mut dyn EventSink,
    processes: HashMap<Option<u32>, ProcessId>,
    seen: HashSet<(ProcessId, Message)>,
    summary: TextSummary,
}

impl Scanner<'_> {
    fn search(&mut self, bytes: &[u8], from: usize, to: usize) {
        let mut counted = from;
        for found in ANCHORS.find_iter(&bytes[from..]) {
            let at = from + found.start();
            if at >= to {
                break;
            }
            self.count_lines(&bytes[counted..at]);
            counted = at;
            self.look(&Window::around(bytes, at));
        }
        self.count_lines(&bytes[counted..to]);
        self.summary.bytes += (to - from) as u64;
    }

    fn count_lines(&mut self, bytes: &[u8]) {
        self.summary.lines += memchr::memchr_iter(b'\n', bytes).count() as u64;
    }

    fn look(&mut self, window: &Window) {
        if let Some((name, value)) = settings::setting(window) {
            let process = self.process(window);
            let (name, value) = (self.tables.string(&name), self.tables.string(&value));
            self.emit(process, None, Action::Setting { name, value });
            return;
        }
        let starts_here = |format: &&formats::Format| {
            format.anchors.iter().any(|anchor| window.text.starts_with(anchor))
        };
        let understood =
            FORMATS.iter().filter(starts_here).find_map(|format| (format.parse)(window));
        if let Some(message) = understood.filter(|_| !window.is_source_line()) {
            self.message(message, window);
        }
    }

    fn message(&mut self, message: Message, window: &Window) {
        self.summary.messages += 1;
        if !self.summary.formats.contains(&message.format) {
            self.summary.formats.push(message.format);
        }
        let of_host = matches!(
            message.symptom,
            Symptom::HostKilled
                | Symptom::HostOutOfMemory
                | Symptom::Killed
                | Symptom::PinnedOutOfMemory
        );
        let device = if of_host { Some(DeviceId::HOST) } else { message.device };
        // The same failure is often printed two or three times: as it happens, as it is handled.
        let process = self.process(window);
        let repeated = self.seen.contains(&(process, message.clone()));
        if repeated || self.seen.len() >= MAX_MESSAGES {
            return;
        }
        for &(counter, bytes) in &message.counters {
            self.emit(process, device, Action::Sample { counter, bytes });
        }
        for &(pid, bytes) in &message.holders {
            self.emit(process, device, Action::Holder { pid, bytes });
        }
        let text = self.tables.string(&kept_text(window));
        let (symptom, software) = (message.symptom, message.software);
        self.emit(process, device, Action::Symptom { symptom, software, text });
        self.seen.insert((process, message));
    }

    fn emit(&mut self, process: ProcessId, device: Option<DeviceId>, action: Action) {
        let origin = Origin { process, device: device.unwrap_or_default(), ..Origin::default() };
        self.sink.event(&Event { origin, action, ..Event::default() }, self.tables);
    }

    /// The process that wrote the line: the rank that its prefix names, or the text's only one.
    fn process(&mut self, window: &Window) -> ProcessId {
        let groups = RANK.captures(&window.prefix);
        let rank = groups.and_then(|found| {
            found.iter().skip(1).flatten().next().and_then(|digits| digits.as_str().parse().ok())
        });
        let (tables, source) = (&mut *self.tables, self.source);
        *self.processes.entry(rank).or_insert_with(|| match rank {
            Some(rank) => tables.process(format!("{source}, rank {rank}")),
            None => tables.process(source),
        })
    }
}

/// The message's own line with the words before it, for people to recognise it by.
fn kept_text(window: &Window) -> String {
    let words_before = window.prefix.chars().rev().take(KEPT_PREFIX).collect::<Vec<_>>();
    let before: String = words_before.into_iter().rev().collect();
    let line = format!("{before}{}", window.line);
    let mut text: String = line.trim().chars().take(KEPT_TEXT).collect();
    if text.len() < line.trim().len() {
        text.push('…');
    }
    text
}
