//! Captures, graphs and their memory: the documented rules, and a model that only adds.
#![expect(clippy::unwrap_used, reason = "a test says what it expects by unwrapping")]

use proptest::prelude::*;
use whyoom_lab_core::{
    Error,
    driver::{
        Box3, CaptureMode, Driver, Edge, Fill, GraphMemoryAttribute, HostCall, UpdateReason, Work,
        exchange_mode,
    },
    machine::{DeviceSpec, Machine, MachineSpec, Quirks},
    models,
};

const MIB: u64 = 1 << 20;
const TOTAL: u64 = 4096 * MIB;

/// A driver on a device of its own, its primary context and two streams.
struct Lab {
    machine: Machine,
    driver: Driver,
    context: u64,
    streams: [u64; 2],
    chunk: u64,
}

impl Lab {
    fn new() -> Self {
        Self::with(Quirks::default())
    }

    fn with(quirks: Quirks) -> Self {
        static NUMBER: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        let name = format!("whyoom-test-graphs-{}-{number}", std::process::id());
        let file = std::env::temp_dir().join(name);
        let model = models::find(models::DEFAULT).unwrap();
        let device = DeviceSpec::of(model).with_total(TOTAL);
        let spec = MachineSpec { devices: vec![device], quirks, ..MachineSpec::default() };
        let machine = Machine::create(&file, &spec).unwrap();
        std::fs::remove_file(&file).unwrap();
        let mut driver = Driver::on(machine, &[0], None).unwrap();
        let context = driver.retain_primary(0).unwrap();
        driver.set_current(context).unwrap();
        let streams = [(); 2].map(|()| driver.create_stream(context, false, 0).unwrap());
        Self { machine, driver, context, streams, chunk: model.pool_chunk.value }
    }

    fn begin(&mut self) {
        let (context, stream) = (self.context, self.streams[0]);
        self.driver.begin_capture(context, stream, CaptureMode::Global, None).unwrap();
    }

    fn end(&mut self) -> Result<u64, Error> {
        self.driver.end_capture(self.streams[0])
    }

    fn alloc(&mut self, size: u64) -> u64 {
        let pool = self.driver.default_pool(0).unwrap();
        self.driver.alloc_async(self.context, pool, self.streams[0], size).unwrap()
    }

    fn reserved(&self) -> u64 {
        self.driver.graph_memory(0, GraphMemoryAttribute::Reserved).unwrap()
    }

    fn fill(&mut self, target: u64, value: u32) -> Result<bool, Error> {
        let fill = Fill { target, pitch: 0, value, element: 4, width: 4, height: 1 };
        self.driver.enqueue(self.context, self.streams[0], Work::Fill(fill))
    }
}

#[test]
fn captured_work_is_done_at_the_launch() {
    let mut lab = Lab::new();
    let memory = lab.driver.alloc(lab.context, 4 * MIB).unwrap();
    lab.fill(memory, 1).unwrap();
    lab.begin();
    lab.fill(memory, 2).unwrap();
    let mut seen = [0_u32; 4];
    let copy = Work::Copy(Box3::line(seen.as_mut_ptr() as u64, memory, 16));
    assert_eq!(lab.driver.enqueue(lab.context, lab.streams[0], copy), Ok(false), "captured");
    let graph = lab.end().unwrap();
    assert_eq!(seen, [0; 4]);
    let nodes = lab.driver.graph_nodes(graph).unwrap();
    assert_eq!(lab.driver.dependencies(nodes[1]).unwrap(), [Edge::plain(nodes[0])]);
    let exec = lab.driver.instantiate(graph, 0).unwrap();
    lab.driver.destroy_graph(graph).unwrap();
    assert_eq!(lab.driver.launch_graph(lab.context, exec, lab.streams[1]), Ok(Vec::new()));
    assert_eq!(seen, [2; 4]);
}

