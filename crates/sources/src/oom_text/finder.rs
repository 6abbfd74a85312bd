//! Finds many words in any case, in logs at the speed that they are written on a node.
//!
//! An automaton looks at every byte, one after the other. This looks at every fourth place alone: wherever a word
//! of eight bytes stands, five of its bytes begin at such a place. Which five those are depends on where it stands,
//! so each word is known by four windows: of those that it has, ones that neither other words nor ordinary logs
//! have. A text that has one of them is compared with the words that it belongs to.

use std::collections::HashMap;

/// Places that are looked at are so far apart.
const STRIDE: usize = 4;
/// The bytes of a window.
const WINDOW: usize = 5;
/// No word is shorter. Of a word that is shorter than eight bytes, windows reach one byte beyond it.
const SHORTEST_WORD: usize = WINDOW + STRIDE - 3;
/// Upper and lower case are the same without this bit. So are some other bytes; words are compared in the end.
const CASE: u8 = 0x20;
/// What is left of eight bytes without it.
const FOLDS: u64 = u64::from_le_bytes([!CASE; 8]);
/// The bytes of a window, of eight.
const MASK: u64 = u64::MAX >> (64 - 8 * WINDOW);
/// Windows have numbers of so many bits.
const BITS: u32 = 17;
/// So many numbers share a list of windows.
const SHARED: usize = 32;
/// Windows of what healthy programs print are not looked for, where a word has others.
const ORDINARY: &str = " memory allocated, reserved; enough memory for it; step 2 out of 100; allocation with no error; exit \
    code 0; cuda device 0; gpu memory usage is not the same; when the function results in an exception; ";

/// What finds words.
pub(super) struct Finder {
    words: Vec<Vec<u8>>,
    /// Whether a window has a number: small enough to stay near the processor. A bit for each would be smaller, and
    /// takes longer to get at.
    filter: Box<Filter>,
    /// Where the windows begin that share a list; those of the next begin where they end.
    starts: Vec<u32>,
    windows: Vec<Window>,
}

type Filter = [bool; 1 << BITS];

/// A part of a word.
#[derive(Debug, Clone, Copy)]
struct Window {
    /// The window and what of the word follows, eight bytes at most.
    eight: u64,
    /// Which of them those are.
    mask: u64,
    word: u16,
    /// Where the word starts, from the window.
    start: i16,
}

impl Finder {
    pub(super) fn new<'w>(words: impl Iterator<Item = &'w str>) -> Self {
        let words = shortest(words.map(|word| word.to_ascii_lowercase().into_bytes()).collect());
        debug_assert!(words.iter().all(|word| word.len() >= SHORTEST_WORD));
        let costs = Costs::of(&words);
        let mut windows: Vec<Window> = Vec::new();
        for (number, word) in words.iter().enumerate() {
            windows.extend(chosen(word, number as u16, &costs));
        }
        windows.sort_by_key(|window| number_of(window.eight));
        let mut filter: Box<Filter> = Box::new([false; _]);
        let mut starts = vec![0; filter.len() / SHARED + 1];
        for window in &windows {
            let number = number_of(window.eight);
            filter[number] = true;
            starts[number / SHARED + 1] += 1;
        }
        for at in 0..filter.len() / SHARED {
            starts[at + 1] += starts[at];
        }
        Self { words, filter, starts, windows }
    }

    /// Where words start, in order. Of words that have others in them, where those start.
    pub(super) fn find(&self, text: &[u8]) -> Vec<usize> {
        let mut found = Vec::new();
        let mut rest = text;
        while !rest.is_empty() {
            rest = skip(rest, &self.filter);
            self.compare(text, text.len() - rest.len(), eight_at(rest), &mut found);
            rest = rest.get(STRIDE..).unwrap_or_default();
        }
        found.sort_unstable();
        found.dedup();
        found
    }

    /// Compares with the words of a window.
    fn compare(&self, text: &[u8], place: usize, eight: u64, found: &mut Vec<usize>) {
        let at = number_of(eight) / SHARED;
        let (from, to) = (self.starts[at] as usize, self.starts[at + 1] as usize);
        let is_it = |window: &&Window| eight & window.mask == window.eight;
        for window in self.windows[from..to].iter().filter(is_it) {
            let word = &self.words[usize::from(window.word)];
            let start = place.checked_add_signed(isize::from(window.start));
            let there = start.and_then(|start| text.get(start..start + word.len()));
            if there.is_some_and(|there| there.eq_ignore_ascii_case(word)) {
                found.extend(start);
            }
        }
    }
}

/// Goes on to a place that may have a window: nearly all of the time is spent here.
fn skip<'t>(mut rest: &'t [u8], filter: &Filter) -> &'t [u8] {
    let may_have = |bytes: &[u8]| filter[number_of(eight_at(bytes))];
    // Two places at once, as long as there are two.
    while rest.len() >= 8 + STRIDE && !(may_have(rest) | may_have(&rest[STRIDE..])) {
        rest = &rest[2 * STRIDE..];
    }
    if rest.len() >= 8 && !may_have(rest) { &rest[STRIDE..] } else { rest }
}

