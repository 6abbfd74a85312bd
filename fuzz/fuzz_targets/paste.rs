//! Any bytes as the texts of a recording: command, GPU model, settings, names of processes, files and functions. Each
//! command line to paste is split as a shell splits it, into exactly the words that it was made of; one of a recording
//! from elsewhere has no word of it.
#![no_main]

use libfuzzer_sys::fuzz_target;
use whyoom_causes::{Ahead, InputOrigin, Measured, Verdict, for_shell, judge_on};
use whyoom_memory::Model;
use whyoom_trace::{
    Action, Address, Bytes, Counter, DeviceId, Event, EventSink, Origin, ProcessId, ProcessState,
    SegmentGrowth, SizeClass, StackId, StringId, Tables, facts::Fact,
};

const GIB: u64 = 1 << 30;
/// Options that are read as a size.
const SIZES: [&str; 6] = ["--batch", "-b", "--seq-len", "--image-size", "model.batch_size", "--n"];
/// The allocator's variables, the shell, and what servers set.
const SETTINGS: [&str; 8] = [
    "PYTORCH_CUDA_ALLOC_CONF",
    "PYTORCH_ALLOC_CONF",
    "backend",
    "shell",
    "gpu_memory_utilization",
    "WHYOOM_POOL_CAP",
    "whyoom_pool",
    "XLA_PYTHON_CLIENT_MEM_FRACTION",
];
const STANDINGS: [ProcessState; 4] =
    [ProcessState::Runs, ProcessState::Orphan, ProcessState::Hangs, ProcessState::ZombieLeader];

/// The steps of a plan, byte by byte; zeros where it has ended.
struct Plan<'a>(&'a [u8]);

impl Plan<'_> {
    fn byte(&mut self) -> u8 {
        let (first, rest) = self.0.split_first().unwrap_or((&0, &[]));
        self.0 = rest;
        *first
    }

    fn text(&mut self) -> String {
        let length = usize::from(self.byte() % 32).min(self.0.len());
        let (first, rest) = self.0.split_at(length);
        self.0 = rest;
        String::from_utf8_lossy(first).into_owned()
    }
}

struct Run {
    tables: Tables,
    model: Model,
    process: ProcessId,
    stack: StackId,
    command: String,
}

impl Run {
    fn push(&mut self, action: Action) {
        let device = DeviceId(0);
        let origin = Origin { process: self.process, device, ..Origin::default() };
        let event = Event { origin, stack: self.stack, action, ..Event::default() };
        self.model.event(&event, &self.tables);
    }

    fn string(&mut self, plan: &mut Plan<'_>) -> StringId {
        self.tables.string(&plan.text())
    }
}

/// Makes the run that a plan asks for.
fn make(plan: &mut Plan<'_>) -> Run {
    let mut tables = Tables::default();
    let process = tables.process(plan.text());
    let script = format!("{}.py", plan.text());
    let frames = [
        tables.frame_text("at::native::empty_cuda", "libtorch_cuda.so", 0),
        tables.frame_text(&plan.text(), &script, 12),
    ];
    let stack = tables.stack(&frames);
    let mut run = Run { tables, model: Model::default(), process, stack, command: String::new() };
    run.push(Action::Reserve { address: Address(1), size: Bytes(1) });
    for _ in 0..plan.byte() % 4 {
        let name = run.tables.string(SETTINGS[usize::from(plan.byte()) % SETTINGS.len()]);
        let value = run.string(plan);
        run.push(Action::Setting { name, value });
    }
    let mut words = vec![plan.text()];
    for _ in 0..plan.byte() % 4 {
        words.push(plan.text());
    }
    if plan.byte().is_multiple_of(2) {
        words.push(SIZES[usize::from(plan.byte()) % SIZES.len()].to_owned());
        words.push("64".to_owned());
        words.push(plan.text());
    }
    run.command = words.join("\0");
    let words = run.tables.string(&run.command);
    run.push(Action::Fact { fact: Fact::Command { words } });
    let model = run.string(plan);
    run.push(Action::Fact { fact: Fact::Gpu { model, total: Bytes(8 * GIB) } });
    for _ in 0..plan.byte() % 3 {
        let pid = u32::from(plan.byte()) % 8;
        let standing = STANDINGS[usize::from(plan.byte()) % STANDINGS.len()];
        let command = run.string(plan);
        run.push(Action::Holder { pid, bytes: Bytes(2 * GIB), command, standing });
    }
    let (address, size) = (Address(GIB), Bytes(7 * GIB));
    let (class, growth) = (SizeClass::Large, SegmentGrowth::Fixed);
    run.push(Action::SegmentAlloc { address, size, class, growth });
    if plan.byte().is_multiple_of(2) {
        run.push(Action::BlockAlloc { address, requested: size, size });
    }
    for (counter, bytes) in [(Counter::DeviceTotal, 8 * GIB), (Counter::DeviceFree, GIB / 2)] {
        run.push(Action::Sample { counter, bytes: Bytes(bytes) });
    }
    run.push(Action::OutOfMemory { requested: Bytes(u64::from(plan.byte()) << 24) });
    run
}

