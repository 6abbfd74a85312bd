//! Amounts with the role that the words beside them give them, whatever program printed them: the second
//! layer of reading. An exact format knows better; this layer knows something of every other message.

use std::sync::LazyLock;

use regex::Regex;
use whyoom_trace::{Bytes, Counter};

use super::amount::{IMPOSSIBLE, binary, regex};

/// What an amount is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    /// What was asked for.
    Demand,
    /// What was there to be had.
    Free,
    /// What there is in all.
    Total,
    /// What may be had at most.
    Limit,
    /// What is in use.
    Used,
    /// What an allocator or a pool holds.
    Reserved,
}

impl Role {
    /// The counter that stands for it in a message.
    pub(super) fn counter(self) -> Counter {
        match self {
            Self::Demand => Counter::Requested,
            Self::Free => Counter::DeviceFree,
            Self::Total => Counter::DeviceTotal,
            Self::Limit => Counter::Allowed,
            Self::Used => Counter::Allocated,
            Self::Reserved => Counter::Reserved,
        }
    }
}

/// The words that give a role, and how much farther away each seems than it is: a weak word gives way to a
/// strong one behind it.
static WORDS: LazyLock<Vec<(Role, Regex, usize)>> = LazyLock::new(|| {
    [
        (Role::Demand, r"request\w*|tried|trying|allocat(?:e|es|ing|ion)|c?alloc", 0),
        (Role::Demand, r"(?:cuda)?malloc\w*|cumemalloc\w*", 0),
        (Role::Demand, r"need\w*|requir\w*|asked|want\w*|attempt\w*", 0),
        (Role::Demand, r"sizes?|bytes", 10),
        (Role::Free, r"free|avail(?:able)?|left|remain\w*", 0),
        (Role::Total, r"total|capacity|physical|installed", 0),
        (Role::Total, r"vram|video memory", 14),
        (
            Role::Limit,
            r"limit\w*|max(?:imum)?|allowed|allows|cap(?:ped)?|threshold|budget|quota",
            0,
        ),
        (
            Role::Used,
            r"used|utili[sz]ed|in use|inuse|usage|allocated|occup\w*|consum\w*|held|holds|resident|rss",
            0,
        ),
        (Role::Used, r"uses?|using|takes?|taken|took|has", 6),
        (Role::Reserved, r"reserved|cached|pool size", 0),
    ]
    .into_iter()
    .map(|(role, words, far)| (role, regex(&format!(r"(?i)\b(?:{words})\b")), far))
    .collect()
});

/// A number with a unit; single letters are units only where they are capitals: `15.3G`, but not `2k`.
static WITH_UNIT: LazyLock<Regex> =
    LazyLock::new(|| regex(r"(-?\d[\d.,]*)\s?((?i:bytes?\b|[kmgt]i?b\b)|[KMGT]i\b|[MGT]\b|B\b)"));
/// A number of bytes that names no unit: it is long, and no part of a word, an address or a date.
static BARE: LazyLock<Regex> = LazyLock::new(|| regex(r"(?:^|[\s(=:\[/])(\d{6,19})\b"));
/// The arguments of a call that allocates, up to an amount: `cudaMalloc(&texture, `.
static OF_A_CALL: LazyLock<Regex> =
    LazyLock::new(|| regex(r"(?i)\bcu(?:da|mem)\w*alloc\w*\s*\([^()\n]*$"));
/// `7.78 GiB/7.92 GiB`, `19.77/22.05 GiB`.
static OF_ALL: LazyLock<Regex> = LazyLock::new(|| regex(r"^\s*/\s*$"));

static FREE_OF_ALL: LazyLock<Regex> =
    LazyLock::new(|| regex(r"(?i)free(?: memory)?\s*/\s*total(?: memory)?\W*$"));

/// How far a word may stand before an amount, and behind it.
const REACH_BEFORE: usize = 60;
const REACH_BEHIND: usize = 34;
/// What is said behind an amount seems a little farther away: `Free: 8 MB, requested: 32 MB`.
const BEHIND: usize = 3;

/// One amount in a text.
#[derive(Debug, Clone, Copy)]
struct Amount {
    start: usize,
    end: usize,
    bytes: Bytes,
}

/// The amounts of a text that have a role, in order.
pub(super) fn figures(text: &str) -> Vec<(Role, Bytes)> {
    let amounts = amounts(text);
    let mut found: Vec<(Role, Bytes)> = Vec::new();
    for (index, amount) in amounts.iter().enumerate() {
        let from = index.checked_sub(1).map_or(0, |before| amounts[before].end);
        let to = amounts.get(index + 1).map_or(text.len(), |next| next.start);
        // `Free memory/Total memory: a/b`: what stands before tells both, in order.
        if let Some(next) = amounts.get(index + 1)
            && OF_ALL.is_match(&text[amount.end..next.start])
            && FREE_OF_ALL.is_match(&text[from..amount.start])
        {
            found.push((Role::Free, amount.bytes));
            continue;
        }
        // Of `used/all` the second is all, whatever stands before.
        let before = &text[from..amount.start];
        let role = if OF_ALL.is_match(before) && index > 0 {
            Some(Role::Total)
        } else if OF_A_CALL.is_match(before) {
            Some(Role::Demand)
        } else {
            role(before, &text[amount.end..to])
        };
        found.extend(role.map(|role| (role, amount.bytes)));
    }
    found
}

/// The first amount of a role.
pub(super) fn first(figures: &[(Role, Bytes)], wanted: Role) -> Option<Bytes> {
    figures.iter().find(|(role, _)| *role == wanted).map(|(_, bytes)| *bytes)
}

