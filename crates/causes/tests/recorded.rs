//! Causes that only a recorded run shows, on event streams that are built here.
mod told;

use whyoom_causes::Verdict;
use whyoom_trace::{
    Action, Address, Bytes, Counter, DeviceId, MemoryKind, Origin, PoolId, ProcessState,
    SegmentGrowth, SizeClass, StackId, StreamId, StringId, SyncScope, facts::Fact,
};

use told::{GIB, GPU, MIB, Run};

impl Run {
    fn alloc(&mut self, stack: StackId, address: u64, size: u64) {
        let (kind, address, size) = (MemoryKind::Device, Address(address), Bytes(size));
        self.push(stack, Action::Alloc { kind, address, size });
    }

    fn segment(&mut self, address: u64, size: u64) {
        let (class, growth) = (SizeClass::Large, SegmentGrowth::Fixed);
        let (address, size) = (Address(address), Bytes(size));
        self.push(StackId(0), Action::SegmentAlloc { address, size, class, growth });
    }

    fn block(&mut self, stack: StackId, address: u64, size: u64) {
        let (address, size) = (Address(address), Bytes(size));
        self.push(stack, Action::BlockAlloc { address, requested: size, size });
    }

    fn free_block(&mut self, address: u64) {
        self.push(StackId(0), Action::BlockFree { address: Address(address) });
    }

    fn holder(&mut self, pid: u32, bytes: u64, command: &str, standing: ProcessState) {
        let command = self.tables.string(command);
        self.push(StackId(0), Action::Holder { pid, bytes: Bytes(bytes), command, standing });
    }

    /// Another process of the run that holds memory.
    fn worker(&mut self, pid: u32, bytes: u64) {
        let name = format!("python worker (PID {pid})");
        self.tables.process(&name);
        self.holder(pid, bytes, &name, ProcessState::Recorded);
    }
}

fn pasted(verdict: &Verdict) -> String {
    let lines = verdict.primary.remedies.iter().filter_map(|remedy| remedy.code());
    lines.collect::<Vec<_>>().join("\n")
}

#[track_caller]
fn assert_cause(verdict: &Verdict, cause: &str, words: &[&str]) {
    let primary = &verdict.primary;
    let sites: Vec<&str> = primary.call_sites.iter().map(|site| site.call_site.as_str()).collect();
    let (sites, pasted) = (sites.join("\n"), pasted(verdict));
    let told = format!("{}\n{}\n{sites}\n{pasted}", primary.headline, primary.because);
    assert_eq!(primary.cause, cause, "{told}\n{:#?}", verdict.contributing);
    for word in words {
        assert!(told.contains(word), "lacks {word:?}:\n{told}");
    }
}

const TRAIN: (&str, &str, u32) = ("main", "/home/me/train.py", 12);
const TORCH: (&str, &str, u32) = ("at::native::empty_cuda", "libtorch_cuda.so", 0);

#[test]
fn a_cache_beside_another_allocator_is_named() {
    let mut run = Run::new();
    let arena =
        run.stack(&[("cuMemAlloc_v2", "libcuda.so.1", 0), ("take", "/home/me/arena.py", 24)]);
    let torch = run.stack(&[TORCH, TRAIN]);
    run.segment(4 * GIB, 5 * GIB);
    run.block(torch, 4 * GIB, 5 * GIB);
    run.free_block(4 * GIB);
    run.sample(Counter::ProcessUsed, 5 * GIB + 400 * MIB);
    run.refused(arena, 4 * GIB, 2 * GIB, 2);
    run.exit();
    let verdict = run.judge();
    assert_cause(&verdict, "cache-held", &["5.00 GiB", "arena.py:24 take", "empty_cache()"]);
}

#[test]
fn what_a_library_takes_beside_pytorch_is_named() {
    let mut run = Run::new();
    let library =
        run.stack(&[("cudaMalloc", "libcudart.so.13", 0), ("ncclInit", "libnccl.so.2", 0), TRAIN]);
    let torch = run.stack(&[TORCH, TRAIN]);
    run.alloc(library, 1 << 40, 3 * GIB);
    run.segment(4 * GIB, 4 * GIB);
    run.block(torch, 4 * GIB, 4 * GIB);
    run.sample(Counter::ProcessUsed, 7 * GIB + 500 * MIB);
    run.refused(torch, GIB, 500 * MIB, 0);
    let verdict = run.judge();
    assert_cause(&verdict, "library-workspace", &["3.00 GiB", "libnccl.so.2", "NCCL_BUFFSIZE"]);
}

/// Returns the explanation of a failure at which the driver counts this much for a process whose recorded calls took 5 GiB.
fn explanation_with_process_using(bytes: u64) -> String {
    let mut run = Run::new();
    let torch = run.stack(&[TORCH, TRAIN]);
    run.alloc(torch, 1 << 40, GIB);
    run.segment(4 * GIB, 4 * GIB);
    run.block(torch, 4 * GIB, 4 * GIB);
    run.sample(Counter::ProcessUsed, bytes);
    run.refused(torch, GIB, 100 * MIB, 0);
    run.judge().primary.because
}

