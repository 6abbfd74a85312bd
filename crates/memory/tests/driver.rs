//! Driver memory as a layer of its own, and what is known of a process beside it.

use proptest::prelude::*;
use whyoom_memory::{FailedCall, Interface, Model};
use whyoom_trace::{
    Action, Address, Bytes, ContextId, DeviceId, Event, EventSink, HandleId, MemoryKind, Origin,
    ProcessId, ResultCode, SegmentGrowth, SizeClass, StackId, StringId, SyncScope, Tables, Time,
};

const PROCESS: ProcessId = ProcessId(0);
const GPU: DeviceId = DeviceId(0);

#[derive(Default)]
struct Run {
    model: Model,
    tables: Tables,
}

impl Run {
    fn on(&mut self, device: DeviceId, context: u32, result: i32, action: Action) {
        let origin = Origin { device, context: ContextId(context), ..Origin::default() };
        let (time, result) = (Time(self.model.events()), ResultCode(result));
        let event = Event { time, origin, stack: StackId(0), result, action };
        self.model.event(&event, &self.tables);
    }

    fn push(&mut self, action: Action) {
        self.on(GPU, 1, 0, action);
    }

    fn alloc(&mut self, kind: MemoryKind, address: u64, size: u64) {
        let device = if kind == MemoryKind::Pinned { DeviceId::HOST } else { GPU };
        self.on(device, 1, 0, Action::Alloc { kind, address: Address(address), size: Bytes(size) });
    }

    fn in_use(&self, device: DeviceId) -> u64 {
        self.model.space(PROCESS, device).map_or(0, |space| space.in_use().0)
    }
}

#[test]
fn a_process_without_an_allocator_is_seen_by_its_driver_memory() {
    let mut run = Run::default();
    run.alloc(MemoryKind::Device, 100, 10);
    run.alloc(MemoryKind::Pinned, 900, 70);
    run.alloc(MemoryKind::Managed, 200, 30);
    run.alloc(MemoryKind::Imported, 300, 500);
    run.push(Action::Free { kind: MemoryKind::Device, address: Address(100) });
    let space = run.model.space(PROCESS, GPU).expect("memory was taken there");
    assert_eq!(space.totals().active, Bytes(30), "another process's memory takes nothing here");
    assert_eq!(space.peak().0.allocated, Bytes(40));
    assert_eq!(space.block_counts(), (3, 1));
    let driver = space.driver().expect("its calls were recorded");
    assert_eq!(driver.by_interface()[0].0, Interface::Managed);
    assert_eq!(run.in_use(DeviceId::HOST), 70);
}

#[test]
fn a_reset_takes_what_its_context_made_and_no_more() {
    let mut run = Run::default();
    run.push(Action::ContextCreate);
    run.alloc(MemoryKind::Device, 100, 10);
    run.alloc(MemoryKind::Pinned, 900, 70);
    let other = Action::Alloc { kind: MemoryKind::Device, address: Address(200), size: Bytes(5) };
    run.on(GPU, 2, 0, other);
    run.push(Action::ContextDestroy);
    assert_eq!((run.in_use(GPU), run.in_use(DeviceId::HOST)), (5, 0));
    assert!(!run.model.process(PROCESS).expect("it was recorded").has_context_on(GPU));
}

#[test]
fn a_free_need_not_say_where_the_memory_lay() {
    let mut run = Run::default();
    run.alloc(MemoryKind::Pinned, 900, 70);
    run.push(Action::Free { kind: MemoryKind::Pinned, address: Address(900) });
    assert_eq!(run.in_use(DeviceId::HOST), 0);
}

#[test]
fn what_lies_in_segments_is_not_outside() {
    let mut run = Run::default();
    let (class, growth) = (SizeClass::Large, SegmentGrowth::Fixed);
    run.alloc(MemoryKind::Device, 1000, 100);
    run.push(Action::SegmentAlloc { address: Address(1000), size: Bytes(100), class, growth });
    run.push(Action::Create { handle: HandleId(7), size: Bytes(50) });
    run.push(Action::Map { address: Address(2000), size: Bytes(50), handle: HandleId(7) });
    run.push(Action::SegmentMap { address: Address(2000), size: Bytes(50), class });
    run.alloc(MemoryKind::Device, 5000, 8);
    let space = run.model.space(PROCESS, GPU).expect("memory was taken there");
    let outside: u64 = space.outside_by_stack().iter().map(|(_, usage)| usage.bytes.0).sum();
    assert_eq!((outside, space.held()), (8, Bytes(158)));
}

#[test]
fn failures_and_what_followed_are_kept() {
    let mut run = Run::default();
    let shared_memory = Bytes(4 << 20);
    run.on(GPU, 1, 1, Action::LaunchFailed { kernel: StringId(0), shared_memory });
    run.alloc(MemoryKind::Device, 100, 10);
    run.on(GPU, 1, 700, Action::Synchronize { scope: SyncScope::Device });
    run.push(Action::Exit);
    let process = run.model.process(PROCESS).expect("it was recorded");
    let failures = process.failures();
    assert_eq!(failures.len(), 2);
    assert_eq!(failures[0].call, FailedCall::Launch { kernel: StringId(0), shared_memory });
    let later: Vec<u64> = failures.iter().map(|failure| process.went_on_after(failure)).collect();
    assert_eq!(later, [1, 0]);
    assert!(process.exited().is_some());
}

proptest! {
    #[test]
    fn sums_agree_with_a_reference(
        steps in prop::collection::vec((0u64..20, 1u64..1000, 0u8..4), 0..200),
    ) {
        let mut run = Run::default();
        let mut reference = std::collections::BTreeMap::<(bool, u64), u64>::new();
        let mut peak = 0;
        for (slot, size, step) in steps {
            let (address, handle) = (Address(slot * 4096), HandleId(slot));
            match step {
                0 => {
                    run.alloc(MemoryKind::Device, address.0, size);
                    reference.insert((false, slot), size);
                }
                1 => {
                    run.push(Action::Free { kind: MemoryKind::Device, address });
                    reference.remove(&(false, slot));
                }
                2 if !reference.contains_key(&(true, slot)) => {
                    run.push(Action::Create { handle, size: Bytes(size) });
                    reference.insert((true, slot), size);
                }
                _ => {
                    run.push(Action::Release { handle });
                    reference.remove(&(true, slot));
                }
            }
            let sum: u64 = reference.values().sum();
            peak = peak.max(sum);
            prop_assert_eq!(run.in_use(GPU), sum);
        }
        if let Some(space) = run.model.space(PROCESS, GPU) {
            prop_assert_eq!(space.peak().0.allocated, Bytes(peak));
        }
    }
}
