//! Growth in runs that are built here: what is one, what only looks like it, and how much it left.

use whyoom_memory::{Growth, IterationSource, Model, Retention};
use whyoom_trace::{
    Action, Address, Bytes, DeviceId, Event, EventSink, MarkKind, MemoryKind, Origin, ProcessId,
    StackId, Tables, Time,
};

const MIB: u64 = 1 << 20;
const GPU: DeviceId = DeviceId(0);

/// A run that is told event by event, with addresses of its own.
struct Run {
    tables: Tables,
    model: Model,
    process: ProcessId,
    clock: u64,
    next: u64,
}

/// A frame: function, file, line.
type Frame = (&'static str, &'static str, u32);

const TORCH: Frame = ("at::native::empty_cuda", "libtorch_cuda.so", 0);
const MODEL: Frame = ("forward", "/home/me/model.py", 31);
const LOOP: Frame = ("main", "/home/me/train.py", 12);

impl Run {
    fn new() -> Self {
        let mut tables = Tables::default();
        let process = tables.process("python train.py (PID 41)");
        Self { tables, model: Model::default(), process, clock: 0, next: 1 << 40 }
    }

    fn stack(&mut self, frames: &[Frame]) -> StackId {
        let ids: Vec<_> = frames
            .iter()
            .map(|(function, file, line)| self.tables.frame_text(function, file, *line))
            .collect();
        self.tables.stack(&ids)
    }

    fn push(&mut self, stack: StackId, action: Action) {
        self.push_on(GPU, stack, action);
    }

    fn push_on(&mut self, device: DeviceId, stack: StackId, action: Action) {
        self.clock += 1000;
        let origin = Origin { process: self.process, device, ..Origin::default() };
        let event = Event { time: Time(self.clock), origin, stack, action, ..Event::default() };
        self.model.event(&event, &self.tables);
    }

    /// A block of PyTorch's allocator.
    fn block(&mut self, stack: StackId, size: u64) -> Address {
        let address = Address(self.next);
        self.next += size.max(512);
        self.push(stack, Action::BlockAlloc { address, requested: Bytes(size), size: Bytes(size) });
        address
    }

    fn end(&mut self, address: Address) {
        self.push(StackId(0), Action::BlockFree { address });
    }

    /// The program says that an iteration begins.
    fn mark(&mut self) {
        let name = self.tables.string("step");
        let action = Action::Mark { kind: MarkKind::Iteration, name };
        self.push_on(DeviceId::HOST, StackId(0), action);
    }

    /// A block that is not kept.
    fn passing(&mut self, stack: StackId, size: u64) {
        let address = self.block(stack, size);
        self.end(address);
    }

    /// Memory of the driver's own.
    fn take(&mut self, stack: StackId, size: u64) -> Address {
        let address = Address(self.next);
        self.next += size;
        let kind = MemoryKind::Device;
        self.push(stack, Action::Alloc { kind, address, size: Bytes(size) });
        address
    }

    fn give_back(&mut self, address: Address) {
        self.push(StackId(0), Action::Free { kind: MemoryKind::Device, address });
    }

    /// A request that is refused; what is said of it comes back.
    fn refused(&mut self, stack: StackId, size: u64) -> Option<Growth> {
        let action = Action::OutOfMemory { requested: Bytes(size) };
        self.push(stack, action);
        self.model.incidents().last().and_then(|incident| incident.growth.clone())
    }

    fn growth(&self) -> Option<Growth> {
        self.model.growth(self.process, GPU)
    }

    #[track_caller]
    fn assert_grew(&self, truth: u64) -> Growth {
        let growth = self.growth().expect("it grows");
        let error = growth.total.0.abs_diff(truth) as f64 / truth as f64;
        assert!(error <= 0.05, "{} is not {}: {growth:#?}", growth.total, Bytes(truth));
        growth
    }
}

/// The stacks of a training loop.
struct Training {
    batch: StackId,
    inner: StackId,
    output: StackId,
    loss: StackId,
    backward: StackId,
    state: StackId,
}