#[test]
fn memory_that_no_recorded_call_took_is_named() {
    let because = explanation_with_process_using(7 * GIB);
    let line = "Recorded: 5.00 GiB of the 7.00 GiB that the driver counts for this process; 2.00 GiB was not seen as calls";
    assert!(because.contains(line), "{because}");
    for accounted_for in [5 * GIB, 5 * GIB + 600 * MIB] {
        let because = explanation_with_process_using(accounted_for);
        assert!(!because.contains("not seen"), "{because}");
    }
}

#[test]
fn of_orphans_and_living_holders_those_that_hold_more_are_named_first() {
    for (orphan, living, cause, named, other, left) in [
        (4 * GIB, 3 * GIB, "orphan", 4 * GIB, "other-process", 3 * GIB),
        // An orphan is another process too.
        (2 * GIB, 5 * GIB, "other-process", 7 * GIB, "orphan", 2 * GIB),
    ] {
        let mut run = Run::new();
        let stack = run.stack(&[TORCH, TRAIN]);
        run.sample(Counter::ProcessUsed, 400 * MIB);
        run.holder(77, orphan, "python old.py", ProcessState::Orphan);
        run.holder(78, living, "python serve.py", ProcessState::Runs);
        run.refused(stack, 2 * GIB, 300 * MIB, 2);
        let verdict = run.judge();
        assert_cause(&verdict, cause, &[]);
        assert_eq!(verdict.primary.reclaimable, Some(Bytes(named)));
        let also = verdict.contributing.iter().find(|finding| finding.cause == other);
        assert_eq!(also.and_then(|finding| finding.reclaimable), Some(Bytes(left)));
    }
}

#[test]
fn an_orphan_is_named_with_what_ends_it() {
    let ended_by = [
        (ProcessState::Orphan, "kill 77", "parent has exited"),
        (ProcessState::ZombieLeader, "kill -9 77", "main thread has exited"),
        (ProcessState::Hangs, "kill -9 77", "uninterruptible wait in the kernel"),
        (ProcessState::Stuck, "whyoom who", "reacts to no signal"),
    ];
    for (standing, line, words) in ended_by {
        let mut run = Run::new();
        let stack = run.stack(&[TORCH, TRAIN]);
        run.sample(Counter::ProcessUsed, 400 * MIB);
        run.holder(77, 7 * GIB, "python old.py", standing);
        run.refused(stack, 2 * GIB, 300 * MIB, 2);
        let verdict = run.judge();
        assert_cause(&verdict, "orphan", &["“python old.py” (process 77)", words]);
        assert_eq!(verdict.primary.remedies[0].code(), Some(line));
    }
}

#[test]
fn a_living_holder_is_named_with_its_command() {
    let mut run = Run::new();
    let stack = run.stack(&[TORCH, TRAIN]);
    run.sample(Counter::ProcessUsed, 400 * MIB);
    run.holder(78, 7 * GIB, "python serve.py", ProcessState::Runs);
    run.refused(stack, 2 * GIB, 300 * MIB, 2);
    assert_cause(&run.judge(), "other-process", &["“python serve.py” (process 78)", "kill 78"]);
}

#[test]
fn a_crowd_of_contexts_is_no_single_holder() {
    let mut run = Run::new();
    let stack = run.stack(&[TORCH, TRAIN]);
    run.sample(Counter::ProcessUsed, 400 * MIB);
    for pid in 100..116 {
        run.holder(pid, 450 * MIB, "python worker.py", ProcessState::Runs);
    }
    run.refused(stack, 2 * GIB, 300 * MIB, 2);
    let words = ["16 other processes", "CUDA_VISIBLE_DEVICES="];
    assert_cause(&run.judge(), "context-overhead", &words);
}

#[test]
fn a_crowd_of_contexts_is_told_apart_from_who_works_beside_it() {
    let mut run = Run::new();
    let stack = run.stack(&[TORCH, TRAIN]);
    run.sample(Counter::ProcessUsed, 400 * MIB);
    for pid in 100..110 {
        run.worker(pid, 420 * MIB);
    }
    run.holder(78, 3 * GIB, "python serve.py", ProcessState::Runs);
    run.refused(stack, 2 * GIB, 300 * MIB, 2);
    let verdict = run.judge();
    assert_cause(&verdict, "context-overhead", &["10 other processes", "CUDA_VISIBLE_DEVICES="]);
    assert_eq!(verdict.primary.reclaimable, Some(Bytes(4200 * MIB)));
    let other = verdict.contributing.iter().find(|finding| finding.cause == "other-process");
    assert_eq!(other.and_then(|finding| finding.reclaimable), Some(Bytes(3 * GIB)));
}

#[test]
fn a_process_of_the_run_that_holds_much_is_another_process() {
    let mut run = Run::new();
    let stack = run.stack(&[TORCH, TRAIN]);
    run.sample(Counter::ProcessUsed, 400 * MIB);
    run.worker(100, 7 * GIB);
    run.refused(stack, 2 * GIB, 300 * MIB, 2);
    let verdict = run.judge();
    assert_cause(&verdict, "other-process", &["worker (PID 100)” holds 7.00 GiB"]);
    assert!(verdict.primary.remedies[0].what.contains("processes of this run"));
}