#[test]
fn nodes_of_an_executable_graph_are_charged_on_request() {
    let mut lab = Lab::with(Quirks { graph_node_bytes: 64 * MIB, ..Quirks::default() });
    let memory = lab.driver.alloc(lab.context, 4 * MIB).unwrap();
    lab.begin();
    for value in 1..=3 {
        lab.fill(memory, value).unwrap();
    }
    let graph = lab.end().unwrap();
    let (before, _) = lab.driver.memory_info(0).unwrap();
    let exec = lab.driver.instantiate(graph, 0).unwrap();
    let (with_graph, _) = lab.driver.memory_info(0).unwrap();
    assert_eq!(before - with_graph, 3 * 64 * MIB);
    lab.driver.destroy_exec(exec).unwrap();
    assert_eq!(lab.driver.memory_info(0).unwrap().0, before);
    let rest = lab.driver.alloc(lab.context, before - 100 * MIB).unwrap();
    assert_eq!(lab.driver.instantiate(graph, 0), Err((Error::OutOfMemory, None)));
    lab.driver.free(lab.context, rest).unwrap();
    assert!(lab.driver.instantiate(graph, 0).is_ok());
}

#[test]
fn events_carry_a_capture_to_another_stream_and_back() {
    let mut lab = Lab::new();
    let (driver, [first, second]) = (&mut lab.driver, lab.streams);
    let event = driver.create_event(lab.context, false).unwrap();
    driver.begin_capture(lab.context, first, CaptureMode::Global, None).unwrap();
    driver.enqueue(lab.context, first, Work::Empty).unwrap();
    driver.record(event, first, false).unwrap();
    driver.wait(second, event, false).unwrap();
    driver.enqueue(lab.context, second, Work::Empty).unwrap();
    assert_eq!(driver.query_event(event), Err(Error::CapturedEvent));
    assert_eq!(driver.end_capture(second), Err(Error::StreamCaptureUnmatched));
    assert_eq!(driver.end_capture(first), Err(Error::StreamCaptureInvalidated), "by the query");

    driver.begin_capture(lab.context, first, CaptureMode::Global, None).unwrap();
    driver.enqueue(lab.context, first, Work::Empty).unwrap();
    driver.record(event, first, false).unwrap();
    driver.wait(second, event, false).unwrap();
    driver.enqueue(lab.context, second, Work::Empty).unwrap();
    assert_eq!(driver.end_capture(first), Err(Error::StreamCaptureUnjoined));

    driver.begin_capture(lab.context, first, CaptureMode::Global, None).unwrap();
    driver.enqueue(lab.context, first, Work::Empty).unwrap();
    driver.record(event, first, false).unwrap();
    driver.wait(second, event, false).unwrap();
    driver.enqueue(lab.context, second, Work::Empty).unwrap();
    driver.record(event, second, false).unwrap();
    driver.wait(first, event, false).unwrap();
    driver.enqueue(lab.context, first, Work::Empty).unwrap();
    let graph = driver.end_capture(first).unwrap();
    let nodes = driver.graph_nodes(graph).unwrap();
    let waits: Vec<u64> =
        driver.dependencies(nodes[2]).unwrap().iter().map(|edge| edge.node).collect();
    assert_eq!(waits, [nodes[0], nodes[1]]);
    assert_eq!(driver.wait(first, event, false), Err(Error::CapturedEvent), "it has ended");
}

