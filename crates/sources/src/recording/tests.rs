//! Made events through the translator.

mod pool;

use whyoom_trace::{
    Action, Address, Bytes, Counter, DeviceId, Event, EventSink, HandleId, MemoryKind, Origin,
    PoolId, ProcessId, ProcessState, ResultCode, SegmentGrowth, SizeClass, StackId, StringId,
    Tables, ThreadId, Time,
    facts::{Fact, POOL},
};

use super::{
    machine::Machine,
    machine_samples::{MachineSample, SeenDevice, SeenHolder},
    translate::{Found, Translator},
};

const MIB: u64 = 1 << 20;
const REFUSED: ResultCode = ResultCode(2);

fn event(thread: u32, action: Action) -> Event {
    let origin = Origin { thread: ThreadId(thread), ..Origin::default() };
    Event { origin, action, ..Event::default() }
}

fn alloc(address: u64, size: u64) -> Action {
    Action::Alloc { kind: MemoryKind::Device, address: Address(address), size: Bytes(size) }
}

fn free(address: u64) -> Action {
    Action::Free { kind: MemoryKind::Device, address: Address(address) }
}

fn block(address: u64, size: u64) -> Action {
    Action::BlockAlloc { address: Address(address), requested: Bytes(size), size: Bytes(size) }
}

fn segment(address: u64, size: u64, class: SizeClass) -> Action {
    let (address, size, growth) = (Address(address), Bytes(size), SegmentGrowth::Fixed);
    Action::SegmentAlloc { address, size, class, growth }
}

fn sample(counter: Counter, bytes: u64) -> Action {
    Action::Sample { counter, bytes: Bytes(bytes) }
}

fn failure(requested: u64) -> Action {
    Action::OutOfMemory { requested: Bytes(requested) }
}

fn translate(events: &[Event], tables: &Tables) -> (Vec<Action>, Found) {
    let (mut sent, machine) = (Vec::<Event>::new(), Machine::default());
    let mut translator = Translator::new(&mut sent, &machine);
    for (time, event) in events.iter().enumerate() {
        translator.event(&Event { time: Time(time as u64), ..*event }, tables);
    }
    let found = translator.finish(tables);
    (sent.iter().map(|event| event.action).collect(), found)
}

fn of_one_thread(actions: &[Action]) -> Vec<Action> {
    let events: Vec<Event> = actions.iter().map(|action| event(1, *action)).collect();
    translate(&events, &Tables::default()).0
}

/// A stack inside PyTorch's allocator, and one outside.
fn stacks(tables: &mut Tables) -> (StackId, StackId) {
    let inside = tables.frame_text("alloc_block", "libc10_cuda.so", 0);
    let outside = tables.frame_text("main", "program", 0);
    (tables.stack(&[inside, outside]), tables.stack(&[outside]))
}

#[test]
fn what_blocks_lie_in_is_a_segment() {
    let sent = of_one_thread(&[
        alloc(0, 2 * MIB),
        block(0, 512),
        block(512, 512),
        alloc(64 * MIB, 20 * MIB),
        block(64 * MIB, 2 * MIB),
        free(64 * MIB),
        alloc(64 * MIB, 20 * MIB),
    ]);
    let expected = [
        segment(0, 2 * MIB, SizeClass::Small),
        block(0, 512),
        block(512, 512),
        segment(64 * MIB, 20 * MIB, SizeClass::Large),
        block(64 * MIB, 2 * MIB),
        Action::SegmentFree { address: Address(64 * MIB) },
        alloc(64 * MIB, 20 * MIB),
    ];
    assert_eq!(sent, expected);
}

/// The pools of what was sent, of events that happened in a capture or in none (0).
fn pools_of(events: &[(u32, Action)]) -> Vec<u32> {
    let (mut sent, machine, tables) = (Vec::<Event>::new(), Machine::default(), Tables::default());
    let mut translator = Translator::new(&mut sent, &machine);
    for (capture, action) in events {
        let mut event = event(1, *action);
        event.origin.pool = PoolId(*capture);
        translator.event(&event, &tables);
    }
    translator.finish(&tables);
    sent.iter().map(|event| event.origin.pool.0).collect()
}