#[test]
fn memory_that_nobody_in_sight_holds_is_said_to_be_that() {
    let mut run = Run::new();
    let stack = run.stack(&[TORCH, TRAIN]);
    run.sample(Counter::ProcessUsed, 400 * MIB);
    run.refused(stack, 2 * GIB, 300 * MIB, 2);
    let verdict = run.judge();
    assert_cause(&verdict, "unseen-holder", &["not visible from here", "sudo whyoom who"]);
    assert_eq!(verdict.primary.reclaimable, Some(Bytes(8 * GIB - 700 * MIB)));
}

#[test]
fn who_is_seen_beside_who_is_not_is_named_too() {
    let mut run = Run::new();
    let stack = run.stack(&[TORCH, TRAIN]);
    run.sample(Counter::ProcessUsed, 400 * MIB);
    run.holder(78, 2 * GIB, "python serve.py", ProcessState::Runs);
    run.refused(stack, GIB, 300 * MIB, 2);
    let verdict = run.judge();
    assert_cause(&verdict, "unseen-holder", &["one other process accounts for part of the rest"]);
    assert_eq!(verdict.primary.reclaimable, Some(Bytes(6 * GIB - 700 * MIB)));
    assert!(verdict.contributing.iter().any(|finding| finding.cause == "other-process"));
}

#[test]
fn where_the_process_itself_was_not_listed_its_context_is_as_large_as_others() {
    let mut run = Run::new();
    let stack = run.stack(&[TORCH, TRAIN]);
    run.worker(100, 418 * MIB);
    run.refused(stack, 2 * GIB, 300 * MIB, 2);
    let verdict = run.judge();
    assert_cause(&verdict, "unseen-holder", &[]);
    assert_eq!(verdict.primary.reclaimable, Some(Bytes(8 * GIB - 300 * MIB - 2 * 418 * MIB)));
}

#[test]
fn contexts_where_nothing_is_done_are_named() {
    let mut run = Run::new();
    let load =
        run.stack(&[("load", "/lib/python3/site-packages/torch/serialization.py", 9), TRAIN]);
    let work = run.stack(&[TORCH, TRAIN]);
    let first = run.process;
    run.push(work, Action::ContextCreate);
    run.alloc(work, 1 << 40, 6 * GIB);
    for rank in 1..4u16 {
        run.process = run.tables.process(format!("rank {rank}"));
        run.on(run.origin(GPU), load, 0, Action::ContextCreate);
        run.on(run.origin(DeviceId(rank)), work, 0, Action::ContextCreate);
        let (kind, size) = (MemoryKind::Device, Bytes(6 * GIB));
        let action = Action::Alloc { kind, address: Address(1 << 40), size };
        run.on(run.origin(DeviceId(rank)), work, 0, action);
    }
    run.process = first;
    for rank in 1..4 {
        run.holder(100 + rank, 418 * MIB, &format!("rank {rank}"), ProcessState::Recorded);
    }
    run.sample(Counter::ProcessUsed, 6 * GIB + 400 * MIB);
    run.refused(work, 700 * MIB, 300 * MIB, 2);
    let verdict = run.judge();
    assert_cause(&verdict, "stray-context", &["3 processes of this run", "set_device"]);
    assert_eq!(verdict.primary.reclaimable, Some(Bytes(3 * 418 * MIB)));
    assert!(pasted(&verdict).starts_with("torch.load("), "{}", pasted(&verdict));
    let opened = &verdict.primary.call_sites[0];
    assert!(opened.call_site.contains("train.py:12"), "{opened:?}");
    assert_eq!(
        opened.what,
        "creates contexts on GPU 0, in 3 processes; also the request that failed"
    );
}

#[test]
fn a_context_on_a_gpu_that_is_not_used_is_said_where_nothing_failed() {
    let mut run = Run::new();
    let start = run.stack(&[("main", "main.cu", 7)]);
    run.push(start, Action::ContextCreate);
    let second = run.origin(DeviceId(1));
    run.on(second, start, 0, Action::ContextCreate);
    let (kind, address, size) = (MemoryKind::Device, Address(1 << 40), Bytes(GIB));
    run.on(second, start, 0, Action::Alloc { kind, address, size });
    run.on(second, start, 0, Action::Free { kind, address });
    let fact = Fact::MinUsage { device: DeviceId(0), bytes: Bytes(438_304_768) };
    run.push(StackId(0), Action::Fact { fact });
    run.exit();
    let words = ["holds a context on", "does not use it", "Nothing failed", "cudaSetDevice(1)"];
    let verdict = run.judge();
    assert_cause(&verdict, "stray-context", &words);
    assert_eq!(verdict.primary.reclaimable, Some(Bytes(418 * MIB)));
}

#[test]
fn frees_that_wait_for_their_stream_are_named() {
    let mut run = Run::new();
    let stack = run.stack(&[("work", "work.cu", 7)]);
    let (kind, address) = (MemoryKind::StreamOrdered, Address(1 << 40));
    let origin = Origin { stream: StreamId(5), ..run.origin(GPU) };
    run.on(origin, stack, 0, Action::Alloc { kind, address, size: Bytes(6 * GIB) });
    run.on(origin, stack, 0, Action::Free { kind, address });
    run.sample(Counter::PoolUsed, 6 * GIB);
    run.sample(Counter::PoolReserved, 6 * GIB);
    run.sample(Counter::ProcessUsed, 6 * GIB + 400 * MIB);
    run.refused(stack, 3 * GIB, GIB, 2);
    let words = ["6.00 GiB has been freed", "cudaStreamSynchronize"];
    assert_cause(&run.judge(), "pending-free", &words);
}

