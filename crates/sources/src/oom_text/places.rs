//! Where in a text a message may be, for who reads a log as it is written and cannot look at each line.

use std::sync::LazyLock;

use whyoom_trace::{Event, EventSink, Tables};

use super::{failure, finder::Finder, formats::FORMATS, known, scan};

/// No anchor is longer: who searches a text in pieces lets them overlap by so much.
pub const LONGEST_ANCHOR: usize = 128;

/// What tells of a failure; settings alone do not.
static FAILURES: LazyLock<Finder> = LazyLock::new(|| Finder::new(anchors()));

fn anchors() -> impl Iterator<Item = &'static str> {
    let formats = FORMATS.iter().flat_map(|format| format.anchors).copied();
    let known = known::ROWS.iter().map(|row| row.anchor);
    formats.chain(known).chain(failure::ANCHORS.iter().copied())
}

/// The places where a message may start, in order. Most of them are none: see [`has_message`].
#[must_use]
pub fn places(bytes: &[u8]) -> Vec<usize> {
    FAILURES.find(bytes)
}

/// Whether a text has a message that whyoom knows, or more places than are looked at.
#[must_use]
pub fn has_message(text: &[u8]) -> bool {
    let summary = scan(text, "", &mut Tables::default(), &mut Nothing);
    summary.is_ok_and(|summary| summary.messages > 0 || summary.passed_over > 0)
}

struct Nothing;

impl EventSink for Nothing {
    fn event(&mut self, _: &Event, _: &Tables) {}
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_found_and_other_words_are_not_one() {
        let text =
            b"step 1\ntorch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.\n";
        assert_eq!(places(text).first(), Some(&13));
        assert!(has_message(text));
        assert!(!has_message(b"a run with enough memory\n"));
        assert!(places(b"PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True\n").is_empty());
    }

    #[test]
    fn no_anchor_is_longer() {
        for anchor in anchors() {
            assert!(anchor.len() < LONGEST_ANCHOR, "{anchor}");
        }
    }
}
