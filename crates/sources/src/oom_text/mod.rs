//! The importer of out-of-memory messages, found in any text: a traceback that was pasted, or a log
//! of millions of lines that many ranks wrote at once.

mod amount;
mod failure;
mod figures;
mod finder;
mod formats;
mod gpus;
mod known;
mod message;
mod nvidia_smi;
mod places;
mod progress;
mod said;
mod series;
mod settings;
mod shell;
mod surroundings;
mod torch_version;
mod traceback;
mod typed_command;
mod window;

use std::{
    collections::{HashMap, HashSet},
    hash::BuildHasher as _,
    io::Read,
    sync::LazyLock,
};

use aho_corasick::{AhoCorasick, AhoCorasickKind, MatchKind};
use amount::regex;
use foldhash::fast::RandomState;
use formats::{FORMATS, general::GENERAL};
use message::{Message, Weight};
pub use places::{LONGEST_ANCHOR, has_message, places};
use regex::Regex;
use whyoom_redact::mask;
use whyoom_trace::{
    Action, Bytes, Counter, DeviceId, Event, EventSink, Origin, ProcessId, ProcessState, Software,
    StackId, StringId, Symptom, Tables,
    facts::{Fact, STEPS_DONE, Said, TORCH_VERSION, TYPED_COMMAND},
};
use window::{LOOK_AHEAD, TRACEBACK_BEHIND, Window};

const CHUNK: u64 = 1 << 20;
/// A log with more distinct messages, or more distinct lines that look like one, tells nothing new:
/// what comes behind them is counted and passed over.
const MAX_MESSAGES: usize = 4096;
const MAX_LOOKS: usize = 50_000;
/// So many messages are completed by what stands around them.
const MOST_COMPLETED: usize = 512;
/// So many messages that say little are kept until the text ends.
const MAX_WAITING: usize = 256;
/// What people say is not looked for in a longer text: that is a log.
const LONGEST_THREAD: usize = 64 << 10;
/// How much of a message is kept as its text.
const KEPT_TEXT: usize = 700;
/// How much of the line before it: an exception's class, the name of a device's kind.
const KEPT_PREFIX: usize = 60;

/// What a scan found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TextSummary {
    /// Distinct messages understood, each counted once for every rank.
    pub messages: usize,
    /// The formats of the messages, in order of first sight.
    pub formats: Vec<&'static str>,
    /// Places that looked like a message and were passed over, because there were too many.
    pub passed_over: u64,
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
        seen: HashMap::new(),
        looked_at: HashSet::default(),
        hasher: RandomState::default(),
        exact_lines: HashSet::default(),
        exact_symptoms: Vec::new(),
        waiting: Vec::new(),
        decided: false,
        summary: TextSummary::default(),
    };
    let mut utf16 = None;
    let mut buffer = Vec::with_capacity(CHUNK as usize + LOOK_AHEAD + TRACEBACK_BEHIND);
    let mut searched = 0;
    loop {
        let read = reader.by_ref().take(CHUNK).read_to_end(&mut buffer)?;
        let at_end = (read as u64) < CHUNK;
        // Windows' shell writes two bytes a character; of ASCII the second is zero.
        if *utf16.get_or_insert_with(|| {
            buffer.starts_with(b"\xff\xfe") || buffer.starts_with(b"\xfe\xff")
        }) {
            buffer.retain(|byte| *byte != 0);
        }
        let search_to = if at_end { buffer.len() } else { buffer.len().saturating_sub(LOOK_AHEAD) };
        scanner.search(&buffer, searched, search_to);
        if at_end {
            scanner.report_waiting();
            // What was read at once is the whole text.
            if searched == 0 {
                scanner.listen(&buffer);
            }
            return Ok(scanner.summary);
        }
        let keep_from = search_to.saturating_sub(TRACEBACK_BEHIND);
        buffer.drain(..keep_from);
        searched = search_to - keep_from;
    }
}

/// Every anchor: of the formats, the settings, the known lines, and the general ones.
#[expect(clippy::expect_used, reason = "the anchors are constants, and every test builds this")]
static ANCHORS: LazyLock<AhoCorasick> = LazyLock::new(|| {
    let exact = FORMATS.iter().flat_map(|format| format.anchors).chain(settings::ANCHORS).copied();
    let known = known::ROWS.iter().map(|row| row.anchor);
    // A format reads its own spelling alone; the general layer reads any.
    AhoCorasick::builder()
        .match_kind(MatchKind::LeftmostLongest)
        .ascii_case_insensitive(true)
        // A log is searched byte by byte: the fastest automaton is worth its megabyte.
        .kind(Some(AhoCorasickKind::DFA))
        .build(exact.chain(known).chain(failure::ANCHORS.iter().copied()))
        .expect("the anchors of this crate")
});