impl Training {
    fn of(run: &mut Run) -> Self {
        let inside = ("forward", "/home/me/model.py", 30);
        Self {
            batch: run.stack(&[TORCH, ("batch", "/home/me/train.py", 4)]),
            inner: run.stack(&[TORCH, inside, LOOP]),
            output: run.stack(&[TORCH, MODEL, LOOP]),
            loss: run.stack(&[TORCH, ("loss", "/home/me/train.py", 8), LOOP]),
            backward: run.stack(&[("torch::autograd::Engine::thread_main", "libtorch_cpu.so", 0)]),
            state: run.stack(&[TORCH, ("_init_group", "/lib/torch/optim/adamw.py", 9), LOOP]),
        }
    }

    /// One step, with what becomes of its blocks left to the caller: the inner activation, the output and
    /// the loss.
    fn step(&self, run: &mut Run, first: bool) -> [Address; 3] {
        let batch = run.block(self.batch, MIB);
        let inner = run.block(self.inner, 8 * MIB);
        let output = run.block(self.output, 2 * MIB);
        let loss = run.block(self.loss, 512);
        run.passing(self.backward, 16 * MIB);
        if first {
            run.block(self.state, 200 * MIB);
        }
        run.end(batch);
        [inner, output, loss]
    }
}

#[test]
fn what_the_warm_up_left_counts_and_the_optimizers_state_does_not() {
    let mut run = Run::new();
    let training = Training::of(&mut run);
    for step in 0..60 {
        training.step(&mut run, step == 0);
    }
    let growth = run.assert_grew(60 * (10 * MIB + 512));
    assert_eq!(growth.source, IterationSource::TrainingPhases);
    assert!(growth.iterations.abs_diff(60) <= 1, "{growth:?}");
    assert_eq!(growth.per_iteration, Bytes(10 * MIB + 512));
    assert!(matches!(growth.hold, Retention::Graph { inside } if inside >= Bytes(59 * 8 * MIB)));
    assert!(growth.backward);
}

#[test]
fn what_the_program_says_of_its_iterations_comes_before_all_that_is_found() {
    let mut run = Run::new();
    let training = Training::of(&mut run);
    for step in 0..80 {
        // Gradients of two steps are accumulated: an iteration of the program's is two of what is seen.
        if step % 2 == 0 {
            run.mark();
        }
        training.step(&mut run, step == 0);
    }
    let growth = run.assert_grew(80 * (10 * MIB + 512));
    assert_eq!(growth.source, IterationSource::Marks);
    assert!(growth.iterations.abs_diff(40) <= 1, "{growth:?}");
    assert_eq!(growth.per_iteration, Bytes(2 * (10 * MIB + 512)));
    assert!(run.model.growth(run.process, DeviceId::HOST).is_none());
}

#[test]
fn one_output_an_iteration_is_a_value_that_is_kept() {
    let mut run = Run::new();
    let training = Training::of(&mut run);
    for step in 0..40 {
        let [inner, _, loss] = training.step(&mut run, step == 0);
        run.end(inner);
        run.end(loss);
    }
    let growth = run.assert_grew(40 * 2 * MIB);
    assert_eq!(growth.hold, Retention::Value);
    assert_eq!(growth.stacks.len(), 1);
    assert_eq!(growth.blocks.len(), 40);
}

#[test]
fn several_blocks_now_and_then_are_no_single_value() {
    let mut run = Run::new();
    let training = Training::of(&mut run);
    let copies = run.stack(&[TORCH, ("keep", "/home/me/train.py", 20), LOOP]);
    for step in 0..100 {
        let made = training.step(&mut run, step == 0);
        made.into_iter().for_each(|address| run.end(address));
        if step % 10 == 9 {
            for _ in 0..4 {
                run.block(copies, 4 * MIB);
            }
        }
    }
    let growth = run.assert_grew(10 * 16 * MIB);
    assert_eq!(growth.hold, Retention::Unknown);
}

#[test]
fn what_begins_late_is_growth_and_only_what_came_then_counts() {
    let mut run = Run::new();
    let training = Training::of(&mut run);
    for step in 0..140 {
        let [inner, output, loss] = training.step(&mut run, step == 0);
        run.end(inner);
        run.end(loss);
        if step < 100 {
            run.end(output);
        }
    }
    let growth = run.assert_grew(40 * 2 * MIB);
    assert!(growth.iterations.abs_diff(40) <= 1, "{growth:?}");
}