#[test]
fn captures_forbid_what_they_cannot_see() {
    let mut lab = Lab::new();
    let (context, [first, second]) = (lab.context, lab.streams);
    let legacy = lab.driver.stream(context, 0).unwrap();
    let begun = lab.driver.begin_capture(context, legacy, CaptureMode::Global, None);
    assert_eq!(begun, Err(Error::StreamCaptureUnsupported));
    assert_eq!(lab.end(), Err(Error::IllegalState), "none began");

    lab.begin();
    let again = lab.driver.begin_capture(context, first, CaptureMode::Global, None);
    assert_eq!(again, Err(Error::IllegalState));
    assert_eq!(lab.driver.forbid_in_capture(), Err(Error::StreamCaptureUnsupported));
    assert_eq!(lab.fill(1, 1), Err(Error::StreamCaptureInvalidated));
    assert_eq!(lab.end(), Err(Error::StreamCaptureInvalidated));
    assert_eq!(lab.driver.forbid_in_capture(), Ok(()), "it is over");

    lab.begin();
    assert_eq!(exchange_mode(CaptureMode::Relaxed), CaptureMode::Global);
    assert_eq!(lab.driver.forbid_in_capture(), Ok(()));
    assert_eq!(exchange_mode(CaptureMode::Global), CaptureMode::Relaxed);
    let outcome = std::thread::scope(|scope| {
        let driver = &mut lab.driver;
        scope.spawn(move || driver.end_capture(first)).join().unwrap()
    });
    assert_eq!(outcome, Err(Error::StreamCaptureWrongThread));
    assert!(lab.end().is_ok());

    lab.driver.begin_capture(context, first, CaptureMode::ThreadLocal, None).unwrap();
    let elsewhere = std::thread::scope(|scope| {
        let driver = &mut lab.driver;
        scope.spawn(move || driver.forbid_in_capture()).join().unwrap()
    });
    assert_eq!(elsewhere, Ok(()), "other threads are free");
    assert_eq!(lab.driver.enqueue(context, legacy, Work::Empty), Ok(true), "not blocking");
    assert_eq!(lab.driver.forbid_for_stream(context, first), Err(Error::StreamCaptureUnsupported));
    assert_eq!(lab.end(), Err(Error::StreamCaptureInvalidated));

    let blocking = lab.driver.create_stream(context, true, 0).unwrap();
    lab.driver.begin_capture(context, blocking, CaptureMode::Relaxed, None).unwrap();
    assert_eq!(lab.driver.capture_info(context, legacy), Err(Error::StreamCaptureImplicit));
    assert!(lab.driver.capture_info(context, blocking).unwrap().unwrap().valid, "unharmed");
    let implicit = lab.driver.enqueue(context, legacy, Work::Empty);
    assert_eq!(implicit, Err(Error::StreamCaptureImplicit));
    assert_eq!(lab.driver.end_capture(blocking), Err(Error::StreamCaptureInvalidated));

    lab.begin();
    let event = lab.driver.create_event(context, false).unwrap();
    lab.driver.record(event, second, false).unwrap();
    let outside = lab.driver.wait(first, event, false);
    assert_eq!(outside, Err(Error::StreamCaptureIsolation));
    assert_eq!(lab.end(), Err(Error::StreamCaptureInvalidated));

    lab.begin();
    lab.driver.begin_capture(context, second, CaptureMode::Global, None).unwrap();
    lab.driver.record(event, first, false).unwrap();
    assert_eq!(lab.driver.wait(second, event, false), Err(Error::StreamCaptureMerge));
    assert_eq!(lab.end(), Err(Error::StreamCaptureInvalidated));
    assert_eq!(lab.driver.end_capture(second), Err(Error::StreamCaptureInvalidated));
}