static RANK: LazyLock<Regex> =
    LazyLock::new(|| regex(r"\[(?:rank|default)(\d+)\]|\b[Rr]ank[=: ](\d+)|^(\d{1,5}): "));

struct Scanner<'a> {
    source: &'a str,
    tables: &'a mut Tables,
    sink: &'a mut dyn EventSink,
    processes: HashMap<Option<u32>, ProcessId>,
    /// Each message with the ranks that printed it.
    seen: HashMap<Message, Vec<Option<u32>>>,
    /// Hashes of the lines that were looked at.
    looked_at: HashSet<u64, RandomState>,
    hasher: RandomState,
    /// Hashes of the lines that an exact format has read.
    exact_lines: HashSet<u64, RandomState>,
    /// What exact messages have told.
    exact_symptoms: Vec<Symptom>,
    /// Messages that say little.
    waiting: Vec<Candidate>,
    /// Whether an exact message has told how memory ran out.
    decided: bool,
    summary: TextSummary,
}

/// A message with what stood around it.
struct Candidate {
    message: Message,
    rank: Option<u32>,
    stack: StackId,
    text: StringId,
    listed: Listed,
    /// The hash of its line.
    line: u64,
    /// Whose words stand around it.
    around: Software,
}

impl Scanner<'_> {
    fn search(&mut self, bytes: &[u8], from: usize, to: usize) {
        for found in ANCHORS.find_iter(&bytes[from..]) {
            let at = from + found.start();
            if at >= to {
                return;
            }
            self.look(&Window::around(bytes, at));
        }
    }

    fn look(&mut self, window: &Window<'_>) {
        if self.looked_at.len() >= MAX_LOOKS || self.summary.messages >= MAX_MESSAGES {
            self.summary.passed_over += 1;
            return;
        }
        // A program that retries prints the same line a million times.
        if !self.looked_at.insert(self.hasher.hash_one(window.identity())) {
            return;
        }
        if let Some((name, value)) = settings::setting(window) {
            let process = self.process(rank_of(window));
            let (name, value) = (self.tables.string(&name), self.tables.string(&mask(&value)));
            self.emit(
                process,
                Event { action: Action::Setting { name, value }, ..Event::default() },
            );
            return;
        }
        if window.is_source_line() {
            return;
        }
        let starts_here = |format: &&formats::Format| {
            format.anchors.iter().any(|anchor| window.line().starts_with(anchor))
        };
        let understood =
            FORMATS.iter().filter(starts_here).find_map(|format| (format.parse)(window));
        let line = self.hasher.hash_one(window.whole_line());
        let exact = understood.map(|message| message.weighed(window));
        if exact.is_some() {
            self.exact_lines.insert(line);
        }
        let understood = exact.or_else(|| formats::general::parse(window));
        if let Some(message) = understood {
            // Of very many messages, what stands around the first tells it.
            let few = self.seen.len() < MOST_COMPLETED;
            let message = if few { surroundings::complete(message, window) } else { message };
            self.message(message, line, window);
        }
    }

    /// Reports a message; one that says little waits until it is known whether another says more.
    fn message(&mut self, message: Message, line: u64, window: &Window<'_>) {
        // The same failure is often printed two or three times: as it happens, as it is handled. A
        // line that names no rank may be the wrapped rest of one that does.
        let rank = rank_of(window);
        match self.seen.get_mut(&message) {
            Some(ranks) if rank.is_none() || ranks.contains(&rank) => return,
            Some(ranks) => ranks.push(rank),
            None => {
                self.seen.insert(message.clone(), vec![rank]);
            }
        }
        if message.weight != Weight::Exact && self.waiting.len() >= MAX_WAITING {
            return;
        }
        let stack = traceback::stack(window, self.tables);
        let text = self.tables.string(&kept_text(window));
        let listed = listed_beside(&message, window);
        let around = match message.software.is_generic() {
            true => known::software("", &[window.before(), window.near()].concat()),
            false => message.software,
        };
        let read = Candidate { message, rank, stack, text, listed, line, around };
        if read.message.weight == Weight::Exact {
            self.report(read);
        } else {
            self.waiting.push(read);
        }
    }

    /// Of what says little, reports for each rank the first of those that say most; nothing where an exact
    /// message tells how memory ran out.
    fn report_waiting(&mut self) {
        let mut waiting = std::mem::take(&mut self.waiting);
        // An exact format has read the same line.
        let exact = |read: &Candidate| self.exact_lines.contains(&read.line);
        waiting.retain(|read| read.message.format != GENERAL || !exact(read));
        // Of equals, one whose format is known.
        let worth = |read: &Candidate| (read.message.weight, read.message.format != GENERAL);
        let mut best: HashMap<Option<u32>, (Weight, bool)> = HashMap::new();
        for read in &waiting {
            let best = best.entry(read.rank).or_insert(worth(read));
            *best = worth(read).max(*best);
        }
        // What a person says of it adds nothing to what any program said, by whatever rank.
        let said = self.summary.messages > 0 || best.values().any(|best| best.0 > Weight::Mention);
        let decided = self.decided;
        for read in waiting {
            let weight = read.message.weight;
            let is_best =
                best.get(&read.rank) == Some(&worth(&read)) && (weight > Weight::Mention || !said);
            let is_new = !self.exact_symptoms.contains(&read.message.symptom);
            if (weight == Weight::Known && is_new) || (is_best && !decided) {
                best.remove(&read.rank);
                self.report(read);
            }
        }
    }

    fn report(&mut self, read: Candidate) {
        let Candidate { message, rank, stack, text, listed, around, .. } = read;
        self.decided |= message.is_decided();
        if message.weight == Weight::Exact {
            self.exact_symptoms.push(message.symptom);
        }
        self.summary.messages += 1;
        if !self.summary.formats.contains(&message.format) {
            self.summary.formats.push(message.format);
        }
        let process = self.process(rank);
        let origin = Origin { device: device_of(&message), ..Origin::default() };
        let (symptom, software) = (message.symptom, message.software);
        let known_around = around != Software::Program && software.is_generic();
        let told = [
            listed.nobody.then_some(Fact::ListedNobody),
            known_around.then_some(Fact::LogSource { software: around }),
            message.recovered.then_some(Fact::Recovered),
        ];
        self.tell(process, told.into_iter().flatten());
        let samples = message.counters.into_iter();
        let samples = samples.map(|(counter, bytes)| Action::Sample { counter, bytes });
        let holders = message.holders.into_iter().chain(listed.holders).map(|(pid, bytes)| {
            let (command, standing) = (StringId::default(), ProcessState::default());
            Action::Holder { pid, bytes, command, standing }
        });
        let symptom = Action::Symptom { symptom, software, text };
        for action in samples.chain(holders).chain([symptom]) {
            self.emit(process, Event { origin, stack, action, ..Event::default() });
        }
    }

    /// Emits facts of a process.
    fn tell(&mut self, process: ProcessId, facts: impl Iterator<Item = Fact>) {
        for fact in facts {
            self.emit(process, Event { action: Action::Fact { fact }, ..Event::default() });
        }
    }

    /// Tells what people say in a whole text. Where no failure is in it, that is all it tells.
    fn listen(&mut self, text: &[u8]) {
        if text.len() > LONGEST_THREAD {
            return;
        }
        let text = String::from_utf8_lossy(text);
        let failed = self.summary.messages > 0;
        // What is large is no fault where nothing failed.
        let counts = |said: &Said| failed || *said != Said::TooLarge;
        let said = said::said(&text).filter(|(said, _)| counts(said));
        if let Some((_, words)) = said.as_ref().filter(|_| !failed) {
            let process = self.process(None);
            let (symptom, software) = (Symptom::Described, known::software("", &text));
            let text = self.tables.string(&mask(words));
            let action = Action::Symptom { symptom, software, text };
            let origin = Origin { device: DeviceId::UNKNOWN, ..Origin::default() };
            self.emit(process, Event { origin, action, ..Event::default() });
        }
        let idle = said::idle(&text);
        let idle = idle.map(|words| Fact::Idle { words: self.tables.string(&mask(&words)) });
        let said = said.map(|(said, words)| {
            let words = self.tables.string(&mask(&words));
            Fact::Said { said, words }
        });
        let mut settings = Vec::new();
        if let Some(shell) = shell::shell(&text) {
            settings.push(self.setting(shell::SETTING, shell));
        }
        if let Some(version) = torch_version::torch_version(&text) {
            settings.push(self.setting(TORCH_VERSION, version));
        }
        if let Some(steps) = progress::steps_done(&text) {
            settings.push(self.setting(STEPS_DONE, &steps.to_string()));
        }
        if let Some(command) = typed_command::typed_command(&text) {
            settings.push(self.setting(TYPED_COMMAND, &mask(&command)));
        }
        let processes: Vec<ProcessId> = self.processes.values().copied().collect();
        for process in processes {
            self.tell(process, said.into_iter().chain(idle));
            for action in &settings {
                self.emit(process, Event { action: *action, ..Event::default() });
            }
        }
    }

    fn setting(&mut self, name: &str, value: &str) -> Action {
        Action::Setting { name: self.tables.string(name), value: self.tables.string(value) }
    }

    fn emit(&mut self, process: ProcessId, event: Event) {
        let origin = Origin { process, ..event.origin };
        self.sink.event(&Event { origin, ..event }, self.tables);
    }

    /// The process of a rank, or the text's only one.
    fn process(&mut self, rank: Option<u32>) -> ProcessId {
        let (tables, source) = (&mut *self.tables, self.source);
        *self.processes.entry(rank).or_insert_with(|| match rank {
            Some(rank) => tables.process(format!("{source}, rank {rank}")),
            None => tables.process(source),
        })
    }
}

