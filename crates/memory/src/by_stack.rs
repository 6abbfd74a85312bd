//! Something for each stack that a process or a device met.

use std::cell::Cell;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};
use whyoom_trace::StackId;

/// Stacks side by side share a page.
const PAGE: usize = 64;

thread_local! {
    /// How many stacks what is being read may name: room is made for all below the highest.
    static STACKS: Cell<usize> = const { Cell::new(0) };
}

/// Reads something saved that names so many stacks and no more.
pub(crate) fn naming_stacks<T>(stacks: usize, read: impl FnOnce() -> T) -> T {
    let before = STACKS.replace(stacks);
    let read = read();
    STACKS.set(before);
    read
}

/// A value for each stack, by its id. Ids are dense over all that was read, but one of very many devices may know
/// only the last of them: what nobody asked for costs next to nothing.
#[derive(Debug)]
pub(crate) struct ByStack<T> {
    pages: Vec<Option<Box<[T; PAGE]>>>,
    in_use: usize,
}

impl<T> Default for ByStack<T> {
    fn default() -> Self {
        Self { pages: Vec::new(), in_use: 0 }
    }
}

impl<T: Copy + Default> ByStack<T> {
    /// The value of a stack; the default where it has none yet.
    pub(crate) fn get(&self, stack: StackId) -> T {
        let index = stack.0 as usize;
        let page = self.pages.get(index / PAGE).and_then(Option::as_ref);
        page.map_or_else(T::default, |page| page[index % PAGE])
    }

    pub(crate) fn get_mut(&mut self, stack: StackId) -> &mut T {
        let index = stack.0 as usize;
        let page = index / PAGE;
        if page >= self.pages.len() {
            self.pages.resize_with(page + 1, || None);
        }
        let in_use = &mut self.in_use;
        let page = self.pages[page].get_or_insert_with(|| {
            *in_use += 1;
            Box::new([T::default(); PAGE])
        });
        &mut page[index % PAGE]
    }

    /// How many [`ByStack::iter`] goes through at most.
    pub(crate) fn len(&self) -> usize {
        self.in_use * PAGE + self.pages.len()
    }

    /// The values in order of id, with defaults among them.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (StackId, T)> {
        let pages = self.pages.iter().enumerate();
        let pages = pages.filter_map(|(number, page)| Some((number * PAGE, page.as_ref()?)));
        pages.flat_map(|(first, page)| {
            page.iter().enumerate().map(move |(index, &it)| (StackId((first + index) as u32), it))
        })
    }
}

impl<T: Copy + Default + PartialEq + Serialize> Serialize for ByStack<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let is_known = |(_, value): &(StackId, T)| *value != T::default();
        self.iter().filter(is_known).collect::<Vec<_>>().serialize(serializer)
    }
}

impl<'de, T: Copy + Default + Deserialize<'de>> Deserialize<'de> for ByStack<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut values = Self::default();
        for (stack, value) in Vec::<(StackId, T)>::deserialize(deserializer)? {
            if stack.0 as usize >= STACKS.get() {
                return Err(D::Error::custom("a stack that is not there"));
            }
            *values.get_mut(stack) = value;
        }
        Ok(values)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_put_is_found_in_order_and_the_rest_is_nothing() {
        let mut values = ByStack::<u64>::default();
        for stack in [1_000_000, 3, 64, 3] {
            *values.get_mut(StackId(stack)) += u64::from(stack);
        }
        let found: Vec<_> = values.iter().filter(|(_, value)| *value > 0).collect();
        let expected = [(3, 6), (64, 64), (1_000_000, 1_000_000)];
        assert_eq!(found, expected.map(|(stack, value)| (StackId(stack), value)));
        assert_eq!((values.get(StackId(64)), values.get(StackId(u32::MAX))), (64, 0));
        assert!(values.len() < 20_000, "{} are looked at", values.len());
    }
}