fn amounts(text: &str) -> Vec<Amount> {
    let with_unit = WITH_UNIT.captures_iter(text).filter_map(|found| {
        let (all, number) = (found.get(0)?, found.get(1)?);
        let bytes = binary(number.as_str(), &found[2])?;
        Some(Amount { start: number.start(), end: all.end(), bytes })
    });
    let mut amounts: Vec<Amount> = with_unit.collect();
    let known = |start: usize| amounts.iter().any(|one| (one.start..one.end).contains(&start));
    let bare = BARE.captures_iter(text).filter_map(|found| {
        let number = found.get(1).filter(|number| !known(number.start()))?;
        let bytes = number.as_str().parse().ok().map(Bytes)?;
        Some(Amount { start: number.start(), end: number.end(), bytes })
    });
    let bare: Vec<Amount> = bare.collect();
    amounts.extend(bare);
    amounts.sort_by_key(|amount| amount.start);
    amounts.retain(|amount| (amount.bytes.0 as f64) < IMPOSSIBLE);
    amounts
}

/// The role that the words around an amount give it: the nearest word's.
fn role(before: &str, behind: &str) -> Option<Role> {
    let before = &before[cut_before(before)..];
    let behind = &behind[..cut_behind(behind)];
    let nearest = |role: Role, words: &Regex, far: usize| {
        let last = words.find_iter(before).last().map(|word| before.len() - word.end());
        let next = words.find(behind).map(|word| word.start() + BEHIND);
        last.into_iter().chain(next).min().map(|distance| (distance + far, role))
    };
    let all = WORDS.iter().filter_map(|(role, words, far)| nearest(*role, words, *far));
    all.min_by_key(|(distance, _)| *distance).map(|(_, role)| role)
}

/// Where the clause before an amount begins.
fn cut_before(text: &str) -> usize {
    let far = text.len().saturating_sub(REACH_BEFORE);
    let far = (far..=text.len()).find(|&at| text.is_char_boundary(at)).unwrap_or(text.len());
    let end = [';', '|', '\n', ','].iter().filter_map(|mark| text.rfind(*mark)).max();
    let sentence = text.rfind(". ");
    end.max(sentence).map_or(far, |end| far.max(end + 1))
}

/// Where the clause behind an amount ends.
fn cut_behind(text: &str) -> usize {
    let near = (0..=REACH_BEHIND.min(text.len())).rev().find(|&at| text.is_char_boundary(at));
    let ends = [";", "|", "\n", ",", ")", ". "];
    let end = ends.iter().filter_map(|mark| text.find(mark)).min().unwrap_or(text.len());
    end.min(near.unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: u64 = 1 << 20;
    const GIB: u64 = 1 << 30;

    #[test]
    fn the_words_beside_an_amount_give_its_role() {
        use Role::{Demand, Free, Limit, Reserved, Total, Used};
        let cases: &[(&str, &[(Role, u64)])] = &[
            ("Required: 3.00 GB, free: 2.00 GB.", &[(Demand, 3 * GIB), (Free, 2 * GIB)]),
            (
                "- Free memory: 8126464\n- Requested memory: 33554432",
                &[(Free, 8_126_464), (Demand, 33_554_432)],
            ),
            (
                "Cannot allocate 256.0MB memory on GPU 0, 10.0GB memory has been allocated and available \
                 memory is only 98.0MB.",
                &[(Demand, 256 * MIB), (Used, 10 * GIB), (Free, 98 * MIB)],
            ),
            (
                "Requested amount of GPU memory (17179869184 bytes) could not be allocated",
                &[(Demand, 16 * GIB)],
            ),
            ("cudaMalloc of 1610612736 bytes failed", &[(Demand, 3 * GIB / 2)]),
            ("cudaMalloc(&texture, 67108864) failed", &[(Demand, 64 * MIB)]),
            (
                "insufficient memory on requested size of 17179869184 detected",
                &[(Demand, 16 * GIB)],
            ),
            (
                "Failed to allocate CUDA memory with byte size 102236160 on GPU 0",
                &[(Demand, 102_236_160)],
            ),
            (
                "dev 2 space Device stream 0 size 2764800000 bytes (cudaMalloc",
                &[(Demand, 2_764_800_000)],
            ),
            (
                "(MPS allocated: 17.00 GB, max allowed: 18.00 GB). Tried to allocate 512 MB",
                &[(Used, 17 * GIB), (Limit, 18 * GIB), (Demand, 512 * MIB)],
            ),
            (
                "Effective GPU memory usage: 98.30% (7.50 GiB/8.00 GiB)",
                &[(Used, 7 * GIB + 512 * MIB), (Total, 8 * GIB)],
            ),
            (
                "Memory pool usage: 5.0 GiB (6.0 GiB reserved)",
                &[(Used, 5 * GIB), (Reserved, 6 * GIB)],
            ),
            (
                "Available memory of 12345678 is smaller than requested bytes of 67890123",
                &[(Free, 12_345_678), (Demand, 67_890_123)],
            ),
            (
                "Reported by CUDA: Free memory/Total memory: 22635544576/85095874560",
                &[(Free, 22_635_544_576), (Total, 85_095_874_560)],
            ),
            ("2k context at 0x7f00aa112233 on 2024-11-26 took 3.25 seconds", &[]),
        ];
        for (text, expected) in cases {
            let expected: Vec<(Role, Bytes)> =
                expected.iter().map(|(role, bytes)| (*role, Bytes(*bytes))).collect();
            assert_eq!(figures(text), expected, "{text}");
        }
    }

    #[test]
    fn what_no_machine_has_is_set_aside() {
        assert_eq!(figures("Tried to allocate 17179869183.96 GiB, 18446744073707737660 free"), []);
    }
}