#[test]
fn pinned_memory_that_is_refused_is_no_want_of_device_memory() {
    let mut run = Run::new();
    let stack = run.stack(&[("cudaHostAlloc", "libcudart.so.13", 0), ("load", "load.cu", 7)]);
    let origin = run.origin(DeviceId::HOST);
    let (kind, address) = (MemoryKind::Pinned, Address(1 << 40));
    run.on(origin, stack, 0, Action::Alloc { kind, address, size: Bytes(60 * GIB) });
    run.on(origin, stack, 2, Action::OutOfMemory { requested: Bytes(8 * GIB) });
    let words = ["8.00 GiB of pinned host memory", "already had 60.00 GiB pinned", "cudaFreeHost"];
    assert_cause(&run.judge(), "pinned-host", &words);
}

#[test]
fn a_program_that_never_frees_leaks_nothing_worth_naming() {
    let mut run = Run::new();
    let stack = run.stack(&[("main", "main.cu", 7)]);
    for index in 0..20 {
        run.alloc(stack, index * GIB, MIB);
    }
    run.exit();
    assert_cause(&run.judge(), "healthy", &["driver freed the remaining 20.00 MiB"]);
}

/// A program that leaves a buffer at each of the lines `left`, and frees what it takes at the lines `freed`.
fn leaving(left: std::ops::Range<u32>, freed: std::ops::Range<u32>) -> Verdict {
    let mut run = Run::new();
    for line in left {
        let kept = run.stack(&[("main", "main.cu", line)]);
        run.alloc(kept, (1 << 50) + u64::from(line) * GIB, 64 * MIB);
    }
    for _ in 0..4 {
        for line in freed.clone() {
            let stack = run.stack(&[("work", "main.cu", line)]);
            run.alloc(stack, GIB, MIB);
            run.push(StackId(0), Action::Free { kind: MemoryKind::Device, address: Address(GIB) });
        }
    }
    run.exit();
    run.judge()
}

#[test]
fn one_buffer_left_by_a_program_that_frees_all_else_leaks() {
    let verdict = leaving(7..8, 10..14);
    assert_cause(
        &verdict,
        "leak-at-exit",
        &["64.00 MiB", "Everything else was freed", "main.cu left 1"],
    );
}

#[test]
fn buffers_left_by_a_program_that_takes_little_care_are_mentioned_only() {
    // Several places leave something; or no more than one ever freed anything.
    for (left, freed) in [(5..8, 10..14), (7..9, 10..20)] {
        let verdict = leaving(left, freed);
        assert_cause(&verdict, "healthy", &[]);
        assert!(verdict.contributing.iter().any(|finding| finding.cause == "leak-at-exit"));
    }
    assert_cause(&leaving(7..8, 10..11), "healthy", &[]);
}

#[test]
fn a_program_without_gpu_memory_is_healthy() {
    let mut run = Run::new();
    run.exit();
    assert_cause(&run.judge(), "healthy", &["allocated no GPU memory"]);
}

/// A loop around a module that keeps 16 MiB of each round and drops the rest.
fn leaking_loop(run: &mut Run, rounds: u64) {
    let module = "/lib/python3/site-packages/torch/nn/modules/module.py";
    let kept = run.stack(&[
        TORCH,
        ("forward", "/lib/python3/site-packages/torch/nn/modules/linear.py", 125),
        ("forward", "/home/me/model.py", 31),
        ("_call_impl", module, 1500),
        ("evaluate", "/home/me/train.py", 44),
    ]);
    let dropped = run.stack(&[TORCH, ("evaluate", "/home/me/train.py", 43)]);
    run.segment(GIB, 7 * GIB);
    for round in 0..rounds {
        run.block(dropped, GIB, 8 * MIB);
        run.block(kept, 2 * GIB + round * 16 * MIB, 16 * MIB);
        run.free_block(GIB);
    }
}

#[test]
fn a_loop_that_collects_outputs_is_named_by_the_users_line() {
    let mut run = Run::new();
    leaking_loop(&mut run, 40);
    // The rest is in use, too: PyTorch would take a free block that is large enough.
    let stack = run.stack(&[TORCH, TRAIN]);
    let end_of_loop = 2 * GIB + 40 * 16 * MIB;
    run.block(stack, GIB, GIB);
    run.block(stack, end_of_loop, 8 * GIB - end_of_loop);
    run.refused(stack, 32 * MIB, 0, 0);
    // The exception unwinds, and everything is given back before the program ends.
    for round in 0..40 {
        run.free_block(2 * GIB + round * 16 * MIB);
    }
    run.exit();
    assert_cause(&run.judge(), "growth", &["16.00 MiB", "me/model.py:31 forward"]);
}

#[test]
fn beside_growth_no_setting_is_offered() {
    let mut run = Run::new();
    leaking_loop(&mut run, 256);
    let stack = run.stack(&[TORCH, TRAIN]);
    run.refused(stack, 5 * GIB / 2, 0, 0);
    run.exit();
    let verdict = run.judge();
    assert_cause(&verdict, "growth", &["4.00 GiB"]);
    let pieces = verdict.contributing.iter().find(|one| one.cause == "fragmented-cache");
    assert!(pieces.is_some_and(|pieces| pieces.remedies.is_empty()), "{pieces:#?}");
}