#[test]
fn captured_allocations_are_the_graphs() {
    let mut lab = Lab::new();
    let before = lab.machine.used(0);
    lab.begin();
    let gone = lab.alloc(64 * MIB);
    lab.driver.free_async(lab.context, lab.streams[0], gone).unwrap();
    let kept = lab.alloc(64 * MIB);
    assert_eq!(gone, kept, "behind the free, the address is used again");
    lab.fill(kept, 3).unwrap();
    let ordinary = lab.driver.alloc(lab.context, 4 * MIB).unwrap();
    let freed = lab.driver.free_async(lab.context, lab.streams[0], ordinary);
    assert_eq!(freed, Err(Error::InvalidValue), "documented: graph allocations only");
    lab.driver.free(lab.context, ordinary).unwrap();
    let graph = lab.end().unwrap();
    assert_eq!(lab.driver.clone_graph(graph), Err(Error::InvalidValue));
    let exec = lab.driver.instantiate(graph, 0).unwrap();
    assert!(lab.driver.instantiate(graph, 0).is_err(), "documented: one at a time");
    assert_eq!(lab.machine.used(0), before, "no memory before the launch");
    assert!(lab.driver.find(kept).is_none());

    lab.driver.launch_graph(lab.context, exec, lab.streams[0]).unwrap();
    assert_eq!((lab.machine.used(0) - before, lab.reserved()), (64 * MIB, 64 * MIB));
    assert_eq!(lab.driver.find(kept).unwrap().size, 64 * MIB);
    let again = lab.driver.launch_graph(lab.context, exec, lab.streams[0]);
    assert_eq!(again, Err(Error::InvalidValue), "its allocation is not freed");
    lab.driver.destroy_exec(exec).unwrap();
    lab.driver.destroy_graph(graph).unwrap();
    lab.driver.trim_graph_memory(0).unwrap();
    assert_eq!(lab.reserved(), 64 * MIB, "the allocation outlives its graph");
    lab.driver.free(lab.context, kept).unwrap();
    assert_eq!(lab.driver.free(lab.context, kept), Err(Error::InvalidValue));
    lab.driver.trim_graph_memory(0).unwrap();
    assert_eq!((lab.reserved(), lab.machine.used(0)), (0, before));
    let high = lab.driver.graph_memory(0, GraphMemoryAttribute::ReservedHigh).unwrap();
    assert_eq!(high, 64 * MIB);
}

#[test]
fn a_launch_without_memory_takes_nothing() {
    let mut lab = Lab::new();
    let graph = lab.driver.create_graph();
    let (alloc, address) = lab.driver.add_alloc(graph, &[], 0, 3 * TOTAL / 4).unwrap();
    let free = lab.driver.add_node(graph, &[Edge::plain(alloc)], Work::Free(address)).unwrap();
    assert!(lab.driver.add_node(graph, &[Edge::plain(free)], Work::Free(address)).is_err());
    let exec = lab.driver.instantiate(graph, 0).unwrap();
    let before = lab.machine.used(0);
    let hog = lab.driver.alloc(lab.context, TOTAL / 2).unwrap();
    let launched = lab.driver.launch_graph(lab.context, exec, lab.streams[0]);
    assert_eq!(launched, Err(Error::OutOfMemory));
    lab.driver.free(lab.context, hog).unwrap();
    assert_eq!(lab.machine.used(0), before);
    lab.driver.launch_graph(lab.context, exec, lab.streams[0]).unwrap();
    assert_eq!(lab.reserved(), 3 * TOTAL / 4);
    lab.driver.reset_primary(0).unwrap();
    assert_eq!(lab.machine.used(0), 0, "the end of the context gives everything back");
}