/// A word that has another in it is found with that.
fn shortest(words: Vec<Vec<u8>>) -> Vec<Vec<u8>> {
    let has = |word: &[u8], other: &[u8]| word.windows(other.len()).any(|part| part == other);
    let mut kept: Vec<Vec<u8>> = Vec::new();
    let mut by_length = words;
    by_length.sort_by_key(Vec::len);
    for word in by_length {
        if !kept.iter().any(|other| has(&word, other)) {
            kept.push(word);
        }
    }
    kept
}

/// How often windows are met in vain, roughly.
struct Costs(HashMap<u64, u32>);

impl Costs {
    fn of(words: &[Vec<u8>]) -> Self {
        let mut costs = HashMap::new();
        for window in words.iter().flat_map(|word| word.windows(WINDOW)) {
            *costs.entry(eight_at(window)).or_default() += 1;
        }
        for window in ORDINARY.as_bytes().windows(WINDOW) {
            costs.insert(eight_at(window), u32::MAX);
        }
        Self(costs)
    }

    fn of_window(&self, window: &[u8]) -> u32 {
        self.0.get(&eight_at(window)).copied().unwrap_or_default()
    }
}

/// The windows that a word is known by: one for each place that it may begin at.
fn chosen(word: &[u8], number: u16, costs: &Costs) -> Vec<Window> {
    let mut all = Vec::new();
    for residue in 0..STRIDE {
        let inside = (residue..).step_by(STRIDE).take_while(|from| from + WINDOW <= word.len());
        let cost = |from: &usize| costs.of_window(&word[*from..from + WINDOW]);
        let best = inside.min_by_key(cost);
        match best {
            Some(from) => all.push(Window::new(&word[from..], number, -(from as i16))),
            // Whatever stands before or behind the word belongs to its window.
            None => all.extend(any_byte().map(|byte| match residue {
                3 => Window::new(&[&[byte], word].concat(), number, 1),
                _ => Window::new(&[&word[residue..], &[byte]].concat(), number, -(residue as i16)),
            })),
        }
    }
    all
}

impl Window {
    /// What a text begins with, at least five bytes.
    fn new(text: &[u8], word: u16, start: i16) -> Self {
        let mask = u64::MAX >> (64 - 8 * text.len().min(8));
        Self { eight: eight_at(text), mask, word, start }
    }
}

/// All bytes, upper and lower case as one; one of them stands for the end of a text.
fn any_byte() -> impl Iterator<Item = u8> {
    (0..=u8::MAX).filter(|byte| byte & CASE == 0)
}

/// The eight bytes that a text begins with, as a number; of fewer, with nothing behind.
fn eight_at(text: &[u8]) -> u64 {
    let bytes = text.first_chunk::<8>().copied().unwrap_or_else(|| {
        let mut bytes = [0; 8];
        bytes[..text.len()].copy_from_slice(text);
        bytes
    });
    u64::from_le_bytes(bytes) & FOLDS
}

/// The number of the window that eight bytes begin with, which few share. The factor is that of the golden ratio.
fn number_of(eight: u64) -> usize {
    ((eight & MASK).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> (64 - BITS)) as usize
}

#[cfg(test)]
mod tests {
    use aho_corasick::AhoCorasick;
    use proptest::prelude::*;

    use super::*;

    const WORDS: [&str; 7] = [
        "killed",
        "oom on ",
        "gpu oom",
        "badalloc",
        "CUDA out of memory",
        "显存不足",
        "of memory limit",
    ];

    fn expected(text: &[u8]) -> Vec<usize> {
        let automaton = AhoCorasick::builder().ascii_case_insensitive(true).build(WORDS).unwrap();
        let mut all: Vec<usize> =
            automaton.find_overlapping_iter(text).map(|found| found.start()).collect();
        all.sort_unstable();
        all.dedup();
        all
    }

    #[test]
    fn words_are_found_wherever_they_stand() {
        let finder = Finder::new(WORDS.into_iter());
        for word in WORDS {
            for before in 0..20 {
                for after in 0..10 {
                    let text = format!("{}{}{}", "m".repeat(before), word, "f".repeat(after));
                    let upper = text.to_ascii_uppercase();
                    assert_eq!(finder.find(text.as_bytes()), [before], "{text}");
                    assert_eq!(finder.find(upper.as_bytes()), [before], "{upper}");
                }
            }
        }
    }

    proptest! {
        #[test]
        fn it_finds_what_an_automaton_finds(
            pieces in proptest::collection::vec((0..WORDS.len(), 0_usize..20, 0_usize..20, ".{0,6}"), 0..20),
        ) {
            let mut text = String::new();
            for (word, from, to, other) in pieces {
                let part: String = WORDS[word].chars().skip(from % 3).take(to).collect();
                text.extend([part, other]);
                if to > 15 { text += WORDS[word]; }
            }
            prop_assert_eq!(Finder::new(WORDS.into_iter()).find(text.as_bytes()), expected(text.as_bytes()));
        }

        #[test]
        fn any_bytes_will_do(text in proptest::collection::vec(any::<u8>(), 0..200)) {
            prop_assert_eq!(Finder::new(WORDS.into_iter()).find(&text), expected(&text));
        }
    }
}