#[test]
fn growth_is_seen_though_python_gives_all_back_at_its_end() {
    let mut run = Run::new();
    leaking_loop(&mut run, 40);
    for round in 0..40 {
        run.free_block(2 * GIB + round * 16 * MIB);
    }
    run.exit();
    assert_cause(&run.judge(), "growth", &["16.00 MiB", "me/model.py:31 forward"]);
}

#[test]
fn a_short_program_that_ended_is_healthy() {
    let mut run = Run::new();
    let stack = run.stack(&[TORCH, TRAIN]);
    let pinned = run.stack(&[("cudaHostAlloc", "libcudart.so.13", 0), TRAIN]);
    run.push(stack, Action::ContextCreate);
    let (kind, address) = (MemoryKind::Pinned, Address(1 << 45));
    run.on(
        run.origin(DeviceId::HOST),
        pinned,
        0,
        Action::Alloc { kind, address, size: Bytes(64 * MIB) },
    );
    run.segment(GIB, 64 * MIB);
    run.block(stack, GIB, 64 * MIB);
    run.exit();
    let verdict = run.judge();
    assert_cause(&verdict, "healthy", &[]);
    assert_eq!(verdict.by_process.len(), 1, "{:?}", verdict.by_process);
    let listed = verdict.primary.evidence.iter().find(|e| e.label.contains("pinned at")).unwrap();
    assert!(listed.label.contains("train.py:12"), "{listed:?}");
}

#[test]
fn a_context_that_broke_is_no_want_of_memory() {
    let mut run = Run::new();
    let stack = run.stack(&[("main", "main.cu", 7)]);
    run.alloc(stack, GIB, MIB);
    let (kind, address, size) = (MemoryKind::Device, Address(0), Bytes(MIB));
    run.on(run.origin(GPU), stack, 700, Action::Alloc { kind, address, size });
    run.on(run.origin(GPU), stack, 700, Action::OutOfMemory { requested: size });
    assert!(run.model.incidents().is_empty());
}

#[test]
fn pools_keep_apart() {
    let mut run = Run::new();
    let stack = run.stack(&[("work", "work.cu", 7)]);
    let kind = MemoryKind::StreamOrdered;
    for pool in [1, 2] {
        let origin = Origin { pool: PoolId(pool), ..run.origin(GPU) };
        let (address, size) = (Address(u64::from(pool) << 40), Bytes(2 * GIB));
        run.on(origin, stack, 0, Action::Alloc { kind, address, size });
        run.on(origin, stack, 0, Action::Free { kind, address });
        for (counter, bytes) in [(Counter::PoolUsed, 0), (Counter::PoolReserved, 2 * GIB)] {
            run.on(origin, stack, 0, Action::Sample { counter, bytes: Bytes(bytes) });
        }
    }
    run.sample(Counter::ProcessUsed, 4 * GIB + 400 * MIB);
    run.refused(stack, 6 * GIB, 3 * GIB, 2);
    assert_cause(&run.judge(), "mempool-held", &["keeps 4.00 GiB"]);
}

/// The same, in a capture.
fn in_capture(run: &mut Run, stack: StackId, action: Action) {
    let origin = Origin { pool: PoolId(1), ..run.origin(GPU) };
    run.on(origin, stack, 0, action);
}

fn capture_segment(run: &mut Run, stack: StackId, address: u64, size: u64) {
    let (address, size) = (Address(address), Bytes(size));
    let (class, growth) = (SizeClass::Large, SegmentGrowth::Fixed);
    in_capture(run, StackId(0), Action::SegmentAlloc { address, size, class, growth });
    in_capture(run, stack, Action::BlockAlloc { address, requested: size, size });
}

#[test]
fn what_graphs_keep_is_no_fragmented_cache() {
    let mut run = Run::new();
    let torch = run.stack(&[TORCH, TRAIN]);
    run.alloc(torch, 1 << 40, MIB);
    for number in 1..=6 {
        let address = number * 4 * GIB;
        capture_segment(&mut run, torch, address, GIB);
        run.free_block(address);
        in_capture(
            &mut run,
            torch,
            Action::BlockAlloc {
                address: Address(address),
                requested: Bytes(100 * MIB),
                size: Bytes(100 * MIB),
            },
        );
    }
    run.refused(torch, 2 * GIB, GIB, 0);
    let verdict = run.judge();
    assert_cause(&verdict, "private-pool", &["5.41 GiB", "CUDA graphs", "pool="]);
    assert!(verdict.contributing.iter().all(|finding| finding.cause != "fragmented-cache"));
}

#[test]
fn graphs_of_a_run_that_lacked_nothing_are_not_mentioned() {
    let mut run = Run::new();
    let torch = run.stack(&[TORCH, TRAIN]);
    run.alloc(torch, 1 << 40, MIB);
    capture_segment(&mut run, torch, 4 * GIB, GIB);
    run.free_block(4 * GIB);
    run.exit();
    let verdict = run.judge();
    assert_cause(&verdict, "healthy", &[]);
    assert!(verdict.contributing.is_empty(), "{:#?}", verdict.contributing);
}

