//! Sets of decisions, one per item: why it cannot lie lower than it is said to.

/// Numbers of decisions. All sets of one search have the same width.
pub(super) type Reason = [u64];

/// The reasons of all items, in one piece of memory.
#[derive(Debug)]
pub(super) struct Reasons {
    words: Vec<u64>,
    width: usize,
}

impl Reasons {
    /// Empty reasons for so many items, of which each may take a decision.
    pub(super) fn new(items: usize) -> Self {
        let width = items.div_ceil(64).max(1);
        Self { words: vec![0; items * width], width }
    }

    /// No decision.
    pub(super) fn empty(&self) -> Vec<u64> {
        vec![0; self.width]
    }

    pub(super) fn of(&self, item: usize) -> &Reason {
        &self.words[item * self.width..][..self.width]
    }

    pub(super) fn set(&mut self, item: usize, reason: &Reason) {
        self.words[item * self.width..][..self.width].copy_from_slice(reason);
    }

    pub(super) fn add(&mut self, item: usize, reason: &Reason) {
        add(&mut self.words[item * self.width..][..self.width], reason);
    }
}

/// Takes another's decisions in.
pub(super) fn add(reason: &mut Reason, other: &Reason) {
    for (word, more) in reason.iter_mut().zip(other) {
        *word |= more;
    }
}

/// Takes one decision in.
pub(super) fn insert(reason: &mut Reason, decision: usize) {
    reason[decision / 64] |= 1 << (decision % 64);
}

/// Takes the latest decision out of a reason.
pub(super) fn pop_latest(reason: &mut Reason) -> Option<usize> {
    let last = reason.iter().rposition(|&word| word != 0)?;
    let bit = reason[last].ilog2() as usize;
    reason[last] &= !(1 << bit);
    Some(64 * last + bit)
}