/// What a table of nvidia-smi that was pasted with a message tells of who held memory.
#[derive(Default)]
struct Listed {
    holders: Vec<(u32, Bytes)>,
    nobody: bool,
}

/// Who held memory by the table that was pasted with a message that names nobody. One that tells of less than
/// half of what the message leaves open was made at another time.
fn listed_beside(message: &Message, window: &Window<'_>) -> Listed {
    let counter = |wanted| {
        message.counters.iter().find(|(counter, _)| *counter == wanted).map(|(_, bytes)| *bytes)
    };
    let of_device = message.symptom == Symptom::DeviceOutOfMemory && message.holders.is_empty();
    let Some(total) = counter(Counter::DeviceTotal).filter(|_| of_device) else {
        return Listed::default();
    };
    let own = [Counter::ProcessUsed, Counter::Reserved, Counter::Allocated];
    let own = own.into_iter().find_map(counter).unwrap_or_default();
    let free = counter(Counter::DeviceFree).unwrap_or_default();
    let half = Bytes(total.minus(free).minus(own).0 / 2);
    let device = message.device.map(|device| device.0);
    let after = window.after();
    let texts = [after.as_str(), window.before()];
    let holders = texts.map(|text| nvidia_smi::processes(text, device));
    let holders = holders.into_iter().find(|found| !found.is_empty()).unwrap_or_default();
    let told: Bytes = holders.iter().map(|(_, bytes)| *bytes).sum();
    let nobody = texts.iter().any(|text| nvidia_smi::lists_nobody(text, half));
    Listed { holders: if told >= half { holders } else { Vec::new() }, nobody }
}