#[test]
fn empty_segments_that_pytorch_keeps_are_of_a_pool_of_the_programs() {
    let mut run = Run::new();
    let torch = run.stack(&[TORCH, TRAIN]);
    run.alloc(torch, 1 << 40, MIB);
    run.segment(4 * GIB, 4 * GIB);
    run.block(torch, 4 * GIB, 4 * GIB);
    run.free_block(4 * GIB);
    run.refused(torch, 5 * GIB, 3 * GIB, 0);
    let verdict = run.judge();
    assert_cause(&verdict, "private-pool", &["4.00 GiB", "torch.cuda.MemPool"]);
    assert_eq!(pasted(&verdict), "", "graphs are no part of it");
}

#[test]
fn what_a_capture_freed_and_does_not_use_again_waits_for_a_stream() {
    let mut run = Run::new();
    let torch = run.stack(&[TORCH, TRAIN]);
    run.alloc(torch, 1 << 40, MIB);
    for number in 1..=7 {
        let address = number * 4 * GIB;
        capture_segment(&mut run, torch, address, GIB);
        run.free_block(address);
    }
    run.sample(Counter::DeviceTotal, 8 * GIB);
    run.sample(Counter::DeviceFree, 500 * MIB);
    in_capture(&mut run, torch, Action::OutOfMemory { requested: Bytes(GIB) });
    let verdict = run.judge();
    assert_cause(&verdict, "pending-free", &["7.00 GiB", "wait_stream(other)"]);
}

#[test]
fn most_of_the_device_in_one_block_was_taken_in_advance() {
    for (share, cause) in [(5 * GIB, "preallocated"), (3 * GIB, "library-workspace")] {
        let mut run = Run::new();
        let pool = run.stack(&[
            ("cuMemAlloc_v2", "libcuda.so.1", 0),
            ("ffi_call", "libffi.so.8", 0),
            ("Pool.__init__", "/home/me/frames.py", 21),
        ]);
        let torch = run.stack(&[TORCH, TRAIN]);
        run.alloc(pool, 1 << 40, share);
        run.segment(4 * GIB, 7 * GIB - share);
        run.block(torch, 4 * GIB, 7 * GIB - share);
        run.sample(Counter::ProcessUsed, 7 * GIB + 500 * MIB);
        run.refused(torch, GIB, 500 * MIB, 0);
        let verdict = run.judge();
        assert_cause(&verdict, cause, &["frames.py:21"]);
        if cause == "preallocated" {
            assert_eq!(verdict.primary.reclaimable, Some(Bytes(524 * MIB)));
            assert!(verdict.contributing.iter().all(|one| one.cause != "library-workspace"));
        }
    }
}

#[test]
fn a_free_that_fails_is_said_beside_what_it_leaves() {
    for left in [true, false] {
        let mut run = Run::new();
        let stack = run.stack(&[("detect", "/home/me/detect.c", 24)]);
        let kind = MemoryKind::Pinned;
        for number in 1..=40 {
            let (address, size) = (Address(number * GIB), Bytes(8 * MIB));
            let host = run.origin(DeviceId::HOST);
            run.on(host, stack, 0, Action::Alloc { kind, address, size });
            run.alloc(stack, 1 << 40, MIB);
            run.push(
                StackId(0),
                Action::Free { kind: MemoryKind::Device, address: Address(1 << 40) },
            );
            if !left {
                run.on(host, StackId(0), 0, Action::Free { kind, address });
            }
            run.on(host, stack, 1, Action::Free { kind, address: Address(77) });
        }
        run.exit();
        let verdict = run.judge();
        let said = verdict.contributing.iter().find(|one| one.cause == "unchecked-error");
        assert_eq!(said.is_some(), left, "{verdict:#?}");
        let cause = if left { "pinned-host" } else { "healthy" };
        assert_eq!(verdict.primary.cause, cause);
        if let Some(said) = said {
            assert!(said.headline.contains("cuMemFreeHost failed"), "{}", said.headline);
            assert_eq!(said.call_sites[0].call_site, "me/detect.c:24 detect");
        }
    }
}

#[test]
fn a_cap_is_below_all_that_was_refused() {
    let mut run = Run::new();
    let torch = run.stack(&[TORCH, TRAIN]);
    run.alloc(torch, 1 << 40, MIB);
    run.segment(4 * GIB, 3 * GIB + 300 * MIB);
    run.block(torch, 4 * GIB, 3 * GIB + 300 * MIB);
    // The first leaves it at less than a half of the device, which is rounder than what is between.
    run.refused(torch, 600 * MIB, 4 * GIB, 0);
    run.refused(torch, 2 * GIB, 4 * GIB, 0);
    let verdict = run.judge();
    assert_cause(&verdict, "limit", &["3.60 GiB"]);
}

#[test]
fn in_a_container_the_process_is_not_its_own_orphan() {
    let mut run = Run::new();
    let stack = run.stack(&[("main", "main.cu", 7)]);
    run.alloc(stack, 1 << 40, 5 * GIB);
    run.holder(4711, 5 * GIB + 400 * MIB, "", ProcessState::Ghost);
    run.holder(4712, 2 * GIB, "", ProcessState::Ghost);
    run.refused(stack, 2 * GIB, 300 * MIB, 2);
    let words =
        ["Process 4712 holds 2.00 GiB", "this process has 5.39 GiB", "sudo whyoom who", "fuser"];
    assert_cause(&run.judge(), "unseen-holder", &words);
}

