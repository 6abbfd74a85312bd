//! Lines of a log that hold a word of a message and are none. A training log has a million of one shape.

use std::{
    collections::HashSet,
    hash::{DefaultHasher, Hasher as _},
};

/// So many shapes are remembered of a log; then it begins anew.
const MOST: usize = 1 << 10;

/// The shapes of lines that were looked at in vain. Each log has its own: what one program prints must not hide
/// what another does.
#[derive(Debug, Default)]
pub(crate) struct Shapes {
    in_vain: HashSet<u64>,
}

impl Shapes {
    /// Whether a line of this shape was looked at in vain.
    pub(crate) fn knows(&self, line: &[u8]) -> bool {
        !self.in_vain.is_empty() && self.in_vain.contains(&shape(line))
    }

    /// A line that turned out to be no message.
    pub(crate) fn add(&mut self, line: &[u8]) {
        if self.in_vain.len() >= MOST {
            self.in_vain.clear();
        }
        self.in_vain.insert(shape(line));
    }
}

/// A line without the digits of its numbers. A number that is zero stays: none of something is not some of it.
fn shape(line: &[u8]) -> u64 {
    let mut shape = Vec::with_capacity(line.len());
    for part in line.chunk_by(|one, next| one.is_ascii_digit() == next.is_ascii_digit()) {
        match part[0].is_ascii_digit() {
            true => shape.push(if part.iter().all(|digit| *digit == b'0') { b'0' } else { b'1' }),
            false => shape.extend(part),
        }
    }
    let mut hash = DefaultHasher::new();
    hash.write(&shape);
    hash.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_do_not_matter_and_words_do() {
        let mut shapes = Shapes::default();
        shapes.add(b"step 11 of 25: enough memory");
        assert!(shapes.knows(b"step 145 of 3151: enough memory"));
        assert!(shapes.knows(b"step 100 of 3051: enough memory"));
        assert!(!shapes.knows(b"step 145 of 3151: out of memory"));
        shapes.add(b"oom_kill 0");
        assert!(!shapes.knows(b"oom_kill 3"), "none is not some");
        for number in 0..MOST {
            let words = format!("{number:b}").replace('0', "a").replace('1', "b");
            shapes.add(words.as_bytes());
        }
        assert!(!shapes.knows(b"step 11 of 25: enough memory"), "it has begun anew");
    }
}
