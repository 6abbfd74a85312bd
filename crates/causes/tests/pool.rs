//! Failures of a process that whyoom's pool serves.

use whyoom_causes::{Verdict, judge};
use whyoom_memory::Model;
use whyoom_trace::{
    Action, Address, Bytes, Counter, DeviceId, Event, EventSink, Origin, ProcessId, ResultCode,
    SizeClass, StackId, StreamId, Tables,
};

const MIB: u64 = 1 << 20;
const GIB: u64 = 1 << 30;

/// A run that the pool serves on a device of 8 GiB, or that PyTorch's expandable segments do.
struct Run {
    tables: Tables,
    model: Model,
    process: ProcessId,
    stack: StackId,
}

impl Run {
    fn new(pool: bool) -> Self {
        let mut tables = Tables::default();
        let process = tables.process("python train.py, process 41");
        let frame = tables.frame_text("forward", "train.py", 7);
        let stack = tables.stack(&[frame]);
        let mut run = Self { tables, model: Model::default(), process, stack };
        let names = [("PYTORCH_CUDA_ALLOC_CONF", "max_split_size_mb:64"), ("whyoom_pool", "on")];
        for (name, value) in &names[..if pool { 2 } else { 1 }] {
            let (name, value) = (run.tables.string(name), run.tables.string(value));
            run.push(0, Action::Setting { name, value });
        }
        run
    }

    fn push(&mut self, stream: u64, action: Action) {
        self.answer(stream, 0, action);
    }

    fn answer(&mut self, stream: u64, result: i32, action: Action) {
        let (process, stream) = (self.process, StreamId(stream));
        let origin = Origin { process, device: DeviceId(0), stream, ..Origin::default() };
        let (stack, result) = (self.stack, ResultCode(result));
        let event = Event { origin, stack, result, action, ..Event::default() };
        self.model.event(&event, &self.tables);
    }

    /// Memory of a stream, of which every other piece of so many bytes is in use.
    fn half_used(&mut self, stream: u64, address: u64, size: u64, piece: u64) {
        let class = SizeClass::Large;
        let map = Action::SegmentMap { address: Address(address), size: Bytes(size), class };
        self.push(stream, map);
        for start in (address..address + size).step_by(2 * piece as usize) {
            let (address, size) = (Address(start), Bytes(piece));
            self.push(stream, Action::BlockAlloc { address, requested: size, size });
        }
    }

    fn refused(&mut self, requested: u64, counters: &[(Counter, u64)], result: i32) -> Verdict {
        for (counter, bytes) in counters {
            self.push(0, Action::Sample { counter: *counter, bytes: Bytes(*bytes) });
        }
        self.answer(0, result, Action::OutOfMemory { requested: Bytes(requested) });
        judge(&self.model, &self.tables)
    }
}

/// The device is full, but for so much.
fn full(free: u64) -> [(Counter, u64); 2] {
    [(Counter::DeviceTotal, 8 * GIB), (Counter::DeviceFree, free)]
}

fn words(verdict: &Verdict) -> String {
    let findings = std::iter::once(&verdict.primary).chain(&verdict.contributing);
    let told = findings.map(|finding| {
        let remedies = finding.remedies.iter();
        let remedies: Vec<String> =
            remedies.map(|r| format!("{} {}", r.code().unwrap_or(""), r.what)).collect();
        let head = format!("{}: {}\n{}", finding.cause, finding.headline, finding.because);
        format!("{head}\n{}", remedies.join("\n"))
    });
    told.collect::<Vec<_>>().join("\n")
}

#[test]
fn pieces_of_the_pool_are_no_fragmented_cache() {
    let told = |pool| {
        let mut run = Run::new(pool);
        run.half_used(0, 0, 7 * GIB, 256 * MIB / 512);
        words(&run.refused(3 * GIB, &full(100 * MIB), 0))
    };
    assert!(told(false).starts_with("fragmented-cache"), "{}", told(false));
    let told = told(true);
    assert!(!told.contains("fragmented-cache") && !told.contains("ALLOC_CONF"), "{told}");
}

#[test]
fn only_what_idle_pages_do_not_cover_was_missing() {
    let mut run = Run::new(true);
    run.half_used(0, 0, 6 * GIB, 6 * GIB);
    // Another stream's idle pages are as good as the request's own.
    run.half_used(9, 8 * GIB, GIB, 512 * MIB);
    let verdict = run.refused(GIB, &full(256 * MIB), 0);
    let told = words(&verdict);
    assert!(
        told.starts_with("working-set") && told.contains("The request fell 256.00 MiB short"),
        "{told}"
    );
    assert!(!told.contains("ALLOC_CONF"), "{told}");
}

#[test]
fn a_cap_is_raised_where_it_was_set() {
    for (cap, switch, other) in [
        (Some("1073741824"), "--pool-cap 1536MiB", "set_per_process_memory_fraction"),
        (None, "set_per_process_memory_fraction(0.19)", "--pool-cap"),
    ] {
        let mut run = Run::new(true);
        if let Some(cap) = cap {
            let (name, value) = (run.tables.string("WHYOOM_POOL_CAP"), run.tables.string(cap));
            run.push(0, Action::Setting { name, value });
        }
        run.half_used(0, 0, GIB, GIB / 2);
        let counters = [full(6 * GIB)[0], full(6 * GIB)[1], (Counter::Allowed, GIB)];
        let verdict = run.refused(GIB, &counters, 0);
        let told = words(&verdict);
        assert!(told.starts_with("limit: A limit of 1.00 GiB"), "{told}");
        assert!(told.contains(switch) && !told.contains(other), "{told}");
    }
}

#[test]
fn what_the_pool_keeps_from_others_is_its_idle_pages() {
    let mut run = Run::new(true);
    run.half_used(0, 0, 7 * GIB, GIB / 2);
    let alloc = Action::Alloc {
        kind: whyoom_trace::MemoryKind::Managed,
        address: Address(1 << 40),
        size: Bytes(MIB),
    };
    run.push(0, alloc);
    let verdict = run.refused(GIB, &full(64 * MIB), 2);
    let told = words(&verdict);
    assert!(told.starts_with("cache-held: whyoom's pool holds 3.50 GiB"), "{told}");
}
