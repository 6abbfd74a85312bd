//! From the ids of a part to those of the tables.

use std::collections::HashMap;

use foldhash::fast::RandomState;

/// Ids of a part and what they are in the tables. Ids without gaps are looked up in a list; others,
/// which only a damaged or made-up recording has, must not make that list long.
#[derive(Debug)]
pub(super) struct Renumbering {
    dense: Vec<u32>,
    sparse: HashMap<u32, u32, RandomState>,
    /// How many are defined.
    defined: usize,
}

const UNDEFINED: u32 = u32::MAX;
/// The list may have so many places for nothing,
const GAPS: usize = 1024;
/// and so many for each id that is defined.
const GAPS_AN_ID: usize = 4;

impl Default for Renumbering {
    /// 0 is 0 everywhere: nothing.
    fn default() -> Self {
        Self { dense: vec![0], sparse: HashMap::default(), defined: 0 }
    }
}

impl Renumbering {
    pub(super) fn define(&mut self, id: u32, to: u32) {
        let at = id as usize;
        if at == 0 {
            return;
        }
        self.defined += 1;
        if at >= self.dense.len().max(GAPS + self.defined * GAPS_AN_ID) {
            self.sparse.insert(id, to);
            return;
        }
        if at >= self.dense.len() {
            self.dense.resize(at + 1, UNDEFINED);
        }
        self.dense[at] = to;
    }

    #[inline]
    pub(super) fn get(&self, id: u32) -> Option<u32> {
        match self.dense.get(id as usize) {
            Some(&to) if to != UNDEFINED => Some(to),
            _ => self.sparse.get(&id).copied(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_far_apart_take_no_room() {
        let mut ids = Renumbering::default();
        for (id, to) in [(1, 10), (3, 30), (u32::MAX, 99), (2_000_000, 7)] {
            ids.define(id, to);
        }
        let read = [0, 1, 2, 3, 2_000_000, u32::MAX].map(|id| ids.get(id));
        assert_eq!(read, [Some(0), Some(10), None, Some(30), Some(7), Some(99)]);
        assert!(ids.dense.len() < 10);
    }

    #[test]
    fn gaps_do_not_add_up() {
        let mut ids = Renumbering::default();
        for id in 1..10_000 {
            ids.define(id * 1000, id);
        }
        assert!((1..10_000).all(|id| ids.get(id * 1000) == Some(id)));
        assert!(ids.dense.len() < 20 * 10_000, "{}", ids.dense.len());
    }
}
