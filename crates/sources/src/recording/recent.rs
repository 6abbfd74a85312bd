//! Values by key, where the next key asked for is mostly the last one.

use std::{collections::HashMap, hash::Hash};

use foldhash::fast::RandomState;

/// A map that remembers its last answer: most events follow one of the same process and thread.
#[derive(Debug)]
pub(super) struct Recent<K, V> {
    indices: HashMap<K, usize, RandomState>,
    values: Vec<V>,
    /// The last key, and where its value lies, if it has one.
    last: Option<(K, Option<usize>)>,
}

impl<K, V> Default for Recent<K, V> {
    fn default() -> Self {
        Self { indices: HashMap::default(), values: Vec::new(), last: None }
    }
}

impl<K: Copy + Eq + Hash, V: Default> Recent<K, V> {
    pub(super) fn get(&self, key: K) -> Option<&V> {
        self.indices.get(&key).map(|&index| &self.values[index])
    }

    #[inline(always)]
    pub(super) fn get_mut(&mut self, key: K) -> Option<&mut V> {
        let index = match self.last {
            Some((last, index)) if last == key => index,
            _ => self.look_up(key),
        }?;
        Some(&mut self.values[index])
    }

    /// The value of a key; the default from now on where it had none.
    #[inline(always)]
    pub(super) fn entry(&mut self, key: K) -> &mut V {
        let index = match self.last {
            Some((last, Some(index))) if last == key => index,
            _ => self.look_up(key).unwrap_or_else(|| self.add(key)),
        };
        &mut self.values[index]
    }

    fn look_up(&mut self, key: K) -> Option<usize> {
        let index = self.indices.get(&key).copied();
        self.last = Some((key, index));
        index
    }

    fn add(&mut self, key: K) -> usize {
        let index = self.values.len();
        self.values.push(V::default());
        self.indices.insert(key, index);
        self.last = Some((key, Some(index)));
        index
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_key_keeps_its_value_whichever_was_asked_for_last() {
        let mut values = Recent::<u32, u32>::default();
        for key in [1, 2, 2, 1, 3, 1] {
            assert_eq!(values.get_mut(key + 10), None, "asking adds nothing");
            *values.entry(key) += key;
            *values.get_mut(key).expect("it is there") += 100;
        }
        let found = [1, 2, 3, 4, 11].map(|key| values.get(key).copied());
        assert_eq!(found, [Some(303), Some(204), Some(103), None, None]);
        assert_eq!(values.get_mut(4), None);
        *values.entry(4) += 4;
        assert_eq!(values.get_mut(4), Some(&mut 4), "a miss is not remembered for ever");
    }
}
