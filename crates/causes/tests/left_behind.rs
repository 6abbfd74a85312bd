//! What programs leave behind, on the device and on the host; and what only looks so.

mod told;

use whyoom_causes::Verdict;
use whyoom_trace::{
    Action, Address, Bytes, Counter, DeviceId, MemoryKind, SegmentGrowth, SizeClass, StackId,
    facts::Fact,
};

use told::{GIB, GPU, MIB, Run};

/// A frame: function, file, line.
type Frame = (&'static str, &'static str, u32);
const TORCH: Frame = ("at::native::pin_memory", "libtorch_cuda.so", 0);

impl Run {
    fn take(&mut self, kind: MemoryKind, stack: StackId, address: u64, size: u64) {
        let device = match kind {
            MemoryKind::Pinned | MemoryKind::Registered => DeviceId::HOST,
            _ => GPU,
        };
        let action = Action::Alloc { kind, address: Address(address), size: Bytes(size) };
        self.on(self.origin(device), stack, 0, action);
    }

    fn free(&mut self, address: u64) {
        let action = Action::Free { kind: MemoryKind::Device, address: Address(address) };
        self.push(StackId(0), action);
    }

    /// Something else that is taken and given back.
    fn work(&mut self) {
        let stack = self.stack(&[("work", "main.cu", 90)]);
        self.take(MemoryKind::Device, stack, 1 << 50, MIB);
        self.free(1 << 50);
    }

    fn setting(&mut self, name: &str, value: &str) {
        let (name, value) = (self.tables.string(name), self.tables.string(value));
        self.push(StackId(0), Action::Setting { name, value });
    }

    fn fact(&mut self, fact: Fact) {
        self.push(StackId(0), Action::Fact { fact });
    }

    fn command(&mut self) {
        let words = self.tables.string("./program");
        self.fact(Fact::Command { words });
    }
}

/// Everything that a person reads of the primary cause.
fn told(verdict: &Verdict) -> String {
    let primary = &verdict.primary;
    let mut told = vec![primary.headline.clone(), primary.because.clone()];
    told.extend(primary.call_sites.iter().map(|site| site.call_site.clone()));
    for remedy in &primary.remedies {
        told.extend(remedy.code().map(str::to_owned));
        told.push(remedy.what.clone());
    }
    told.join("\n")
}

#[track_caller]
fn assert_cause(verdict: &Verdict, cause: &str, words: &[&str]) {
    let told = told(verdict);
    assert_eq!(verdict.primary.cause, cause, "{told}\n{:#?}", verdict.contributing);
    for word in words {
        assert!(told.contains(word), "lacks {word:?}:\n{told}");
    }
}

fn is_listed(verdict: &Verdict, cause: &str) -> bool {
    verdict.contributing.iter().any(|finding| finding.cause == cause)
}

#[test]
fn a_place_of_the_program_that_leaves_something_each_time_leaks() {
    let mut run = Run::new();
    // Three callers of one function, which takes two buffers: one of them is forgotten.
    for caller in 0..3 {
        let main = ("main", "main.c", 40 + caller);
        let freed = run.stack(&[("open_session", "main.c", 11), main]);
        let kept = run.stack(&[("open_session", "main.c", 12), main]);
        run.take(MemoryKind::Device, freed, GIB, 64 * MIB);
        run.take(MemoryKind::Device, kept, (2 + u64::from(caller)) * GIB, 40 * MIB);
        run.free(GIB);
    }
    run.exit();
    let verdict = run.judge();
    let words = ["3 allocations, 120.00 MiB", "main.c:12 open_session", "cudaFree(buffer);"];
    assert_cause(&verdict, "leak-at-exit", &words);
    assert_eq!(verdict.primary.reclaimable, Some(Bytes(120 * MIB)));
}

#[test]
fn a_growing_line_says_how_many_of_its_allocations_it_did_not_free() {
    let mut run = Run::new();
    let line = run.stack(&[("sort_neighbours", "sim.cu", 17), ("main", "sim.cu", 60)]);
    for step in 0..90 {
        let address = (100 + step) * GIB;
        run.take(MemoryKind::Device, line, address, 256 * MIB);
        if step % 3 != 0 {
            run.free(address);
        }
        run.work();
    }
    run.refused(line, GIB, 256 * MIB, 2);
    let words = ["sim.cu:17", "30 of 90 allocations of this line were not freed."];
    assert_cause(&run.judge(), "growth", &words);
}

#[test]
fn buffers_of_the_start_that_stay_are_healthy() {
    let mut run = Run::new();
    let ring = run.stack(&[("make_ring", "main.c", 12)]);
    for index in 0..6 {
        run.take(MemoryKind::Device, ring, (2 + index) * GIB, 40 * MIB);
    }
    (0..4).for_each(|_| run.work());
    run.exit();
    let verdict = run.judge();
    assert_cause(&verdict, "healthy", &[]);
    assert!(is_listed(&verdict, "leak-at-exit"));
}