#[test]
fn what_a_capture_takes_is_its_graphs() {
    let pools = pools_of(&[
        (0, alloc(0, 64 * MIB)),
        (0, block(0, 20 * MIB)),
        (1, alloc(64 * MIB, 20 * MIB)),
        (1, block(64 * MIB, 20 * MIB)),
        // Of another stream meanwhile.
        (1, block(20 * MIB, 20 * MIB)),
        (0, block(40 * MIB, 20 * MIB)),
        (2, alloc(128 * MIB, 20 * MIB)),
        (2, block(128 * MIB, 20 * MIB)),
    ]);
    assert_eq!(pools, [0, 0, 1, 1, 0, 0, 2, 2]);
}

#[test]
fn graphs_that_share_a_pool_have_one() {
    let pools = pools_of(&[
        (1, alloc(0, 40 * MIB)),
        (1, block(0, 20 * MIB)),
        (2, block(20 * MIB, 20 * MIB)),
        (2, alloc(64 * MIB, 20 * MIB)),
        (2, block(64 * MIB, 20 * MIB)),
        (2, failure(20 * MIB)),
    ]);
    assert_eq!(pools, [1; 6]);
}

#[test]
fn what_no_block_lies_in_stays_the_drivers() {
    let actions = [alloc(0, MIB), alloc(2 * MIB, MIB), free(0), alloc(0, MIB), Action::Exit];
    assert_eq!(of_one_thread(&actions), actions);
}

#[test]
fn another_thread_does_not_decide() {
    let other = alloc(64 * MIB, MIB);
    let events = [
        event(1, alloc(0, 2 * MIB)),
        event(2, other),
        event(2, free(64 * MIB)),
        event(1, block(0, 512)),
    ];
    let expected = [segment(0, 2 * MIB, SizeClass::Small), other, free(64 * MIB), block(0, 512)];
    assert_eq!(translate(&events, &Tables::default()).0, expected);
}

#[test]
fn a_late_block_takes_the_drivers_memory_over() {
    let sent = of_one_thread(&[
        alloc(0, 20 * MIB),
        Action::PoolTrim { keep: Bytes(0) },
        block(MIB, 2 * MIB),
    ]);
    let expected = [
        alloc(0, 20 * MIB),
        Action::PoolTrim { keep: Bytes(0) },
        free(0),
        segment(0, 20 * MIB, SizeClass::Large),
        block(MIB, 2 * MIB),
    ];
    assert_eq!(sent, expected);
}

#[test]
fn mapped_memory_with_blocks_is_a_segment_that_grows() {
    let create = |handle| Action::Create { handle: HandleId(handle), size: Bytes(2 * MIB) };
    let map = |handle: u64| Action::Map {
        address: Address(handle * 2 * MIB),
        size: Bytes(2 * MIB),
        handle: HandleId(handle),
    };
    let grown = |handle: u64| Action::SegmentMap {
        address: Address(handle * 2 * MIB),
        size: Bytes(2 * MIB),
        class: SizeClass::Small,
    };
    let reserve = Action::Reserve { address: Address(0), size: Bytes(64 * MIB) };
    let shrink = |handle: u64| (Address(handle * 2 * MIB), Bytes(2 * MIB));
    let (address, size) = shrink(2);
    let sent = of_one_thread(&[
        reserve,
        create(1),
        map(1),
        block(2 * MIB, 512),
        create(2),
        map(2),
        block(4 * MIB, 512),
        Action::Unmap { address, size },
        Action::Release { handle: HandleId(2) },
    ]);
    let expected = [
        reserve,
        grown(1),
        block(2 * MIB, 512),
        grown(2),
        block(4 * MIB, 512),
        Action::SegmentUnmap { address, size },
    ];
    assert_eq!(sent, expected);
}