#[test]
fn parts_copies_and_updates() {
    let mut lab = Lab::new();
    let memory = lab.driver.alloc(lab.context, 4 * MIB).unwrap();
    let fill = |value| {
        let (target, pitch, element, width, height) = (memory, 0, 4, 4, 1);
        Work::Fill(Fill { target, pitch, value, element, width, height })
    };
    let driver = &mut lab.driver;
    let inner = driver.create_graph();
    let node = driver.add_node(inner, &[], fill(5)).unwrap();
    let outer = driver.create_graph();
    let part = driver.add_child(outer, &[], inner, false).unwrap();
    let call = HostCall { function: 1, data: 2 };
    let host = driver.add_node(outer, &[Edge::plain(part)], Work::Host(call)).unwrap();
    assert_eq!(driver.graph_roots(outer).unwrap(), [part]);
    let Work::Child(copy) = driver.node_work(part).unwrap() else { panic!("a part") };
    assert_eq!(driver.destroy_graph(copy), Err(Error::InvalidValue), "it is the node's");
    let copied = driver.find_in_clone(node, copy).unwrap();
    driver.set_node_work(node, fill(6)).unwrap();
    assert_eq!(driver.node_work(copied).unwrap(), fill(5), "a copy of its own");

    let exec = driver.instantiate(outer, 0).unwrap();
    let calls = driver.launch_graph(lab.context, exec, lab.streams[0]).unwrap();
    assert_eq!(calls, [call]);
    let clone = driver.clone_graph(outer).unwrap();
    assert_eq!(driver.update_exec(exec, clone), Ok(Ok(())));
    driver.add_node(clone, &[], Work::Empty).unwrap();
    let failure = driver.update_exec(exec, clone).unwrap().unwrap_err();
    assert_eq!(failure.reason, UpdateReason::Topology);
    let stuck = driver.add_dependencies(outer, &[(Edge::plain(host), part)]);
    assert_eq!(stuck, Ok(()), "found out when it is instantiated");
    assert_eq!(driver.instantiate(outer, 0), Err((Error::InvalidValue, Some(part))));
    assert!(driver.graph_as_dot(outer).unwrap().contains("MEMSET"));
}

#[test]
fn conditions_are_what_they_were_made_with() {
    let mut lab = Lab::new();
    let memory = lab.driver.alloc(lab.context, 4 * MIB).unwrap();
    let mut seen = 0_u32;
    let driver = &mut lab.driver;
    let graph = driver.create_graph();
    let on = driver.create_condition(graph, 1).unwrap();
    assert!(driver.add_conditional(graph, &[], on, 1, 2).is_err(), "a loop has one body");
    let (node, bodies) = driver.add_conditional(graph, &[], on, 0, 2).unwrap();
    for (value, body) in (8..).zip(bodies) {
        let (target, pitch, element, width, height) = (memory, 0, 4, 1, 1);
        let fill = Work::Fill(Fill { target, pitch, value, element, width, height });
        driver.add_node(body, &[], fill).unwrap();
    }
    let copy = Work::Copy(Box3::line(&raw mut seen as u64, memory, 4));
    driver.add_node(graph, &[Edge::plain(node)], copy).unwrap();
    assert_eq!(driver.clone_graph(graph), Err(Error::InvalidValue));
    let exec = driver.instantiate(graph, 0).unwrap();
    driver.launch_graph(lab.context, exec, lab.streams[0]).unwrap();
    assert_eq!(seen, 8, "the body of a condition that is not zero");
}

#[test]
fn a_graph_launched_into_a_capture_is_a_part_of_it() {
    let mut lab = Lab::new();
    let graph = lab.driver.create_graph();
    lab.driver.add_node(graph, &[], Work::Empty).unwrap();
    let exec = lab.driver.instantiate(graph, 0).unwrap();
    lab.begin();
    lab.driver.capture_launch(lab.streams[0], exec).unwrap();
    let outer = lab.end().unwrap();
    let nodes = lab.driver.graph_nodes(outer).unwrap();
    assert!(matches!(lab.driver.node_work(nodes[0]), Ok(Work::Child(_))));
}

#[test]
fn objects_end_with_their_last_reference() {
    let mut lab = Lab::new();
    let driver = &mut lab.driver;
    let graph = driver.create_graph();
    let end = HostCall { function: 7, data: 8 };
    let object = driver.create_object(end, 1).unwrap();
    driver.retain_object_in_graph(graph, object, 1, true).unwrap();
    let exec = driver.instantiate(graph, 0).unwrap();
    driver.destroy_graph(graph).unwrap();
    assert_eq!(driver.take_due(), [], "the executable graph has it");
    driver.destroy_exec(exec).unwrap();
    assert_eq!(driver.take_due(), [end]);
    assert_eq!(driver.release_object(object, 1), Err(Error::InvalidValue));
    assert_eq!(driver.create_object(end, 0), Err(Error::InvalidValue));
}

