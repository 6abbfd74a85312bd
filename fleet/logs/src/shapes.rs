//! Lines that hold a word of a message and are none. A training log has a million of one shape.

use std::{
    collections::HashSet,
    hash::{DefaultHasher, Hasher as _},
};

/// So many shapes are remembered; then it begins anew.
const MOST: usize = 1 << 14;
/// A line is known by its first bytes.
const LONGEST: usize = 512;

/// The shapes of lines that were looked at in vain.
#[derive(Debug, Default)]
pub(crate) struct Shapes {
    in_vain: HashSet<u64>,
}

impl Shapes {
    /// Whether a line of this shape was looked at in vain.
    pub(crate) fn knows(&self, line: &[u8]) -> bool {
        self.in_vain.contains(&shape(line))
    }

    /// A line that turned out to be no message.
    pub(crate) fn add(&mut self, line: &[u8]) {
        if self.in_vain.len() >= MOST {
            self.in_vain.clear();
        }
        self.in_vain.insert(shape(line));
    }
}

/// A line without its numbers.
fn shape(line: &[u8]) -> u64 {
    let mut hash = DefaultHasher::new();
    let words = line[..line.len().min(LONGEST)].split(u8::is_ascii_digit);
    for word in words.filter(|word| !word.is_empty()) {
        hash.write(word);
        hash.write_u8(b'0');
    }
    hash.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_do_not_matter_and_words_do() {
        let mut shapes = Shapes::default();
        shapes.add(b"step 1 of 20: enough memory");
        assert!(shapes.knows(b"step 145 of 3000: enough memory"));
        assert!(!shapes.knows(b"step 145 of 3000: out of memory"));
        for number in 0..MOST {
            let words = format!("{number:b}").replace('0', "a").replace('1', "b");
            shapes.add(words.as_bytes());
        }
        assert!(!shapes.knows(b"step 1 of 20: enough memory"), "it has begun anew");
    }
}