#[test]
fn a_process_that_cannot_open_a_context_is_told_who_holds_the_memory() {
    let mut run = Run::new();
    let stack = run.stack(&[("main", "main.cu", 7)]);
    run.holder(78, 7 * GIB + 900 * MIB, "python serve.py", ProcessState::Runs);
    run.refused(stack, 0, 100 * MIB, 2);
    let words = ["“python serve.py” (process 78)", "(size unknown)", "kill 78"];
    assert_cause(&run.judge(), "other-process", &words);
}

#[test]
fn a_process_that_cannot_begin_is_told_what_others_of_the_run_took() {
    let mut run = Run::new();
    let stack = run.stack(&[("main", "main.cu", 7)]);
    run.push(stack, Action::ContextCreate);
    run.alloc(stack, 1 << 40, 7 * GIB);
    run.process = run.tables.process("second");
    run.refused(stack, 0, 100 * MIB, 2);
    assert_cause(&run.judge(), "other-process", &["process 41", "7.00 GiB"]);
}

#[test]
fn one_that_asks_for_code_where_much_is_free_lacks_no_memory_of_others() {
    let mut run = Run::new();
    let stack = run.stack(&[("main", "main.cu", 7)]);
    run.holder(78, 2 * GIB, "python serve.py", ProcessState::Runs);
    run.refused(stack, 0, 5 * GIB, 2);
    assert_cause(&run.judge(), "unknown", &[]);
}

/// Takes `blocks` buffers at `stack` for good, and others that are freed.
fn kept(run: &mut Run, stack: StackId, kind: MemoryKind, blocks: u64) {
    let other = run.stack(&[("main", "main.cu", 30)]);
    for index in 0..blocks {
        let (address, size) = (Address((1 << 41) + index * GIB), Bytes(4 * MIB));
        run.push(stack, Action::Alloc { kind, address, size });
        run.alloc(other, 1 << 40, MIB);
        let address = Address(1 << 40);
        run.push(other, Action::Free { kind: MemoryKind::Device, address });
    }
    run.exit();
}

#[test]
fn what_a_library_leaves_is_blamed_with_the_call_that_is_missing() {
    let kinds = [
        (MemoryKind::Device, "cudaFree(buffer);"),
        (MemoryKind::Array, "cudaFreeArray(array);"),
        (MemoryKind::Registered, "cudaHostUnregister(buffer);"),
    ];
    for (kind, call) in kinds {
        let mut run = Run::new();
        let stack = run.stack(&[("work", "libleaky.so.2", 0), ("main", "main.cu", 7)]);
        kept(&mut run, stack, kind, 10);
        let words = ["libleaky.so.2 left 10 allocations", "freed: 10 of 10", call];
        assert_cause(&run.judge(), "leak-at-exit", &words);
    }
}

#[test]
fn what_the_program_itself_leaves_is_mentioned_only() {
    let mut run = Run::new();
    let stack = run.stack(&[("main", "main.cu", 7)]);
    kept(&mut run, stack, MemoryKind::Device, 2);
    let verdict = run.judge();
    assert_cause(&verdict, "healthy", &[]);
    assert!(verdict.contributing.iter().any(|finding| finding.cause == "leak-at-exit"));
}

#[test]
fn libraries_that_keep_buffers_on_purpose_leak_nothing() {
    for library in ["libnccl.so.2", "libtorch_cuda.so", "libc10_cuda.so", "libcublas.so.13"] {
        let mut run = Run::new();
        let stack = run.stack(&[("work", library, 0), TRAIN]);
        kept(&mut run, stack, MemoryKind::Device, 20);
        let verdict = run.judge();
        let named = verdict.contributing.iter().any(|finding| finding.cause == "leak-at-exit");
        assert!(verdict.primary.cause != "leak-at-exit" && !named, "{library}: {verdict:#?}");
    }
}

#[test]
fn pinned_memory_alone_is_no_riddle() {
    let mut run = Run::new();
    let stack = run.stack(&[("main", "main.cu", 7)]);
    let (kind, size) = (MemoryKind::Pinned, Bytes(MIB));
    for address in [GIB, 2 * GIB].map(Address) {
        run.on(run.origin(DeviceId::HOST), stack, 0, Action::Alloc { kind, address, size });
    }
    run.exit();
    assert_cause(&run.judge(), "healthy", &["2.00 MiB of pinned host memory"]);
}

#[test]
fn a_launch_that_found_no_memory_is_no_unchecked_error() {
    let mut run = Run::new();
    let stack = run.stack(&[("main", "main.cu", 7)]);
    run.sample(Counter::ProcessUsed, 400 * MIB);
    run.holder(78, 7 * GIB, "python serve.py", ProcessState::Runs);
    let (kernel, shared_memory) = (StringId(0), Bytes(0));
    run.on(run.origin(GPU), stack, 2, Action::LaunchFailed { kernel, shared_memory });
    run.refused(stack, 0, 100 * MIB, 2);
    let verdict = run.judge();
    assert_cause(&verdict, "other-process", &[]);
    assert!(verdict.contributing.iter().all(|finding| finding.cause != "unchecked-error"));
}