#[derive(Clone, Debug)]
enum Call {
    /// Make a graph: sizes of allocations, and whether each is freed in it.
    Make(Vec<(u64, bool)>),
    Launch(usize, usize),
    FreeLeft(usize),
    Destroy(usize),
    Trim,
}

fn calls() -> impl Strategy<Value = Vec<Call>> {
    let allocation = (1..96 * MIB, any::<bool>());
    let which = 0..usize::MAX;
    let call = prop_oneof![
        prop::collection::vec(allocation, 1..5).prop_map(Call::Make),
        (which.clone(), 0..2_usize).prop_map(|(graph, stream)| Call::Launch(graph, stream)),
        which.clone().prop_map(Call::FreeLeft),
        which.prop_map(Call::Destroy),
        Just(Call::Trim),
    ];
    prop::collection::vec(call, 1..40)
}

/// An executable graph: its allocations that no node frees, and which of them live.
struct Made {
    exec: u64,
    unfreed: Vec<(u64, u64)>,
    live: bool,
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn the_device_has_in_use_what_graphs_have_reserved(calls in calls()) {
        let mut lab = Lab::new();
        let empty = lab.machine.used(0);
        let mut made: Vec<Made> = Vec::new();
        for call in calls {
            match call {
                Call::Make(sizes) => {
                    let graph = lab.driver.create_graph();
                    let (mut before, mut unfreed) = (Vec::new(), Vec::new());
                    for (size, freed) in sizes {
                        let (node, address) = lab.driver.add_alloc(graph, &before, 0, size).unwrap();
                        before = vec![Edge::plain(node)];
                        if freed {
                            let node = lab.driver.add_node(graph, &before, Work::Free(address));
                            before = vec![Edge::plain(node.unwrap())];
                        } else {
                            unfreed.push((address, size));
                        }
                    }
                    let exec = lab.driver.instantiate(graph, 0).unwrap();
                    lab.driver.destroy_graph(graph).unwrap();
                    made.push(Made { exec, unfreed, live: false });
                }
                Call::Launch(which, stream) if !made.is_empty() => {
                    let index = which % made.len();
                    let stream = lab.streams[stream];
                    let launched = lab.driver.launch_graph(lab.context, made[index].exec, stream);
                    match launched {
                        Ok(_) => made[index].live = !made[index].unfreed.is_empty(),
                        Err(Error::InvalidValue) => prop_assert!(made[index].live),
                        Err(error) => prop_assert_eq!(error, Error::OutOfMemory),
                    }
                }
                Call::FreeLeft(which) if !made.is_empty() => {
                    let index = which % made.len();
                    for (address, _) in &made[index].unfreed {
                        let freed = lab.driver.free_async(lab.context, lab.streams[0], *address);
                        prop_assert_eq!(freed.is_ok(), made[index].live);
                    }
                    made[index].live = false;
                }
                Call::Destroy(which) if !made.is_empty() => {
                    let index = which % made.len();
                    if !made[index].live {
                        lab.driver.destroy_exec(made.swap_remove(index).exec).unwrap();
                    }
                }
                Call::Trim => {
                    lab.driver.trim_graph_memory(0).unwrap();
                    let live = made.iter().filter(|graph| graph.live);
                    let least: u64 = live.flat_map(|graph| &graph.unfreed).map(|(_, size)| size).sum();
                    prop_assert!(lab.reserved() >= least);
                    prop_assert!(least > 0 || lab.reserved() == 0);
                }
                _ => {}
            }
            let used = lab.driver.graph_memory(0, GraphMemoryAttribute::Used).unwrap();
            prop_assert!(used <= lab.reserved());
            prop_assert_eq!(lab.machine.used(0) - empty, lab.reserved());
            prop_assert!(lab.reserved().is_multiple_of(lab.chunk));
        }
        lab.driver.reset_primary(0).unwrap();
        prop_assert_eq!(lab.machine.used(0), 0);
    }
}