#[test]
fn one_kind_of_buffer_that_stays_where_all_others_are_freed_is_a_leak() {
    let mut run = Run::new();
    let [state, scratch, results] =
        [11, 12, 13].map(|line| run.stack(&[("set_up", "miner.c", line), ("main", "miner.c", 40)]));
    for worker in 0..8 {
        run.take(MemoryKind::Device, state, (100 + worker) * GIB, 12 * MIB);
        run.take(MemoryKind::Device, scratch, (200 + worker) * GIB, 48 * MIB);
        run.take(MemoryKind::Device, results, (300 + worker) * GIB, 20 * MIB);
    }
    for worker in 0..8 {
        run.free((300 + worker) * GIB);
        run.free((100 + worker) * GIB);
    }
    run.exit();
    let words = ["8 allocations, 384.00 MiB", "miner.c:12 set_up", "cudaFree(buffer);"];
    assert_cause(&run.judge(), "leak-at-exit", &words);
}

#[test]
fn what_is_loaded_through_a_staging_buffer_is_no_leak() {
    let mut run = Run::new();
    let weights = run.stack(&[("load", "main.c", 12)]);
    for index in 0..6 {
        run.take(MemoryKind::Device, weights, (2 + index) * GIB, 40 * MIB);
        run.work();
    }
    (0..40).for_each(|_| run.work());
    run.exit();
    assert_cause(&run.judge(), "healthy", &[]);
}

#[test]
fn what_was_in_use_when_the_program_ended_is_no_leak() {
    let mut run = Run::new();
    let session = run.stack(&[("open", "main.c", 12)]);
    for index in 0..60 {
        run.take(MemoryKind::Device, session, (2 + index) * GIB, 40 * MIB);
        run.work();
        if index >= 5 {
            run.free((2 + index - 5) * GIB);
        }
    }
    run.exit();
    assert_cause(&run.judge(), "healthy", &[]);
}

#[test]
fn a_path_that_forgets_is_a_leak_though_the_place_frees_elsewhere() {
    let mut run = Run::new();
    let scratch = run.stack(&[("resize", "main.c", 12)]);
    for index in 0..40 {
        let address = (2 + index) * GIB;
        run.take(MemoryKind::Device, scratch, address, 40 * MIB);
        run.work();
        // Every tenth time it returns early.
        if index % 10 != 7 {
            run.free(address);
        }
    }
    run.exit();
    assert_cause(&run.judge(), "leak-at-exit", &["4 allocations, 160.00 MiB", "main.c:12 resize"]);
}

#[test]
fn a_library_that_leaks_more_comes_before_pinned_buffers() {
    let mut run = Run::new();
    let library = run.stack(&[("resize_image", "libresize.so", 0), ("main", "main.c", 7)]);
    let staging = run.stack(&[("stage", "main.c", 12)]);
    for index in 0..20 {
        run.take(MemoryKind::Pinned, staging, (100 + index) * GIB, MIB);
        run.take(MemoryKind::Device, library, (2 + index) * GIB, 16 * MIB);
        run.work();
    }
    run.exit();
    let verdict = run.judge();
    assert_cause(&verdict, "leak-at-exit", &["libresize.so left 20 allocations"]);
    assert!(is_listed(&verdict, "pinned-host"), "{:#?}", verdict.contributing);
}

#[test]
fn what_python_calls_the_driver_through_is_no_library_that_leaks() {
    let mut run = Run::new();
    let bindings = ("cuMemAlloc", "driver.cpython-312-x86_64-linux-gnu.so", 0);
    let kept = run.stack(&[bindings, ("main", "/home/me/serve.py", 9)]);
    (0..2).for_each(|index| run.take(MemoryKind::Device, kept, (2 + index) * GIB, MIB));
    (0..20).for_each(|_| run.work());
    run.exit();
    assert_cause(&run.judge(), "healthy", &[]);
}

/// Takes host memory in every step; the program frees other memory meanwhile.
fn locked(kind: MemoryKind, frames: &[Frame]) -> Verdict {
    let mut run = Run::new();
    let stack = run.stack(frames);
    for index in 0..20 {
        run.take(kind, stack, (2 + index) * GIB, 8 * MIB);
        run.work();
    }
    run.exit();
    run.judge()
}

