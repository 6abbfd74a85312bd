//! The model against a reference that keeps everything and computes each figure anew.

use std::collections::BTreeMap;

use proptest::prelude::*;
use whyoom_memory::Model;
use whyoom_trace::{
    Action, Address, Bytes, DeviceId, Event, EventSink, Origin, ProcessId, SegmentGrowth,
    SizeClass, StackId, StreamId, Tables, Time,
};

const SLOT: u64 = 1 << 20;
const SLOTS: u64 = 32;

#[derive(Debug, Clone, Copy)]
enum Step {
    Alloc { slot: u64, size: u64, stack: u32, stream: u64 },
    FreeRequested { slot: u64 },
    Free { slot: u64 },
}

fn step() -> impl Strategy<Value = Step> {
    let slot = 0..SLOTS;
    prop_oneof![
        3 => (slot.clone(), 1..SLOT, 0u32..5, 0u64..3)
            .prop_map(|(slot, size, stack, stream)| Step::Alloc { slot, size, stack, stream }),
        1 => slot.clone().prop_map(|slot| Step::FreeRequested { slot }),
        2 => slot.prop_map(|slot| Step::Free { slot }),
    ]
}

#[derive(Debug, Clone, Copy)]
struct Block {
    size: u64,
    stack: u32,
    stream: u64,
    pending: bool,
}

/// Feeds the steps to the model and to the reference; the reference comes back with its peak.
fn run(steps: &[Step]) -> (Model, BTreeMap<u64, Block>, u64) {
    let (mut tables, mut model) = (Tables::default(), Model::default());
    for stack in 0..5 {
        let frame = tables.frame_text("main", "train.py", stack);
        tables.stack(&[frame]);
    }
    let mut blocks = BTreeMap::<u64, Block>::new();
    let mut peak = 0;
    let mut push = |stack: u32, stream: u64, action: Action| {
        let origin = Origin { stream: StreamId(stream), ..Origin::default() };
        let event =
            Event { time: Time(0), origin, stack: StackId(stack), action, ..Event::default() };
        model.event(&event, &tables);
    };
    let (class, growth) = (SizeClass::Large, SegmentGrowth::Fixed);
    let size = Bytes(SLOT * SLOTS);
    push(0, 0, Action::SegmentAlloc { address: Address(0), size, class, growth });
    for &step in steps {
        match step {
            Step::Alloc { slot, size, stack, stream } => {
                let (address, requested) = (Address(slot * SLOT), Bytes(size / 2));
                push(stack, stream, Action::BlockAlloc { address, requested, size: Bytes(size) });
                blocks.insert(slot, Block { size, stack, stream, pending: false });
            }
            Step::FreeRequested { slot } => {
                push(0, 0, Action::BlockFreeRequested { address: Address(slot * SLOT) });
                if let Some(block) = blocks.get_mut(&slot) {
                    block.pending = true;
                }
            }
            Step::Free { slot } => {
                push(0, 0, Action::BlockFree { address: Address(slot * SLOT) });
                blocks.remove(&slot);
            }
        }
        let held = blocks.values().filter(|block| !block.pending);
        peak = peak.max(held.map(|block| block.size).sum());
    }
    (model, blocks, peak)
}

/// Sums of the blocks that the program holds, by a key.
fn sums<K: Ord>(blocks: &BTreeMap<u64, Block>, key: impl Fn(&Block) -> K) -> BTreeMap<K, Bytes> {
    let mut sums = BTreeMap::new();
    for block in blocks.values().filter(|block| !block.pending) {
        let sum = sums.entry(key(block)).or_insert(Bytes::ZERO);
        *sum = sum.plus(Bytes(block.size));
    }
    sums
}

proptest! {
    #[test]
    fn the_model_agrees_with_the_reference(steps in prop::collection::vec(step(), 1..300)) {
        let (model, blocks, peak) = run(&steps);
        let space = model.space(ProcessId(0), DeviceId(0)).unwrap();
        let totals = space.totals();
        let active: u64 = blocks.values().map(|block| block.size).sum();
        let allocated: u64 = blocks.values().filter(|b| !b.pending).map(|b| b.size).sum();
        prop_assert_eq!(totals.active, Bytes(active));
        prop_assert_eq!(totals.allocated, Bytes(allocated));
        prop_assert_eq!(totals.blocks, blocks.len() as u64);
        prop_assert_eq!(space.peak().0.allocated, Bytes(peak));

        // Bytes are conserved: what is not a block is a gap.
        let gaps: Bytes = space.address_map().flat_map(|s| s.gaps().collect::<Vec<_>>()).map(|(_, b)| b).sum();
        prop_assert_eq!(gaps, totals.reserved.minus(totals.active));
        prop_assert_eq!(space.free_space().total, gaps);

        // The last point of the timeline is now, as long as each event makes one.
        let now = space.timeline().points().last().unwrap();
        prop_assert_eq!(now.end.allocated, totals.allocated);
        let by_stack: BTreeMap<u32, Bytes> = now.by_stack.iter().map(|(s, b)| (s.0, *b)).collect();
        prop_assert_eq!(by_stack, sums(&blocks, |block| block.stack));
        let by_stream: BTreeMap<u64, Bytes> =
            now.by_stream.iter().filter(|(_, b)| *b > Bytes::ZERO).map(|(s, b)| (s.0, *b)).collect();
        prop_assert_eq!(by_stream, sums(&blocks, |block| block.stream));
        let by_category: Bytes = now.by_category.iter().copied().sum();
        prop_assert_eq!(by_category, totals.allocated);
    }
}
