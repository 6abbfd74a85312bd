//! What a GPU has, by its name: people name theirs more often than they tell its memory.

use std::sync::LazyLock;

use regex::{Regex, RegexSet};
use whyoom_trace::Bytes;

use super::amount::{binary, regex};

/// Names and what is sold under them, in GiB; the longer name first. Where a name is sold in several sizes
/// none is given, unless the text tells it.
const SOLD: &[(&str, u64)] = &[
    (r"GTX ?1050 ?Ti", 4),
    (r"GTX ?1050", 2),
    (r"GTX ?1070", 8),
    (r"GTX ?1080 ?Ti", 11),
    (r"GTX ?1080", 8),
    (r"GTX ?16[56]0", 4),
    (r"{CARD}2060", 6),
    (r"{CARD}2070", 8),
    (r"{CARD}2080 ?Ti", 11),
    (r"{CARD}2080", 8),
    (r"{CARD}3060 ?Ti", 8),
    (r"{CARD}3060", 12),
    (r"{CARD}3070", 8),
    (r"{CARD}3080 ?Ti", 12),
    (r"{CARD}3080", 10),
    (r"{CARD}3090", 24),
    (r"{CARD}4060 ?Ti", 8),
    (r"{CARD}4060", 8),
    (r"{CARD}4070 ?Ti", 12),
    (r"{CARD}4070", 12),
    (r"{CARD}4080", 16),
    (r"{CARD}4090", 24),
    (r"{CARD}5070 ?Ti", 16),
    (r"{CARD}5070", 12),
    (r"{CARD}5080", 16),
    (r"{CARD}5090", 32),
    (r"Titan (?:Xp|X|V)", 12),
    (r"Titan RTX", 24),
    (r"(?:Tesla )?K80", 12),
    (r"(?:Tesla )?M60", 8),
    (r"(?:Tesla )?P4", 8),
    (r"(?:Tesla )?P40", 24),
    (r"(?:Tesla )?T4", 15),
    (r"A10G?", 24),
    (r"A16", 16),
    (r"A30", 24),
    (r"A40", 48),
    (r"(?:RTX )?A2000", 6),
    (r"(?:RTX )?A4000", 16),
    (r"(?:RTX )?A5000", 24),
    (r"(?:RTX )?A6000", 48),
    (r"RTX 6000 Ada", 48),
    (r"L4", 24),
    (r"L40S?", 48),
    (r"H100", 80),
    (r"H200", 141),
    (r"B200", 180),
    (r"MI250X?", 64),
    (r"MI300X", 192),
    (r"RX ?7900 ?XTX", 24),
    (r"RX ?6800", 16),
    (r"Orin Nano", 8),
];

/// What stands before a number that is a card's: four digits alone may be anything.
const CARD: &str = r"(?:RTX|GeForce|NVIDIA|\dx|x|a|an|my|one|single|with|on) ?";

/// Each name as a pattern.
fn patterns() -> impl Iterator<Item = String> {
    SOLD.iter().map(|(name, _)| format!(r"(?i)\b(?:{})\b", name.replace("{CARD}", CARD)))
}

static NAMES: LazyLock<Vec<Regex>> =
    LazyLock::new(|| patterns().map(|name| regex(&name)).collect());

/// All of them at once: most texts name no GPU.
#[expect(clippy::expect_used, reason = "the patterns are constants, and a test compiles them")]
static ANY_NAME: LazyLock<RegexSet> =
    LazyLock::new(|| RegexSet::new(patterns()).expect("the patterns of this crate"));

/// A name that tells its memory itself: `A100-SXM4-80GB`, `Tesla P100-PCIE-16GB`, `RTX 4090 (24564MiB)`.
static NAMED_SIZE: LazyLock<Regex> = LazyLock::new(|| {
    regex(
        r"(?i)\b(?:A100|H100|V100|P100|A30|L40S?|A800|H800|H20|GTX ?\d+|RTX ?\w+|Tesla \w+|\d0[5-9]0(?: ?ti)?|T4|L4|A10G?)\b[\w ()-]{0,24}?\b(\d{1,3}) ?G(?:i?B|\b)",
    )
});
/// `24GB VRAM`, `11GB of video memory`, `VRAM: 8 GB`.
static WITH_WORDS: LazyLock<Regex> = LazyLock::new(|| {
    regex(
        r"(?i)(\d[\d.,]*)\s?(gi?b|mi?b|g)\s(?:of\s)?(?:vram|video memory|gpu memory|graphics memory|gpu ram)\b(?:\s(used|free|remain|left|in use)\w*)?",
    )
});

/// `Both GPU I use have 6GB`, `a card with 8 GB`.
static CARD_HAS: LazyLock<Regex> = LazyLock::new(|| {
    regex(
        r"(?i)\b(?:gpu|card)s?\b[^\n.;|]{0,24}?\b(?:have|has|with|of) (?:only )?(\d{1,3}) ?(?:gi?b?|go)\b",
    )
});

/// The capacity of the one GPU that a text names. Nothing where it names several that differ.
pub(super) fn capacity(text: &str) -> Option<Bytes> {
    told(text).or_else(|| one(&by_name(text)))
}

/// What the text tells in figures.
fn told(text: &str) -> Option<Bytes> {
    let in_name = NAMED_SIZE.captures_iter(text).filter_map(|found| binary(&found[1], "GiB"));
    let named = one(&in_name.collect::<Vec<_>>());
    let named = named.or_else(|| {
        let have = CARD_HAS.captures_iter(text).filter_map(|found| binary(&found[1], "GiB"));
        one(&have.collect::<Vec<_>>())
    });
    named.or_else(|| {
        let words = WITH_WORDS.captures_iter(text).filter(|found| found.get(3).is_none());
        one(&words.filter_map(|found| binary(&found[1], &found[2])).collect::<Vec<_>>())
    })
}

fn by_name(text: &str) -> Vec<Bytes> {
    let mut taken: Vec<std::ops::Range<usize>> = Vec::new();
    let mut found = Vec::new();
    for index in ANY_NAME.matches(text) {
        let (name, gib) = (&NAMES[index], SOLD[index].1);
        for place in name.find_iter(text) {
            // `3060 Ti` is not a `3060`.
            if taken.iter().all(|one| !one.contains(&place.start())) {
                taken.push(place.range());
                found.push(Bytes(gib << 30));
            }
        }
    }
    found
}

/// The one amount that all are.
fn one(found: &[Bytes]) -> Option<Bytes> {
    let first = *found.first()?;
    found.iter().all(|other| *other == first).then_some(first)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gpu_is_known_by_its_name() {
        for (text, gib) in [
            ("Device 0: NVIDIA GeForce GTX 1050 Ti, compute capability 6.1", Some(4)),
            ("3 x 3060ti LHR", Some(8)),
            ("on a GPU (Tesla P100-PCIE-16GB)", Some(16)),
            ("an A100 with 40GB memory", Some(40)),
            ("NVIDIA A100-SXM4-80GB", Some(80)),
            ("RTX 4090 with 24GB VRAM", Some(24)),
            ("Both GPU I use have 6GB. am I", Some(6)),
            ("1GB VRAM remaining", None),
            ("a 3090 and a GTX 1080", None),
            ("at step 3090 of 4080", None),
            ("no card is named here, only 4090123 bytes", None),
        ] {
            assert_eq!(capacity(text), gib.map(|gib: u64| Bytes(gib << 30)), "{text}");
        }
    }
}