#[test]
fn a_refusal_that_pytorch_recovers_from_is_no_failure() {
    let mut tables = Tables::default();
    let (inside, outside) = stacks(&mut tables);
    let refused = |stack, action| Event { stack, result: REFUSED, ..event(1, action) };
    let (first, block) = (event(1, block(0, 512)), event(1, block(64 * MIB, 2 * MIB)));
    let free_bytes = event(1, sample(Counter::DeviceFree, 7));
    let recovered = [first, free_bytes, refused(inside, failure(20 * MIB)), block];
    assert_eq!(translate(&recovered, &tables).0, [first.action, block.action]);
    // Also where it is the first that is heard of PyTorch in this process.
    assert_eq!(translate(&recovered[1..], &tables).0, [block.action]);
    let of_program = [first, free_bytes, refused(outside, failure(20 * MIB)), block];
    let expected = [first.action, free_bytes.action, failure(20 * MIB), block.action];
    assert_eq!(translate(&of_program, &tables).0, expected);
    // A context, a launch or code: PyTorch's library asked, but not its allocator.
    let of_launch = [first, refused(inside, failure(0)), block];
    assert_eq!(translate(&of_launch, &tables).0, [first.action, failure(0), block.action]);
}

#[test]
fn mappings_that_the_pool_retries_are_no_failures() {
    let mut tables = Tables::default();
    let (of_pytorch, _) = stacks(&mut tables);
    let map = tables.frame_text("map", "libwhyoom_pool.so", 0);
    let of_pool = tables.stack(&[map]);
    let (name, value) = (tables.string(POOL), tables.string("on"));
    let served = event(1, Action::Setting { name, value });
    let call =
        Action::LaunchFailed { kernel: tables.string("cuMemMap"), shared_memory: Bytes::ZERO };
    let (first, block) = (event(1, block(0, 512)), event(1, block(64 * MIB, 2 * MIB)));
    // Returns the events but for the setting and the call.
    let translated = |stack, call: Option<Action>| {
        let refused = |action| Event { stack, result: REFUSED, ..event(1, action) };
        let call = call.map(refused);
        let events: Vec<Event> =
            [served, first].into_iter().chain(call).chain([refused(failure(0)), block]).collect();
        let mut sent = translate(&events, &tables).0;
        sent.retain(|action| {
            !matches!(action, Action::Setting { .. } | Action::LaunchFailed { .. })
        });
        sent
    };
    let retried = vec![first.action, block.action];
    let fatal = vec![first.action, failure(0), block.action];
    assert_eq!(translated(of_pool, Some(call)), retried);
    assert_eq!(translated(StackId(0), Some(call)), retried, "no stack was recorded");
    assert_eq!(translated(of_pytorch, Some(call)), fatal);
    assert_eq!(translated(of_pool, None), fatal, "a context is not retried");
}

#[test]
fn what_the_driver_said_goes_before_pytorchs_failure() {
    let mut tables = Tables::default();
    let (inside, _) = stacks(&mut tables);
    let refused = Event { stack: inside, result: REFUSED, ..event(1, failure(20 * MIB)) };
    let events = [
        event(1, sample(Counter::DeviceFree, 7)),
        refused,
        event(1, sample(Counter::Reserved, 5 * MIB)),
        event(1, failure(3 * MIB)),
    ];
    let expected =
        [sample(Counter::DeviceFree, 7), sample(Counter::Reserved, 5 * MIB), failure(3 * MIB)];
    assert_eq!(translate(&events, &tables).0, expected);
    // Nothing else followed: then the driver's word is the last.
    assert_eq!(
        translate(&events[..2], &tables).0,
        [sample(Counter::DeviceFree, 7), failure(20 * MIB)]
    );
}

#[test]
fn both_sides_of_the_segments_are_compared() {
    let with = |reserved| {
        let actions =
            [alloc(0, 2 * MIB), block(0, 512), sample(Counter::Reserved, reserved), failure(MIB)];
        let events: Vec<Event> = actions.iter().map(|action| event(1, *action)).collect();
        translate(&events, &Tables::default()).1.disagreements
    };
    assert_eq!(with(2 * MIB), []);
    let expected = (ProcessId(0), DeviceId(0), Bytes(4 * MIB), Bytes(2 * MIB));
    assert_eq!(with(4 * MIB), [expected]);
}

