//! `cargo xtask metamorphic`: changes to a text that must not matter give the same verdict, and the parts of each
//! failure's memory add up.

use std::{collections::BTreeMap, sync::LazyLock};

use anyhow::{Context, Result, ensure};
use harness::{
    Held,
    score::{Input, all_cases},
};
use regex::{Match, Regex};
use whyoom_causes::{Component, MemoryBreakdown, Part, judge};
use whyoom_memory::Model;
use whyoom_sources::oom_text;
use whyoom_trace::Tables;

/// A change that must not matter.
struct Change {
    name: &'static str,
    /// The same text otherwise, in as many ways as there are; none where the change says nothing of it.
    apply: fn(&str) -> Vec<Vec<u8>>,
}

const UNRELATED: &str =
    "INFO 2026-11-02 09:14:33 loader.py:88 loaded 128 shards in 4.2 s, 12 workers\n";
const TABLE: &str = "\
+---------+------------+\n| epoch   | accuracy   |\n+---------+------------+\n| 1       | 0.7123     |\n";

const MENTION: &str = "a second mention in prose";
/// At most it leaves two causes open.
const BY_A_HUNDREDTH: &str = "a figure by 1 %";
/// Of a long list, the first figures are moved.
const MOVED: usize = 12;

/// Before each line, as launchers, containers and journals write it.
fn prefixed(text: &str, prefix: &str) -> Vec<Vec<u8>> {
    once(text.lines().map(|line| format!("{prefix}{line}\n")).collect::<String>())
}

/// A change that can be made in one way.
fn once(text: impl Into<Vec<u8>>) -> Vec<Vec<u8>> {
    vec![text.into()]
}

const CHANGES: &[Change] = &[
    Change { name: "unrelated line before", apply: |text| once(format!("{UNRELATED}{text}")) },
    Change { name: "unrelated line behind", apply: |text| once(format!("{text}\n{UNRELATED}")) },
    Change { name: "unrelated table before", apply: |text| once(format!("{TABLE}\n{text}")) },
    Change { name: "unrelated table behind", apply: |text| once(format!("{text}\n{TABLE}")) },
    Change { name: "Windows line ends", apply: |text| once(text.replace('\n', "\r\n")) },
    Change { name: "UTF-16", apply: utf16 },
    Change { name: "colours", apply: colours },
    Change { name: "timestamps", apply: |text| prefixed(text, "2026-11-02T09:14:33.123456Z ") },
    Change { name: "a container's name", apply: |text| prefixed(text, "trainer-1  | ") },
    Change { name: "journal", apply: |text| prefixed(text, "Nov 02 09:14:33 node7 job[4711]: ") },
    Change { name: "indented", apply: |text| prefixed(text, "    ") },
    Change { name: "quoted", apply: |text| prefixed(text, "> ") },
    Change {
        // Where nothing failed, it would be the first.
        name: MENTION,
        apply: |text| once(format!("{text}\nHow do I get rid of this out of memory error?\n")),
    },
    Change { name: "a code fence", apply: |text| once(format!("```\n{text}\n```\n")) },
    Change { name: "blank lines", apply: |text| once(text.replace('\n', "\n\n")) },
    Change { name: BY_A_HUNDREDTH, apply: by_a_hundredth },
];

/// Little-endian, with the mark that Windows' shell writes. Only of ASCII: that is what it keeps whole.
fn utf16(text: &str) -> Vec<Vec<u8>> {
    let units = text.encode_utf16().flat_map(u16::to_le_bytes);
    text.is_ascii().then(|| [0xff, 0xfe].into_iter().chain(units).collect()).into_iter().collect()
}

/// Each line in red, as loggers print errors on a terminal.
fn colours(text: &str) -> Vec<Vec<u8>> {
    let line = |line: &str| format!("\u{1b}[31m{line}\u{1b}[0m\n");
    once(text.lines().map(line).collect::<String>())
}

#[expect(clippy::expect_used, reason = "a constant that every run compiles")]
static AMOUNT: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"\b(\d+(?:\.\d+)?)(?: ?(?:[KMGT]i?B)\b| bytes\b)").expect("an amount with its unit")
});

/// One amount a little larger, or a little smaller, with as many digits.
fn by_a_hundredth(text: &str) -> Vec<Vec<u8>> {
    // The end of 50,000,000,000 is no number.
    let begins = |number: &Match<'_>| !text[..number.start()].ends_with([',', '.']);
    let numbers = AMOUNT.captures_iter(text).filter_map(|amount| amount.get(1));
    let numbers = numbers.filter(begins).take(MOVED);
    let moved = numbers.flat_map(|number| {
        let digits = number.as_str().split_once('.').map_or(0, |(_, digits)| digits.len());
        let value: f64 = number.as_str().parse().unwrap_or(0.0);
        [0.99, 1.01].map(|factor| {
            let (before, behind) = (&text[..number.start()], &text[number.end()..]);
            format!("{before}{:.digits$}{behind}", value * factor)
        })
    });
    // A figure of few digits does not move.
    moved.filter(|moved| moved != text).map(String::into_bytes).collect()
}