/// Splits a line as POSIX shells do. `None` where a shell would do more than that: expand, substitute, or end it.
fn split(line: &str) -> Option<Vec<String>> {
    let (mut words, mut rest) = (Vec::new(), line);
    while !rest.is_empty() {
        let (word, after) = word(rest)?;
        words.push(word);
        rest = match after.strip_prefix(' ') {
            Some(next) if !next.is_empty() => next,
            None if after.is_empty() => "",
            _ => return None,
        };
    }
    Some(words)
}

/// The first word of a line, and what follows it.
fn word(line: &str) -> Option<(String, &str)> {
    // Zsh expands a word that begins with it.
    if line.starts_with(['=', ' ']) {
        return None;
    }
    let (mut word, mut rest) = (String::new(), line);
    while let Some(first) = rest.chars().next().filter(|first| *first != ' ') {
        let taken = match first {
            '\'' => {
                let end = rest[1..].find('\'')?;
                word.push_str(&rest[1..=end]);
                end + 2
            }
            '\\' => {
                let next = rest[1..].chars().next().filter(|next| *next == '\'')?;
                word.push(next);
                2
            }
            // Bash expands braces with a comma or two dots within.
            '{' => {
                let end = rest.find('}')?;
                let name = &rest[1..end];
                if !name.chars().all(|c| c.is_ascii_lowercase() || c == '_') {
                    return None;
                }
                word.push_str(&rest[..=end]);
                end + 1
            }
            first if first.is_ascii_alphanumeric() || "/._-+,:@%=".contains(first) => {
                word.push(first);
                1
            }
            _ => return None,
        };
        rest = &rest[taken..];
    }
    Some((word, rest))
}

fn lines(verdict: &Verdict) {
    for finding in std::iter::once(&verdict.primary).chain(&verdict.contributing) {
        for remedy in &finding.remedies {
            let (Some(line), Some(text)) = (&remedy.shell_line, &remedy.paste) else { continue };
            assert_eq!(split(text).as_deref(), Some(line.words()), "{text}");
        }
    }
}

fuzz_target!(|bytes: &[u8]| {
    let plan = &mut Plan(bytes);
    let run = make(plan);
    let (measured, ahead) = (Measured::default(), Ahead::default());
    let own = InputOrigin { running: (0..8).collect(), ..InputOrigin::own(&[&run.command]) };
    lines(&judge_on(&run.model, &run.tables, measured, &own, &ahead));
    let verdict = judge_on(&run.model, &run.tables, measured, &InputOrigin::default(), &ahead);
    lines(&verdict);
    for finding in std::iter::once(&verdict.primary).chain(&verdict.contributing) {
        let pasted = finding.remedies.iter().filter_map(|remedy| remedy.paste.as_deref());
        for line in pasted {
            assert!(!line.starts_with("kill"), "{line}");
            assert!(!line.contains(" -- "), "{line}");
        }
    }
    let text = String::from_utf8_lossy(bytes);
    assert_eq!(split(&for_shell(&text)), Some(vec![text.into_owned()]));
});