#[test]
fn processes_of_the_run_are_told_apart_from_others() {
    let mut tables = Tables::default();
    let process = tables.process("program (PID 7)");
    let worker = tables.string("program (PID 8)");
    let holder = |pid| SeenHolder {
        pid,
        bytes: 30,
        standing: ProcessState::Orphan,
        ..SeenHolder::default()
    };
    let device = SeenDevice { holders: [7, 8, 9].map(holder).into(), ..SeenDevice::default() };
    let look = MachineSample { time: 1, pid: 7, devices: vec![device] };
    let (pids, names) = ([(process, 7)].into(), [(8, worker)].into());
    let machine = Machine { pids, names, machine_samples: vec![look].into(), ..Machine::default() };
    let mut sent = Vec::<Event>::new();
    let mut translator = Translator::new(&mut sent, &machine);
    let mut failed = Event { result: ResultCode(0), ..event(1, failure(50)) };
    failed.origin.process = process;
    translator.event(&failed, &tables);
    translator.finish(&tables);
    let actions: Vec<Action> = sent.iter().map(|event| event.action).collect();
    let holder =
        |pid, command, standing| Action::Holder { pid, bytes: Bytes(30), command, standing };
    assert!(actions.contains(&sample(Counter::ProcessUsed, 30)), "{actions:?}");
    assert!(actions.contains(&holder(8, worker, ProcessState::Recorded)), "{actions:?}");
    assert!(actions.contains(&holder(9, StringId(0), ProcessState::Orphan)), "{actions:?}");
}

#[test]
fn what_a_process_used_is_not_guessed_where_it_was_not_seen() {
    let mut tables = Tables::default();
    let process = tables.process("program (PID 7)");
    let other = SeenHolder { pid: 9, bytes: 30, ..SeenHolder::default() };
    let device = SeenDevice { total: 110, free: 20, holders: vec![other], ..SeenDevice::default() };
    let look = MachineSample { time: 1, pid: 7, devices: vec![device] };
    let machine = Machine {
        pids: [(process, 7)].into(),
        machine_samples: vec![look].into(),
        ..Machine::default()
    };
    let mut sent = Vec::<Event>::new();
    let mut translator = Translator::new(&mut sent, &machine);
    let mut failed = Event { result: ResultCode(0), ..event(1, failure(50)) };
    failed.origin.process = process;
    translator.event(&failed, &tables);
    translator.finish(&tables);
    let used = |event: &Event| {
        matches!(event.action, Action::Sample { counter: Counter::ProcessUsed, .. })
    };
    assert!(!sent.iter().any(used), "{sent:?}");
}

#[test]
fn the_least_that_a_process_used_of_each_device_is_told_at_its_end() {
    let mut tables = Tables::default();
    let process = tables.process("program (PID 7)");
    let device = |index, bytes| {
        let holder = SeenHolder { pid: 7, bytes, ..SeenHolder::default() };
        SeenDevice { index, holders: vec![holder], ..SeenDevice::default() }
    };
    let look = |time, bytes| MachineSample {
        time,
        pid: 7,
        devices: vec![device(0, 40), device(1, bytes)],
    };
    let machine_samples = vec![look(1, 90), look(2, 30)].into();
    let machine = Machine { pids: [(process, 7)].into(), machine_samples, ..Machine::default() };
    let mut sent = Vec::<Event>::new();
    let mut translator = Translator::new(&mut sent, &machine);
    let mut exit = event(1, Action::Exit);
    exit.origin.process = process;
    translator.event(&exit, &tables);
    translator.finish(&tables);
    let told: Vec<(DeviceId, u64)> = sent
        .iter()
        .filter_map(|event| match event.action {
            Action::Fact { fact: Fact::MinUsage { device, bytes } } => Some((device, bytes.0)),
            _ => None,
        })
        .collect();
    assert_eq!(told, [(DeviceId(0), 40), (DeviceId(1), 30)]);
}

#[test]
fn pieces_that_go_back_count_as_free() {
    let mut tables = Tables::default();
    let (inside, _) = stacks(&mut tables);
    let create = Action::Create { handle: HandleId(1), size: Bytes(20 * MIB) };
    let refused = Event { stack: inside, result: REFUSED, ..event(1, failure(20 * MIB)) };
    let events = [
        event(1, create),
        event(1, sample(Counter::DeviceFree, 10 * MIB)),
        refused,
        event(1, Action::Release { handle: HandleId(1) }),
        event(1, failure(64 * MIB)),
    ];
    let sent = translate(&events, &tables).0;
    assert!(sent.contains(&sample(Counter::DeviceFree, 30 * MIB)), "{sent:?}");
}