#[test]
fn what_is_accumulated_and_given_back_is_no_growth_wherever_the_run_ends() {
    for steps in 80..96 {
        let mut run = Run::new();
        let training = Training::of(&mut run);
        let mut kept = Vec::new();
        for step in 0..steps {
            if step % 16 == 0 {
                kept.drain(..).for_each(|address| run.end(address));
            }
            kept.extend(training.step(&mut run, step == 0));
        }
        assert_eq!(run.growth(), None, "{steps}");
    }
}

#[test]
fn a_cache_that_is_full_is_no_growth() {
    for full in [20, 100, 170] {
        let mut run = Run::new();
        let training = Training::of(&mut run);
        for step in 0..200 {
            let [inner, output, loss] = training.step(&mut run, step == 0);
            run.end(inner);
            run.end(loss);
            if step >= full {
                run.end(output);
            }
        }
        assert_eq!(run.growth(), None, "{full}");
    }
}

#[test]
fn longer_sequences_are_no_growth() {
    let mut run = Run::new();
    let (batch, output) = {
        let training = Training::of(&mut run);
        (training.batch, training.output)
    };
    let mut last = None;
    for step in 0..60 {
        let input = run.block(batch, MIB);
        // The program's variable holds the last output until the next is there.
        let next = run.block(output, (step + 1) * MIB);
        last.replace(next).into_iter().for_each(|before| run.end(before));
        run.end(input);
    }
    assert_eq!(run.growth(), None);
}

/// A loop in C: each round takes a buffer that it gives back, and what `leaves` says.
fn rounds(run: &mut Run, count: u64, mut leaves: impl FnMut(&mut Run, StackId, u64)) {
    let passing = run.stack(&[("cudaMalloc", "libcudart.so.13", 0), ("work", "/src/work.cu", 9)]);
    let kept = run.stack(&[("cudaMalloc", "libcudart.so.13", 0), ("work", "/src/work.cu", 14)]);
    for round in 0..count {
        let scratch = run.take(passing, 64 * MIB);
        leaves(run, kept, round);
        run.give_back(scratch);
    }
}

#[test]
fn a_loop_in_c_that_leaves_buffers_of_any_size_grows() {
    let mut run = Run::new();
    let mut truth = 0;
    rounds(&mut run, 50, |run, kept, round| {
        let size = (1 + round * 7 % 13) * MIB;
        truth += size;
        run.take(kept, size);
    });
    let growth = run.assert_grew(truth);
    assert_eq!(growth.source, IterationSource::RepeatedLine);
    assert!(growth.interval.0 <= growth.per_iteration && growth.per_iteration <= growth.interval.1);
}

#[test]
fn a_ring_of_buffers_is_no_growth_however_little_longer_the_run_is() {
    for count in [45, 60, 200] {
        let mut run = Run::new();
        let mut ring = std::collections::VecDeque::new();
        rounds(&mut run, count, |run, kept, _| {
            ring.push_back(run.take(kept, 4 * MIB));
            if ring.len() > 40 {
                run.give_back(ring.pop_front().expect("it is full"));
            }
        });
        // Of 45 rounds 40 filled it: that cannot be told from a loop that pauses.
        assert!(count == 45 || run.growth().is_none(), "{count}");
    }
}

#[test]
fn lines_that_grow_are_counted_together() {
    let mut run = Run::new();
    let second = run.stack(&[("cudaMalloc", "libcudart.so.13", 0), ("more", "/src/work.cu", 20)]);
    rounds(&mut run, 40, |run, kept, _| {
        run.take(kept, 16 * MIB);
        run.take(second, 2 * MIB);
        let other = run.take(second, MIB);
        run.give_back(other);
    });
    let growth = run.assert_grew(40 * 18 * MIB);
    assert_eq!(growth.stacks.len(), 2);
}

#[test]
fn what_was_taken_once_at_the_start_is_no_growth() {
    let mut run = Run::new();
    let field = run.stack(&[("cudaMalloc", "libcudart.so.13", 0), ("fields", "/src/work.cu", 3)]);
    for _ in 0..100 {
        run.take(field, 4 * MIB);
        let staging = run.take(field, MIB);
        run.give_back(staging);
    }
    rounds(&mut run, 100, |_, _, _| ());
    assert_eq!(run.growth(), None);
}