#[test]
fn host_memory_that_is_locked_in_every_step_is_named_with_the_call_that_is_missing() {
    let of_program = [("upload", "main.c", 12)];
    let words = ["8.00 MiB at a time", "160.00 MiB", "main.c:12 upload", "cudaFreeHost(buffer);"];
    assert_cause(&locked(MemoryKind::Pinned, &of_program), "pinned-host", &words);
    let words = ["160.00 MiB", "cudaHostUnregister(buffer);"];
    assert_cause(&locked(MemoryKind::Registered, &of_program), "pinned-host", &words);
    let verdict = locked(MemoryKind::Pinned, &[TORCH, ("main", "/home/me/train.py", 12)]);
    assert_cause(&verdict, "pinned-host", &["train.py:12", "pin_memory=True"]);
    assert!(!told(&verdict).contains("cudaFreeHost"), "{}", told(&verdict));
}

#[test]
fn buffers_that_a_loader_pins_once_are_healthy() {
    let mut run = Run::new();
    let stack = run.stack(&[TORCH, ("main", "/home/me/train.py", 12)]);
    for index in 0..10 {
        run.take(MemoryKind::Pinned, stack, (2 + index) * GIB, 8 * MIB);
        run.work();
    }
    (0..60).for_each(|_| run.work());
    run.exit();
    assert_cause(&run.judge(), "healthy", &[]);
}

#[test]
fn a_steady_program_that_a_signal_ends_is_healthy() {
    let ended = |signal: Option<i32>| {
        let mut run = Run::new();
        (0..20).for_each(|_| run.work());
        if let Some(signal) = signal {
            run.fact(Fact::Signal { signal });
        }
        run.judge().primary.cause
    };
    assert_eq!(ended(Some(14)), "healthy");
    assert_eq!(ended(Some(15)), "healthy");
    // Shared memory may have run out; and of a kill nothing is told.
    assert_eq!(ended(Some(7)), "unknown");
    assert_eq!(ended(None), "unknown");
}

#[test]
fn why_a_command_failed_its_memory_does_not_tell() {
    let mut run = Run::new();
    (0..20).for_each(|_| run.work());
    run.exit();
    run.command();
    assert_cause(&run.judge(), "healthy", &[]);
    run.fact(Fact::Status { status: 1 });
    assert_cause(&run.judge(), "unknown", &["status 1", "last lines of the program's own output"]);
}

#[test]
fn a_worker_that_was_killed_leaves_a_doubt() {
    let mut run = Run::new();
    let parent = run.process;
    run.process = run.tables.process("worker");
    (0..20).for_each(|_| run.work());
    run.process = parent;
    (0..20).for_each(|_| run.work());
    run.exit();
    run.command();
    assert_cause(&run.judge(), "unknown", &["dmesg"]);
}

#[test]
fn a_run_of_which_nothing_was_recorded_is_told_how_to_record() {
    let mut run = Run::new();
    run.command();
    assert_cause(&run.judge(), "unknown", &["nothing was recorded", "LD_PRELOAD", "whyoom run --"]);
}

#[test]
fn a_run_that_found_a_full_disk_is_not_said_to_have_used_no_cuda() {
    for (seen, headline) in [(true, "because the disk"), (false, "was probably full")] {
        let mut run = Run::new();
        run.command();
        run.fact(Fact::DiskFull { seen });
        let verdict = run.judge();
        assert_cause(&verdict, "unknown", &["nothing was recorded", headline, "on another disk"]);
        assert!(!told(&verdict).contains("no process of the command"), "{}", told(&verdict));
    }
}

#[test]
fn the_recorders_reason_to_stop_is_the_reason_why_nothing_was_recorded() {
    let mut run = Run::new();
    run.command();
    let reason = run.tables.string("the recording's folder is read-only");
    run.fact(Fact::RecorderStopped { reason });
    let verdict = run.judge();
    let quoted = "Its reason: “the recording's folder is read-only”.";
    assert_cause(&verdict, "unknown", &["the recorder stopped", quoted]);
    assert!(!told(&verdict).contains("no process of the command"), "{}", told(&verdict));
}

#[test]
fn what_a_library_says_in_its_own_words_is_named_beside_the_cause() {
    let mut run = Run::new();
    let table = run.stack(&[("main", "main.cu", 7)]);
    let cublas = run.stack(&[("cublasCreate_v2", "libcublas.so.13", 0), ("main", "main.cu", 9)]);
    run.take(MemoryKind::Device, table, GIB, 7 * GIB);
    run.sample(Counter::ProcessUsed, 7 * GIB + 500 * MIB);
    run.refused(cublas, GIB, 500 * MIB, 2);
    let verdict = run.judge();
    assert_cause(&verdict, "working-set", &[]);
    let masked = verdict.contributing.iter().find(|finding| finding.cause == "masked");
    let words = masked.map(|finding| finding.headline.as_str()).unwrap_or_default();
    assert!(words.contains("CUBLAS_STATUS_ALLOC_FAILED"), "{:#?}", verdict.contributing);
}