/// A run whose last call is refused: the driver has no memory for it.
fn refused_call(name: &str, free: u64) -> Run {
    let mut run = Run::new();
    let stack = run.stack(&[(name, "libcuda.so.1", 0), ("capture", "/home/me/serve.py", 31)]);
    let kernel = run.tables.string(name);
    let call = Action::LaunchFailed { kernel, shared_memory: Bytes(0) };
    run.on(run.origin(GPU), stack, 2, call);
    run.refused(stack, 0, free, 2);
    run.exit();
    run
}

#[test]
fn refused_driver_calls_are_named() {
    let calls = [
        ("cuGraphInstantiateWithFlags", "instantiating a CUDA graph"),
        ("cuStreamCreate", "creating a stream"),
        ("cuMemSetAccess", "making mapped memory accessible"),
    ];
    for (name, purpose) in calls {
        let verdict = refused_call(name, 6 * GIB).judge();
        let words = [&format!("the driver had no memory for {purpose}"), "6.00 GiB was free"];
        assert_cause(&verdict, "unknown", &words);
        assert!(verdict.contributing.iter().all(|finding| finding.cause != "unchecked-error"));
        let advice = verdict.primary.remedies.iter().map(|remedy| remedy.what.as_str());
        let on_graphs = advice.filter(|what| what.contains("fewer batch sizes")).count();
        assert_eq!(on_graphs, usize::from(purpose.contains("graph")), "{name}");
    }
}

#[test]
fn a_refused_driver_call_is_attributed_to_the_process_that_fills_the_gpu() {
    let mut run = Run::new();
    let stack = run.stack(&[("cuGraphInstantiateWithFlags", "libcuda.so.1", 0), TRAIN]);
    run.sample(Counter::ProcessUsed, 400 * MIB);
    run.holder(78, 7 * GIB, "python serve.py", ProcessState::Runs);
    let kernel = run.tables.string("cuGraphInstantiateWithFlags");
    let call = Action::LaunchFailed { kernel, shared_memory: Bytes(0) };
    run.on(run.origin(GPU), stack, 2, call);
    run.refused(stack, 0, 40 * MIB, 2);
    let words = ["The driver had no memory for instantiating a CUDA graph", "kill 78"];
    assert_cause(&run.judge(), "other-process", &words);
}

#[test]
fn a_launch_that_fails_beside_a_request_says_so() {
    let mut run = Run::new();
    let stack = run.stack(&[("main", "main.cu", 7)]);
    let (kernel, shared_memory) = (StringId(0), Bytes(0));
    run.on(run.origin(GPU), stack, 1, Action::LaunchFailed { kernel, shared_memory });
    run.refused(stack, 9 * GIB, GIB, 2);
    let verdict = run.judge();
    assert_cause(&verdict, "request-too-big", &[]);
    let launch = verdict.contributing.iter().find(|finding| finding.cause == "unchecked-error");
    assert!(launch.unwrap().because.contains("failed as well"), "{launch:#?}");
}

#[test]
fn an_illegal_address_in_pytorch_is_not_laid_to_the_heap_of_kernels() {
    let mut run = Run::new();
    let stack = run.stack(&[TORCH, TRAIN]);
    run.segment(GIB, 64 * MIB);
    run.block(stack, GIB, MIB);
    run.on(run.origin(GPU), stack, 700, Action::Synchronize { scope: SyncScope::Device });
    run.exit();
    assert_ne!(run.judge().primary.cause, "device-heap");
}

#[test]
fn a_context_goes_with_its_process() {
    let mut run = Run::new();
    let work = run.stack(&[TORCH, TRAIN]);
    let first = run.process;
    run.process = run.tables.process("rank 1");
    run.push(work, Action::ContextCreate);
    let (kind, address, size) = (MemoryKind::Device, Address(1 << 40), Bytes(6 * GIB));
    run.on(run.origin(DeviceId(1)), work, 0, Action::Alloc { kind, address, size });
    run.exit();
    run.process = first;
    run.alloc(work, 1 << 40, 7 * GIB);
    run.sample(Counter::ProcessUsed, 7 * GIB + 400 * MIB);
    run.refused(work, 700 * MIB, 300 * MIB, 2);
    let verdict = run.judge();
    let found = std::iter::once(&verdict.primary).chain(&verdict.contributing);
    assert!(found.into_iter().all(|finding| finding.cause != "stray-context"), "{verdict:#?}");
}

#[test]
fn a_loader_that_makes_two_and_deletes_one_does_not_grow() {
    let mut run = Run::new();
    let weight = run.stack(&[TORCH, ("load", "/home/me/load.py", 9)]);
    let quantized = run.stack(&[TORCH, ("load", "/home/me/load.py", 10)]);
    run.segment(GIB, 7 * GIB);
    // At the peak exactly half of what was made has ended.
    for _ in 0..2 {
        run.block(weight, GIB, 64 * MIB);
        run.free_block(GIB);
    }
    for layer in 0..40 {
        run.block(weight, GIB, 64 * MIB);
        run.block(quantized, 2 * GIB + layer * 16 * MIB, 16 * MIB);
        run.free_block(GIB);
    }
    for layer in 0..40 {
        run.free_block(2 * GIB + layer * 16 * MIB);
    }
    run.exit();
    // It may be a loop as well: whoever knows the program is told.
    assert_cause(
        &run.judge(),
        "healthy",
        &["Nothing failed", "640.00 MiB", "40 blocks", "load.py:10"],
    );
}