#[test]
fn the_iteration_that_was_refused_counts_for_no_loading() {
    let mut run = Run::new();
    let packed = run.stack(&[("cudaMalloc", "libcudart.so.13", 0), ("decode", "/src/work.cu", 9)]);
    let timeline_data =
        run.stack(&[("cudaMalloc", "libcudart.so.13", 0), ("decode", "/src/work.cu", 10)]);
    for _ in 0..60 {
        run.take(packed, 12 * MIB);
        let passing = run.take(timeline_data, 24 * MIB);
        run.give_back(passing);
    }
    run.take(packed, 12 * MIB);
    let growth = run.refused(timeline_data, 24 * MIB).expect("it grows");
    assert_eq!((growth.total, growth.iterations), (Bytes(61 * 12 * MIB), 61));
}

#[test]
fn a_tensor_that_a_larger_one_replaces_each_time_grows() {
    let mut run = Run::new();
    let joined = run.stack(&[("at::native::cat_cuda", "libtorch_cuda.so", 0), LOOP]);
    let output = run.stack(&[TORCH, MODEL, LOOP]);
    let input = run.stack(&[TORCH, ("batch", "/home/me/train.py", 4), LOOP]);
    let mut all = run.block(joined, 16 * MIB);
    for step in 2..=40 {
        let batch = run.block(input, MIB);
        let made = run.block(output, 16 * MIB);
        let next = run.block(joined, step * 16 * MIB);
        [all, made, batch].into_iter().for_each(|gone| run.end(gone));
        all = next;
    }
    // In a run that has memory enough it cannot be told from work whose size grows.
    assert_eq!(run.growth(), None);
    let growth = run.refused(joined, 41 * 16 * MIB).expect("it grows");
    assert_eq!((growth.total, growth.hold), (Bytes(40 * 16 * MIB), Retention::Value));
    assert_eq!(growth.per_iteration, Bytes(16 * MIB));
}

#[test]
fn an_input_that_grows_while_the_work_takes_most_is_no_growth() {
    let mut run = Run::new();
    let input = run.stack(&[TORCH, ("batch", "/home/me/train.py", 4), LOOP]);
    let inner = run.stack(&[TORCH, MODEL, LOOP]);
    let mut last = run.block(input, MIB);
    for step in 2..=40 {
        let next = run.block(input, step * MIB);
        run.end(last);
        last = next;
        run.passing(inner, step * 8 * MIB);
    }
    run.block(inner, 300 * MIB);
    assert_eq!(run.refused(inner, 300 * MIB), None);
}

/// Blocks that one line makes and keeps, until it is refused one more.
fn collected(frames: &[Frame], count: u64) -> Option<Growth> {
    let mut run = Run::new();
    let line = run.stack(frames);
    (0..count).for_each(|_| _ = run.block(line, 24 * MIB));
    run.refused(line, 24 * MIB)
}

#[test]
fn a_line_that_is_refused_more_of_what_it_keeps_collects() {
    let growth = collected(&[TORCH, LOOP], 40).expect("it grows");
    assert_eq!((growth.total, growth.hold), (Bytes(40 * 24 * MIB), Retention::Value));
    assert_eq!(collected(&[TORCH, LOOP], 24), None, "the layers of a model");
    for set_up in [
        "load_weights",
        "__init__",
        "_allocate_kv_cache",
        "build_tables",
        "read_tensor",
        "<listcomp>",
    ] {
        let frames = [TORCH, (set_up, "/home/me/model.py", 7), LOOP];
        assert_eq!(collected(&frames, 40), None, "{set_up}");
    }
    let copied = [TORCH, ("at::native::_to_copy", "libtorch_cpu.so", 0), LOOP];
    assert_eq!(collected(&copied, 40), None, "from the host");
    let compiled = [("cudaMalloc", "libcudart.so.13", 0), ("main", "/src/lattice.cu", 19)];
    assert_eq!(collected(&compiled, 40), None, "fields of a solver");
}

#[test]
fn what_takes_the_place_of_something_else_is_no_growth() {
    let mut run = Run::new();
    let [long, short, other] = [5, 8, 12].map(|line| run.stack(&[TORCH, ("main", "/m.py", line)]));
    let rows: Vec<_> = (0..100).map(|_| run.block(long, 4 * MIB)).collect();
    for row in rows {
        run.end(row);
        run.block(short, 4 * MIB);
    }
    assert_eq!(run.refused(other, 400 * MIB), None);
}

