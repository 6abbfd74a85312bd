//! The recorder in a program of its own, on a driver made for it: what it records, and that the
//! program sees the same with it as without.
#![allow(clippy::disallowed_methods, reason = "the tests' own files")]

use std::{
    os::unix::{fs::symlink, process::ExitStatusExt},
    path::{Path, PathBuf},
    process::{Command, Output},
};

use whyoom_recording::{Recording, Unresolved};
use whyoom_trace::{Action, Counter, DeviceId, Event, MarkKind, Tables};

fn built(name: &str) -> PathBuf {
    let test = std::env::current_exe().expect("a test has a file");
    // target/PROFILE/deps/TEST
    let profile = test.parent().and_then(Path::parent).expect("in the target folder");
    profile.join(name)
}

/// A folder for one test: the driver under its own name, and the recording.
struct Bench {
    folder: tempfile::TempDir,
}

impl Bench {
    fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        std::fs::create_dir(folder.path().join("recording")).expect("a folder in it");
        let driver = built("examples/libfake_driver.so");
        symlink(driver, folder.path().join("libcuda.so.1")).expect("a link");
        Self { folder }
    }

    fn recording(&self) -> PathBuf {
        self.folder.path().join("recording")
    }

    fn plain(&self, way: &str) -> Output {
        let mut command = Command::new(built("examples/fake_client"));
        command.arg(way).env("LD_LIBRARY_PATH", self.folder.path());
        command.output().expect("the client starts")
    }

    fn recorded_with(&self, way: &str, variables: &[(&str, &str)]) -> Output {
        let mut command = Command::new(built("examples/fake_client"));
        command
            .arg(way)
            .env("LD_LIBRARY_PATH", self.folder.path())
            .env("LD_PRELOAD", built("deps/libwhyoom_recorder.so"))
            .env("WHYOOM_RECORDING", self.recording())
            .envs(variables.iter().copied());
        command.output().expect("the client starts")
    }

    /// Runs the client with and without the recorder; what it recorded.
    fn events(&self, way: &str) -> Vec<Event> {
        let (plain, recorded) = (self.plain(way), self.recorded_with(way, &[]));
        same(way, &plain, &recorded);
        assert_eq!(text(&recorded.stderr), "", "{way}");
        self.read()
    }

    fn read(&self) -> Vec<Event> {
        self.read_into(&mut Tables::default())
    }

    fn read_into(&self, tables: &mut Tables) -> Vec<Event> {
        let recording = Recording::open(&self.recording()).expect("a recording");
        let mut events = Vec::new();
        recording.read(&mut Unresolved, tables, &mut events).expect("readable");
        events.retain(|event| !matches!(event.action, Action::Setting { .. }));
        events
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn same(way: &str, plain: &Output, recorded: &Output) {
    assert!(!plain.stdout.is_empty() || way == "threads", "{way}: {}", text(&plain.stderr));
    assert_eq!(text(&plain.stdout), text(&recorded.stdout), "{way}");
    assert_eq!(plain.status, recorded.status, "{way}");
}

/// Reads the size of a library's thread-local storage: `p_memsz` of its `PT_TLS` header, 0 if it has none.
fn thread_local_bytes(library: &Path) -> u64 {
    const TLS: u64 = 7;
    let file = std::fs::read(library).expect("the library is built");
    let number = |at: usize, bytes: usize| {
        let bytes = file[at..at + bytes].iter().rev();
        bytes.fold(0, |number, byte| number << 8 | u64::from(*byte))
    };
    let (first, size, count) = (number(0x20, 8), number(0x36, 2), number(0x38, 2));
    let headers = (0..count).map(|index| (first + index * size) as usize);
    let of_threads = headers.filter(|header| number(*header, 4) == TLS);
    of_threads.map(|header| number(header + 0x28, 8)).sum()
}

/// Thread-local storage of a preloaded library is taken from the stack of every thread of the program.
#[test]
fn thread_local_storage_is_small() {
    const MOST_BYTES: u64 = 256;
    let bytes = thread_local_bytes(&built("deps/libwhyoom_recorder.so"));
    assert!(bytes <= MOST_BYTES, "{bytes} bytes in every thread of every process");
}

fn allocs(events: &[Event]) -> Vec<u64> {
    let size = |event: &Event| match event.action {
        Action::Alloc { size, .. } => Some(size.0),
        _ => None,
    };
    events.iter().filter_map(size).collect()
}

fn is_exit(event: &Event) -> bool {
    event.action == Action::Exit
}

#[test]
fn every_road_leads_to_the_hook() {
    for way in ["dlsym", "get", "closed"] {
        let events = Bench::new().events(way);
        assert_eq!(events.len(), 3, "{way}: an allocation, its end, the exit: {events:?}");
        assert!(matches!(events[0].action, Action::Alloc { .. }), "{way}");
        assert!(matches!(events[1].action, Action::Free { .. }), "{way}");
        assert!(is_exit(&events[2]), "{way}");
        assert_eq!(events[0].origin.device, DeviceId(3), "{way}");
        assert_ne!(events[0].stack.0, 0, "{way}");
    }
}

#[test]
fn marks_are_recorded_with_names_in_bounded_number() {
    let bench = Bench::new();
    bench.events("marked");
    let mut tables = Tables::default();
    let events = bench.read_into(&mut tables);
    let marks = events.iter().filter_map(|event| match event.action {
        Action::Mark { kind, name } => Some((event.origin.device, kind, tables.text(name))),
        _ => None,
    });
    let marks: Vec<_> = marks.collect();
    let long = "x".repeat(256);
    let first = [
        (DeviceId::HOST, MarkKind::Phase, "load"),
        (DeviceId::HOST, MarkKind::Iteration, "step"),
        (DeviceId::HOST, MarkKind::Iteration, ""),
        (DeviceId::HOST, MarkKind::Phase, long.as_str()),
        (DeviceId::HOST, MarkKind::Iteration, "step 0"),
    ];
    assert_eq!(marks[..5], first);
    assert_eq!(marks.len(), 5004);
    // "load", "step", none, the long one, and 4,092 of the 5,000.
    assert_eq!(marks[4095].2, "step 4091");
    assert!(
        marks[4096..]
            .iter()
            .all(|(_, kind, name)| { *kind == MarkKind::Iteration && name.is_empty() })
    );
}

#[test]
fn what_is_not_known_is_left_alone() {
    let bench = Bench::new();
    same("unknown", &bench.plain("unknown"), &bench.recorded_with("unknown", &[]));
    same("missing", &bench.plain("missing"), &bench.recorded_with("missing", &[]));
    same("dlvsym", &bench.plain("dlvsym"), &bench.recorded_with("dlvsym", &[]));
    let parts = std::fs::read_dir(bench.recording()).expect("the folder").count();
    assert_eq!(parts, 0, "no call was recorded");
}

#[test]
fn what_the_driver_calls_itself_is_not_recorded_twice() {
    assert_eq!(allocs(&Bench::new().events("nested")), [512 * 7]);
}

#[test]
fn a_failure_comes_with_what_the_device_says() {
    let events = Bench::new().events("fails");
    assert_eq!(events[0].result.0, 2);
    let samples = events.iter().filter_map(|event| match event.action {
        Action::Sample { counter, bytes } => Some((counter, bytes.0)),
        _ => None,
    });
    let expected = [(Counter::DeviceTotal, 9 << 20), (Counter::DeviceFree, 5 << 20)];
    assert_eq!(samples.collect::<Vec<_>>(), expected);
    let last = &events[events.len() - 2];
    assert!(matches!(last.action, Action::OutOfMemory { requested } if requested.0 == 1 << 50));
    assert_eq!(last.stack, events[0].stack);
}

#[test]
fn calls_that_are_no_allocation_are_recorded_if_memory_runs_out() {
    let bench = Bench::new();
    bench.events("refused");
    let mut tables = Tables::default();
    let events = bench.read_into(&mut tables);
    let refused = events.iter().filter_map(|event| match event.action {
        Action::LaunchFailed { kernel, shared_memory } => {
            Some((tables.text(kernel), shared_memory.0, event.origin.device.0))
        }
        _ => None,
    });
    let expected = [
        ("cuStreamCreate", 0, 3),
        ("cuGraphInstantiateWithFlags", 0, 3),
        ("cuMemMap", 2 << 20, 3),
        ("cuMemSetAccess", 2 << 20, 3),
        ("cuMulticastBindMem_v2", 6, 2),
    ];
    assert_eq!(refused.collect::<Vec<_>>(), expected);
    let failures = events.iter().filter(|event| matches!(event.action, Action::OutOfMemory { .. }));
    assert_eq!(failures.count(), expected.len());
    let looks = |event: &&Event| matches!(event.action, Action::Sample { .. });
    assert_eq!(events.iter().filter(looks).count(), 2 * expected.len(), "the machine is looked at");
}

#[test]
fn a_context_without_a_device_is_asked_again() {
    let events = Bench::new().events("reset");
    let devices = events.iter().filter_map(|event| match event.action {
        Action::Alloc { .. } => Some(event.origin.device),
        _ => None,
    });
    assert_eq!(devices.collect::<Vec<_>>(), [DeviceId::HOST, DeviceId(3)]);
}

#[test]
fn allocations_in_a_recapture_are_nodes_of_its_graph() {
    assert_eq!(allocs(&Bench::new().events("recaptured")), [200]);
}

#[test]
fn a_thread_with_the_smallest_stack_starts() {
    let bench = Bench::new();
    let plain = bench.plain("small stack");
    assert_eq!(text(&plain.stdout), "set: 0, started: 0\n");
    same("small stack", &plain, &bench.recorded_with("small stack", &[]));
}

/// Compiles a library of the bench. Whether there is a compiler.
fn compiled(bench: &Bench, name: &str) -> bool {
    let source = bench.folder.path().join("passing.c");
    let passing = "int passing(int (*back)(void *), void *value) { return back(value) + 1; }\n";
    std::fs::write(&source, passing).expect("a source file");
    let mut compiler = Command::new("cc");
    compiler.args(["-shared", "-fPIC", "-O1"]).arg(&source).arg("-o");
    compiler.arg(bench.folder.path().join(name)).status().is_ok_and(|status| status.success())
}

#[test]
fn a_library_that_takes_anothers_place_is_told_from_it() {
    let bench = Bench::new();
    if !(compiled(&bench, "libeven.so") && compiled(&bench, "libodd.so")) {
        println!("skipped: there is no C compiler");
        return;
    }
    let plain = bench.plain("taken-places");
    assert!(text(&plain.stdout).matches("same place: true").count() > 3, "{}", text(&plain.stdout));
    let recorded = bench.recorded_with("taken-places", &[]);
    assert_eq!(text(&recorded.stderr), "");
    assert!(text(&recorded.stdout).matches("same place: true").count() > 3);
    let mut tables = Tables::default();
    let events = bench.read_into(&mut tables);
    let library = |event: &Event| {
        let frames = tables.frames(event.stack).map(|frame| frame.function.to_owned());
        frames.into_iter().find(|name| name.starts_with("lib") && name.contains(".so+"))
    };
    let allocs = events.iter().filter(|event| matches!(event.action, Action::Alloc { .. }));
    let libraries: Vec<_> = allocs.map(|event| library(event).unwrap_or_default()).collect();
    assert_eq!(libraries.len(), 6);
    for (round, library) in libraries.iter().enumerate() {
        let own = ["libeven.so", "libodd.so"][round % 2];
        assert!(library.starts_with(own), "{libraries:?}");
    }
}

#[test]
fn threads_lose_nothing() {
    assert_eq!(allocs(&Bench::new().events("threads")).len(), 8000);
}

#[test]
fn a_thread_may_end_inside_the_driver_and_leaves_its_file_to_the_next() {
    let bench = Bench::new();
    let sizes = allocs(&bench.events("one by one"));
    assert_eq!(sizes.len(), 21, "what ended the threads is no allocation: {sizes:?}");
    let files = std::fs::read_dir(bench.recording()).expect("the folder").flatten();
    let of_events = |file: &std::fs::DirEntry| file.path().extension() == Some("events".as_ref());
    assert!(files.filter(of_events).count() <= 2, "each thread had a file of its own");
}

#[test]
fn a_forked_child_has_a_part_of_its_own() {
    let bench = Bench::new();
    let events = bench.events("fork");
    let mut sizes = allocs(&events);
    sizes.sort_unstable();
    assert_eq!(sizes, [1, 2, 2, 3]);
    assert_eq!(events.iter().filter(|event| is_exit(event)).count(), 2);
    let recording = Recording::open(&bench.recording()).expect("a recording");
    assert_eq!(recording.parts().len(), 2);
}

#[test]
fn a_killed_process_leaves_what_it_did() {
    let bench = Bench::new();
    let recorded = bench.recorded_with("killed", &[]);
    assert_eq!(recorded.status.signal(), Some(9));
    let events = bench.read();
    assert_eq!(allocs(&events).len(), 100);
    assert!(!events.iter().any(is_exit));
}

#[test]
fn a_failing_hook_stops_recording_and_nothing_else() {
    for hook in ["cuMemAlloc_v2", "cuMemFree_v2", "cuGetProcAddress_v2"] {
        let bench = Bench::new();
        for way in ["dlsym", "get"] {
            let recorded = bench.recorded_with(way, &[("WHYOOM_RECORDER_FAULT", hook)]);
            same(way, &bench.plain(way), &recorded);
            let said = text(&recorded.stderr);
            if hook != "cuGetProcAddress_v2" || way == "get" {
                assert!(said.starts_with("whyoom: recording stopped: "), "{hook} {way}: {said}");
                assert_eq!(said.lines().count(), 1, "{hook} {way}: {said}");
            }
        }
    }
}

#[test]
fn a_folder_that_is_not_there_stops_recording_and_nothing_else() {
    let bench = Bench::new();
    std::fs::remove_dir(bench.recording()).expect("it was there");
    let recorded = bench.recorded_with("dlsym", &[]);
    same("dlsym", &bench.plain("dlsym"), &recorded);
    assert!(text(&recorded.stderr).contains("the program continues"), "{}", text(&recorded.stderr));
}