#[test]
fn a_copy_that_was_refused_and_not_looked_at_is_named() {
    let mut run = Run::new();
    let stack = run.stack(&[("upload", "main.c", 18)]);
    run.work();
    let kernel = run.tables.string("cuMemcpyHtoD_v2");
    run.on(run.origin(GPU), stack, 1, Action::LaunchFailed { kernel, shared_memory: Bytes(0) });
    run.work();
    run.exit();
    let words =
        ["cuMemcpyHtoD failed", "main.c:18 upload", "INVALID_VALUE", "cudaMemcpy(", "calls after"];
    assert_cause(&run.judge(), "unchecked-error", &words);
}

#[test]
fn a_launch_of_too_many_threads_is_told_the_most() {
    let mut run = Run::new();
    let stack = run.stack(&[("count", "main.cu", 18)]);
    let kernel = run.tables.string("count_bins");
    run.on(run.origin(GPU), stack, 1, Action::LaunchFailed { kernel, shared_memory: Bytes(0) });
    run.work();
    run.exit();
    let verdict = run.judge();
    assert_cause(&verdict, "unchecked-error", &["count_bins", "1024", "maxThreadsPerBlock"]);
    assert!(!told(&verdict).contains("shared memory"), "{}", told(&verdict));
}

/// A pool that keeps 5 GiB, and a request of 4 GiB beside it with 2 GiB free.
fn kept_by_pool(run: &mut Run) -> Verdict {
    let stack = run.stack(&[("work", "work.cu", 7)]);
    let beside = run.stack(&[("engine", "engine.cu", 9)]);
    run.take(MemoryKind::StreamOrdered, stack, GIB, 5 * GIB);
    let action = Action::Free { kind: MemoryKind::StreamOrdered, address: Address(GIB) };
    run.push(stack, action);
    run.sample(Counter::PoolUsed, 0);
    run.sample(Counter::PoolReserved, 5 * GIB);
    run.refused(beside, 4 * GIB, 2 * GIB, 2);
    run.judge()
}

#[test]
fn pytorchs_backend_is_emptied_in_pytorchs_words() {
    let plain = kept_by_pool(&mut Run::new());
    assert_cause(&plain, "mempool-held", &["cudaMemPoolTrimTo"]);
    assert!(!is_listed(&plain, "working-set"), "{:#?}", plain.contributing);
    let mut run = Run::new();
    run.setting("PYTORCH_ALLOC_CONF", "backend:cudaMallocAsync");
    let verdict = kept_by_pool(&mut run);
    assert_cause(
        &verdict,
        "mempool-held",
        &["torch.cuda.empty_cache()", "unset PYTORCH_ALLOC_CONF"],
    );
    assert!(!told(&verdict).contains("TrimTo"), "{}", told(&verdict));
}

#[test]
fn a_share_taken_in_advance_is_named_by_its_variable() {
    let mut run = Run::new();
    run.setting("XLA_PYTHON_CLIENT_MEM_FRACTION", "0.9");
    let arena = run.stack(&[("take_share", "client.cc", 7)]);
    let library = run.stack(&[("connect", "nccl.cc", 9)]);
    run.take(MemoryKind::Device, arena, GIB, 7 * GIB);
    run.refused(library, GIB, 600 * MIB, 2);
    let words = ["7.00 GiB was preallocated", "export XLA_PYTHON_CLIENT_MEM_FRACTION=0.72"];
    assert_cause(&run.judge(), "preallocated", &words);
}

#[test]
fn a_library_beside_pytorch_that_leaks_in_every_step_is_blamed() {
    let mut run = Run::new();
    let torch = run.stack(&[TORCH, ("main", "/home/me/train.py", 12)]);
    let library = run.stack(&[("draw", "libdraw.so.1", 0), ("main", "/home/me/train.py", 13)]);
    let (address, size) = (Address(GIB), Bytes(GIB));
    let (class, growth) = (SizeClass::Large, SegmentGrowth::Fixed);
    run.push(torch, Action::SegmentAlloc { address, size, class, growth });
    for index in 0..20 {
        let (address, size) = (Address(GIB), Bytes(MIB));
        run.push(torch, Action::BlockAlloc { address, requested: size, size });
        run.take(MemoryKind::Device, library, (4 + index) * GIB, 16 * MIB);
        run.push(torch, Action::BlockFree { address });
        run.work();
    }
    run.exit();
    let verdict = run.judge();
    assert_cause(&verdict, "leak-at-exit", &["libdraw.so.1 left 20 allocations", "320.00 MiB"]);
}

#[test]
fn a_run_that_may_go_on_is_not_said_to_be_killed() {
    let mut run = Run::new();
    let stack = run.stack(&[("main", "main.cu", 7)]);
    run.take(MemoryKind::Device, stack, GIB, MIB);
    assert_cause(&run.judge(), "unknown", &["Cannot tell yet", "If it is still running"]);
    run.command();
    assert_cause(&run.judge(), "unknown", &["stops before the program exited", "If it was killed"]);
}