#[test]
fn what_is_mostly_rounding_is_not_collected() {
    let mut run = Run::new();
    let line = run.stack(&[TORCH, LOOP]);
    for number in 0..1000 {
        let (address, requested) = (Address((1 << 40) + number * 512), Bytes(8));
        run.push(line, Action::BlockAlloc { address, requested, size: Bytes(512) });
    }
    assert_eq!(run.refused(line, 8), None);
}

#[test]
fn what_was_made_before_something_else_is_refused_is_no_growth() {
    let mut run = Run::new();
    let line = run.stack(&[TORCH, LOOP]);
    (0..40).for_each(|_| _ = run.block(line, 24 * MIB));
    let other = run.stack(&[TORCH, ("work", "/home/me/train.py", 40), LOOP]);
    assert_eq!(run.refused(other, 24 * MIB), None);
}

#[test]
fn an_evaluation_after_training_that_keeps_its_graphs_grows() {
    let mut run = Run::new();
    let training = Training::of(&mut run);
    for step in 0..10 {
        for address in training.step(&mut run, step == 0) {
            run.end(address);
        }
    }
    for _ in 0..6 {
        let batch = run.block(training.batch, MIB);
        run.block(training.inner, 400 * MIB);
        run.block(training.output, 2 * MIB);
        run.end(batch);
    }
    let growth = run.refused(training.inner, 400 * MIB).expect("it grows");
    assert!(!growth.backward, "these calls are followed by none");
    assert!(growth.total >= Bytes(5 * 402 * MIB), "{growth:#?}");
}

#[test]
fn calls_that_one_backward_uses_together_do_not_grow() {
    let mut run = Run::new();
    let training = Training::of(&mut run);
    for _ in 0..6 {
        let mut kept = Vec::new();
        for _ in 0..6 {
            let batch = run.block(training.batch, MIB);
            kept.push(run.block(training.inner, 400 * MIB));
            run.end(batch);
        }
        run.passing(training.backward, 16 * MIB);
        kept.into_iter().for_each(|address| run.end(address));
    }
    for _ in 0..6 {
        run.block(training.batch, MIB);
        run.block(training.inner, 400 * MIB);
    }
    assert_eq!(run.refused(training.inner, 400 * MIB), None);
}

#[test]
fn a_buffer_that_a_larger_one_replaces_is_no_leak() {
    let mut run = Run::new();
    let grow = run.stack(&[("reserve", "/home/me/buffer.cpp", 5)]);
    let mut buffer = run.take(grow, 32 * MIB);
    for size in 2..14 {
        let larger = run.take(grow, size * 32 * MIB);
        run.give_back(buffer);
        buffer = larger;
    }
    let growth = run.refused(grow, 14 * 32 * MIB).expect("it grows");
    assert!(growth.is_replaced, "{growth:#?}");
}

/// A program that sets up, works in rounds, and exits in order: Python gives back all that it had kept.
fn exits(rounds: u64, set_up: u64, leaves: impl Fn(u64) -> bool) -> Option<Growth> {
    let mut run = Run::new();
    let load = run.stack(&[TORCH, ("load", "/home/me/eval.py", 4)]);
    let keep = run.stack(&[TORCH, ("step", "/home/me/eval.py", 9)]);
    let work = run.stack(&[TORCH, ("step", "/home/me/eval.py", 8)]);
    let mut kept = Vec::new();
    for _ in 0..set_up {
        run.passing(work, MIB);
        kept.push(run.block(load, 4 * MIB));
    }
    for round in 0..rounds {
        let passing = run.block(work, 4 * MIB);
        if leaves(round) {
            kept.push(run.block(keep, 4 * MIB));
        }
        run.end(passing);
    }
    for address in kept {
        run.end(address);
    }
    run.push(StackId(0), Action::Exit);
    run.growth()
}

#[test]
fn what_is_kept_until_the_program_exits_grew() {
    let growth = exits(400, 3, |_| true).expect("growth");
    assert_eq!((growth.total, growth.iterations), (Bytes(1600 * MIB), 400));
    assert_eq!(growth.per_iteration, Bytes(4 * MIB));
    assert_eq!(growth.source, IterationSource::RepeatedLine);
}

#[test]
fn what_is_loaded_once_and_kept_until_the_program_exits_did_not_grow() {
    assert_eq!(exits(400, 100, |_| false), None);
    assert_eq!(exits(20, 100, |_| false), None);
    // A cache that fills in the first half.
    assert_eq!(exits(400, 3, |round| round < 200), None);
}