/// How a text is judged.
struct Judged {
    cause: &'static str,
    /// The cause, and what its figures leave open beside it.
    open: Vec<&'static str>,
    /// Whether a failure was found in it.
    failed: bool,
    /// Where the device's capacity is told: whether its parts add up to it.
    adds_up: Option<bool>,
}

impl Judged {
    fn of(texts: &[Vec<u8>]) -> Result<Self> {
        let (mut tables, mut model) = (Tables::default(), Model::default());
        let mut failed = false;
        for (index, text) in texts.iter().enumerate() {
            let name = format!("text {index}");
            failed |= oom_text::scan(text.as_slice(), &name, &mut tables, &mut model)?.messages > 0;
        }
        let verdict = judge(&model, &tables);
        let cause = verdict.primary.cause;
        let open = verdict.alternatives.iter().map(|cause| cause.id).chain([cause]).collect();
        let adds_up = verdict.breakdown.as_ref().map(is_whole);
        Ok(Self { cause, open, failed, adds_up })
    }

    /// Whether another form of the text may be judged so.
    fn allows(&self, other: &Self, change: &Change) -> bool {
        let one_is_open = || self.open.contains(&other.cause) || other.open.contains(&self.cause);
        self.cause == other.cause || (change.name == BY_A_HUNDREDTH && one_is_open())
    }
}

/// Whether the parts are the device. More than that is told only where the driver lends host memory: then what is live
/// alone is more.
fn is_whole(parts: &MemoryBreakdown) -> bool {
    let lent =
        |part: &Part| part.component == Component::Live && part.amount.low > parts.capacity.high;
    let rounding = parts.capacity.high.0 / 100;
    parts.adds_up() && (parts.excess.0 <= rounding || parts.parts.iter().any(lent))
}

/// How often a change was made, and where it turned a verdict.
#[derive(Default)]
struct Tally {
    made: u64,
    flipped: Vec<String>,
}

pub(crate) fn run() -> Result<Held> {
    let mut tallies = BTreeMap::<&str, Tally>::new();
    let (mut texts, mut whole, mut torn) = (0, 0, Vec::new());
    for case in all_cases()? {
        let Input::Files(files) = case.input()? else { continue };
        if files.iter().any(|file| file.extension().is_some_and(|kind| kind == "pickle")) {
            continue;
        }
        let read = |file| std::fs::read(file).with_context(|| case.name.clone());
        let plain = files.iter().map(read).collect::<Result<Vec<_>>>()?;
        let expected = Judged::of(&plain)?;
        texts += 1;
        let told = expected.adds_up.iter();
        told.for_each(|adds_up| if *adds_up { whole += 1 } else { torn.push(case.name.clone()) });
        for change in CHANGES.iter().filter(|change| expected.failed || change.name != MENTION) {
            for changed in changed(&plain, change) {
                let tally = tallies.entry(change.name).or_default();
                tally.made += 1;
                let found = Judged::of(&changed)?;
                if !expected.allows(&found, change) {
                    let (one, other) = (expected.cause, found.cause);
                    tally.flipped.push(format!("{}: {one} → {other}", case.name));
                }
            }
        }
    }
    println!("breakdowns: {whole} add up to the device's capacity, {} do not", torn.len());
    torn.iter().for_each(|name| println!("    {name}"));
    ensure!(whole > 0 && torn.is_empty(), "{} breakdowns do not add up", torn.len());
    end(texts, &tallies)
}

/// The files of a case with a change: in all of them at once.
fn changed(plain: &[Vec<u8>], change: &Change) -> Vec<Vec<Vec<u8>>> {
    let apply = |text: &Vec<u8>| std::str::from_utf8(text).map_or(Vec::new(), change.apply);
    if change.name == BY_A_HUNDREDTH {
        let one = |(index, text): (usize, &Vec<u8>)| {
            apply(text).into_iter().map(move |moved| {
                let mut files = plain.to_vec();
                files[index] = moved;
                files
            })
        };
        return plain.iter().enumerate().flat_map(one).collect();
    }
    let by_file: Vec<Vec<Vec<u8>>> = plain.iter().map(apply).collect();
    let ways = by_file.iter().map(Vec::len).min().unwrap_or(0);
    (0..ways).map(|way| by_file.iter().map(|file| file[way].clone()).collect()).collect()
}

fn end(texts: u64, tallies: &BTreeMap<&str, Tally>) -> Result<Held> {
    println!("{:<28} {:>5} {:>8}", "change", "made", "flipped");
    for (name, tally) in tallies {
        println!("{name:<28} {:>5} {:>8}", tally.made, tally.flipped.len());
        tally.flipped.iter().for_each(|flipped| println!("    {flipped}"));
    }
    let made: u64 = tallies.values().map(|tally| tally.made).sum();
    let flipped: usize = tallies.values().map(|tally| tally.flipped.len()).sum();
    ensure!(tallies.len() == CHANGES.len(), "not every change was made");
    ensure!(flipped == 0, "{flipped} of {made} changed texts are judged otherwise");
    Ok(Held::new(format!(
        "{texts} texts under {} changes, {made} changed texts, no verdict flips",
        CHANGES.len()
    )))
}