/// The rank that the line's prefix names.
fn rank_of(window: &Window<'_>) -> Option<u32> {
    let found = RANK.captures(window.prefix())?;
    found.iter().skip(1).flatten().next()?.as_str().parse().ok()
}

/// Where the message says that memory ran out.
fn device_of(message: &Message) -> DeviceId {
    match message.symptom {
        Symptom::HostKilled
        | Symptom::HostOutOfMemory
        | Symptom::Killed
        | Symptom::PinnedOutOfMemory => DeviceId::HOST,
        _ => message.device.unwrap_or(DeviceId::UNKNOWN),
    }
}

/// The message's own line with the words before it, for people to recognise it by.
fn kept_text(window: &Window<'_>) -> String {
    let prefix = window.prefix();
    let before = prefix.char_indices().rev().nth(KEPT_PREFIX).map_or(prefix, |(cut, _)| {
        // From a whole word on.
        let tail = &prefix[cut..];
        tail.find(' ').map_or(tail, |blank| &tail[blank..])
    });
    let line = format!("{before}{}", window.line());
    // It is quoted in verdicts, which people send to others.
    let line = mask(&line);
    let mut text: String = line.trim().chars().take(KEPT_TEXT).collect();
    if text.len() < line.trim().len() {
        text.push('…');
    }
    text
}
