//! Running sums of what is live: by kind, by stack, by stream.

use whyoom_trace::{Bytes, StackId, StreamId};

use crate::{block::LiveBlock, category::Category};

/// Running sums over the blocks that the program holds.
#[derive(Debug, Default)]
pub(crate) struct LiveSums {
    pub(crate) by_category: [Bytes; Category::ALL.len()],
    /// By the stack's id: ids are dense.
    by_stack: Vec<Bytes>,
    /// Few, so that a search is cheaper than a map.
    by_stream: Vec<(StreamId, Bytes)>,
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
        let stack = self.stack_mut(block.stack);
        *stack = by(*stack, block.size);
        let stream = self.stream_mut(block.stream);
        *stream = by(*stream, block.size);
    }

    fn stack_mut(&mut self, stack: StackId) -> &mut Bytes {
        let index = stack.0 as usize;
        if index >= self.by_stack.len() {
            self.by_stack.resize(index + 1, Bytes::ZERO);
        }
        &mut self.by_stack[index]
    }

    fn stream_mut(&mut self, stream: StreamId) -> &mut Bytes {
        let known = self.by_stream.iter().position(|(known, _)| *known == stream);
        let index = known.unwrap_or_else(|| {
            // A stream that holds nothing makes room, so that many short-lived ones stay few.
            self.by_stream.retain(|(_, bytes)| *bytes > Bytes::ZERO);
            self.by_stream.push((stream, Bytes::ZERO));
            self.by_stream.len() - 1
        });
        &mut self.by_stream[index].1
    }

    /// What a stack holds.
    pub(crate) fn of_stack(&self, stack: StackId) -> Bytes {
        self.by_stack.get(stack.0 as usize).copied().unwrap_or_default()
    }

    /// Stacks up to the largest id that ever held something.
    pub(crate) fn known_stacks(&self) -> usize {
        self.by_stack.len()
    }

    /// The stacks that hold something.
    pub(crate) fn stacks(&self) -> impl Iterator<Item = (StackId, Bytes)> {
        let stacks = self.by_stack.iter().enumerate();
        let holding = stacks.filter(|(_, bytes)| **bytes > Bytes::ZERO);
        holding.map(|(index, &bytes)| (StackId(index as u32), bytes))
    }

    /// The stacks that hold most.
    pub(crate) fn top_stacks(&self, count: usize) -> Vec<(StackId, Bytes)> {
        top(self.stacks().collect(), count)
    }

    /// The streams that hold most.
    pub(crate) fn top_streams(&self, count: usize) -> Vec<(StreamId, Bytes)> {
        top(self.by_stream.clone(), count)
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
