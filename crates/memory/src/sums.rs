//! Running sums of what is live: by kind, by stack, by stream.

use std::collections::HashMap;

use foldhash::fast::RandomState;
use serde::{Deserialize, Serialize};
use whyoom_trace::{Bytes, StackId, StreamId};

use crate::{block::LiveBlock, by_stack::ByStack, category::Category};

/// As many streams are searched one by one, which is cheaper than a map. A program has fewer.
const FEW_STREAMS: usize = 16;

/// Telling who holds most takes time in proportion to stacks and streams. Up to so many of them a point of a
/// series is free; of more, one is made only after so large a part of them in events.
const FEW_HOLDERS: u64 = 4096;
const PART_OF_HOLDERS: u64 = 64;

/// Running sums over the blocks that the program holds.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct LiveSums {
    pub(crate) by_category: [Bytes; Category::ALL.len()],
    by_stack: ByStack<Bytes>,
    by_stream: StreamSums,
}

impl LiveSums {
    pub(crate) fn add(&mut self, block: &LiveBlock) {
        self.change(block, Bytes::plus);
    }

    pub(crate) fn remove(&mut self, block: &LiveBlock) {
        self.change(block, Bytes::minus);
    }

    fn change(&mut self, block: &LiveBlock, by: fn(Bytes, Bytes) -> Bytes) {
        let category = &mut self.by_category[block.category as usize];
        *category = by(*category, block.size);
        let stack = self.by_stack.get_mut(block.stack);
        *stack = by(*stack, block.size);
        self.by_stream.change(block.stream, |bytes| by(bytes, block.size));
    }

    /// What a stack holds.
    pub(crate) fn of_stack(&self, stack: StackId) -> Bytes {
        self.by_stack.get(stack)
    }

    /// Whether a point that tells who holds most may be made, after so many events since the last one.
    pub(crate) fn affords_point(&self, events: u64) -> bool {
        let holders = (self.by_stack.len() + self.by_stream.len()) as u64;
        holders <= FEW_HOLDERS || events * PART_OF_HOLDERS >= holders
    }

    /// The stacks that hold something.
    pub(crate) fn stacks(&self) -> impl Iterator<Item = (StackId, Bytes)> {
        self.by_stack.iter().filter(|(_, bytes)| *bytes > Bytes::ZERO)
    }

    /// The stacks that hold most.
    pub(crate) fn top_stacks(&self, count: usize) -> Vec<(StackId, Bytes)> {
        top(self.stacks().collect(), count)
    }

    /// The streams that hold most.
    pub(crate) fn top_streams(&self, count: usize) -> Vec<(StreamId, Bytes)> {
        top(self.by_stream.iter().collect(), count)
    }
}

/// What each stream holds.
#[derive(Debug, Default, Serialize, Deserialize)]
struct StreamSums {
    /// The first that came. One that holds nothing makes room for another.
    few: Vec<(StreamId, Bytes)>,
    /// All others that hold something.
    others: HashMap<StreamId, Bytes, RandomState>,
}

impl StreamSums {
    fn change(&mut self, stream: StreamId, by: impl Fn(Bytes) -> Bytes) {
        if let Some((_, bytes)) = self.few.iter_mut().find(|(known, _)| *known == stream) {
            *bytes = by(*bytes);
            return;
        }
        let before = self.others.remove(&stream).unwrap_or_default();
        let now = by(before);
        if now > Bytes::ZERO {
            self.put(stream, now);
        }
    }

    fn put(&mut self, stream: StreamId, bytes: Bytes) {
        let unused = self.few.iter().position(|(_, bytes)| *bytes == Bytes::ZERO);
        match unused {
            Some(unused) => self.few[unused] = (stream, bytes),
            None if self.few.len() < FEW_STREAMS => self.few.push((stream, bytes)),
            None => {
                self.others.insert(stream, bytes);
            }
        }
    }

    fn len(&self) -> usize {
        self.few.len() + self.others.len()
    }

    fn iter(&self) -> impl Iterator<Item = (StreamId, Bytes)> {
        let others = self.others.iter().map(|(&stream, &bytes)| (stream, bytes));
        self.few.iter().copied().chain(others)
    }
}

fn top<K>(mut sums: Vec<(K, Bytes)>, count: usize) -> Vec<(K, Bytes)> {
    let most_first = |(_, bytes): &(K, Bytes)| std::cmp::Reverse(*bytes);
    if sums.len() > count {
        sums.select_nth_unstable_by_key(count, most_first);
        sums.truncate(count);
        // A thousand points keep these: without the room of those that were cut off.
        sums.shrink_to_fit();
    }
    sums.sort_by_key(most_first);
    sums
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn streams_add_up_as_in_a_map(
            steps in prop::collection::vec((0u64..40, 0u64..5, any::<bool>()), 0..400),
        ) {
            let (mut sums, mut expected) = (StreamSums::default(), BTreeMap::new());
            for (stream, size, more) in steps {
                let stream = StreamId(stream);
                let by = if more { Bytes::plus } else { Bytes::minus };
                sums.change(stream, |bytes| by(bytes, Bytes(size)));
                let entry: &mut Bytes = expected.entry(stream).or_default();
                *entry = by(*entry, Bytes(size));
            }
            let held = sums.iter().filter(|(_, bytes)| *bytes > Bytes::ZERO);
            let held: BTreeMap<StreamId, Bytes> = held.collect();
            expected.retain(|_, bytes| *bytes > Bytes::ZERO);
            prop_assert_eq!(held, expected);
        }
    }

    #[test]
    fn very_many_streams_come_and_go_in_little_room() {
        let mut sums = StreamSums::default();
        for stream in 0..100_000 {
            sums.change(StreamId(stream), |bytes| bytes.plus(Bytes(1)));
            sums.change(StreamId(stream), |bytes| bytes.minus(Bytes(1)));
        }
        assert_eq!(sums.len(), 1);
    }
}
