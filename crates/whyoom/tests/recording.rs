//! A recording, made here event by event, as the commands read it.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

use std::{path::Path, process::Command};

use serde_json::Value;
use whyoom_recording::{Definition, Lease, Options, Part, RawFrame, now};
use whyoom_sources::recording::{Applied, Ending, MachineSample, SeenDevice, SeenHolder};
use whyoom_trace::{
    Action, Address, Bytes, Counter, Event, MemoryKind, ProcessState, ResultCode, StackId,
    StringId, ThreadId,
};

const MIB: u64 = 1 << 20;
const IN_PYTORCH: StackId = StackId(1);

struct Writer {
    part: Part,
    lease: Lease,
}

impl Writer {
    fn new(folder: &Path) -> Self {
        let part = Part::create(folder, Options::default()).unwrap();
        let lease = part.lease(ThreadId(1)).unwrap();
        let path = StringId(1);
        part.define(Definition::String { id: path, text: b"/venv/libc10_cuda.so" }).unwrap();
        let module =
            Definition::Module { start: 0x1000, end: 0x9000, bias: 0x1000, path, build_id: &[] };
        part.define(module).unwrap();
        let frames = [RawFrame::Native(0x1234)];
        part.define(Definition::Stack { id: IN_PYTORCH, frames: &frames }).unwrap();
        Self { part, lease }
    }

    fn write(&mut self, stack: StackId, result: i32, action: Action) {
        let (time, result) = (now(), ResultCode(result));
        let event = Event { time, stack, result, action, ..Event::default() };
        self.lease.event(&self.part, &event).unwrap();
    }

    fn sample(&mut self, counter: Counter, bytes: u64) {
        self.write(StackId(0), 0, Action::Sample { counter, bytes: Bytes(bytes) });
    }

    /// A segment with one block in it.
    fn tensor(&mut self, address: u64, size: u64) {
        let (address, size) = (Address(address), Bytes(size));
        self.write(IN_PYTORCH, 0, Action::Alloc { kind: MemoryKind::Device, address, size });
        self.write(IN_PYTORCH, 0, Action::BlockAlloc { address, requested: size, size });
    }

    /// The driver refuses, and PyTorch's allocator gives up.
    fn run_out(&mut self, requested: u64, free: u64, reserved: u64) {
        let failure = Action::OutOfMemory { requested: Bytes(requested) };
        self.sample(Counter::DeviceTotal, 2048 * MIB);
        self.sample(Counter::DeviceFree, free);
        self.write(IN_PYTORCH, 2, failure);
        self.sample(Counter::Allocated, reserved);
        self.sample(Counter::Reserved, reserved);
        self.write(IN_PYTORCH, 0, failure);
        self.part.failed();
    }
}

fn whyoom(arguments: &[&str], folder: &Path) -> Value {
    let mut command = Command::new(env!("CARGO_BIN_EXE_whyoom"));
    let output = command.args(arguments).arg("--json").arg(folder).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

/// Ten tensors of 100 MiB, then one too many.
fn ran_out(folder: &Path) -> u64 {
    let mut writer = Writer::new(folder);
    for number in 0..10 {
        writer.tensor(number << 32, 100 * MIB);
    }
    let failed = std::time::SystemTime::now();
    writer.run_out(1500 * MIB, 548 * MIB, 1000 * MIB);
    failed.duration_since(std::time::UNIX_EPOCH).unwrap().as_nanos() as u64
}

#[test]
fn why_judges_a_recording() {
    let folder = tempfile::tempdir().unwrap();
    let failed = ran_out(folder.path());
    let holder = |pid, bytes| SeenHolder {
        pid,
        bytes,
        command: "python serve.py".to_owned(),
        standing: ProcessState::Runs,
        ..SeenHolder::default()
    };
    let own = std::process::id();
    let holders = vec![holder(own, 1200 * MIB), holder(1, 300 * MIB)];
    let device =
        SeenDevice { total: 2048 * MIB, free: 548 * MIB, holders, ..SeenDevice::default() };
    let look = MachineSample { time: failed + 1_000_000, pid: own, devices: vec![device] };
    look.append(folder.path()).unwrap();

    let answer = whyoom(&["why"], folder.path());
    assert_eq!(answer["inputs"][0]["kind"], "recording");
    assert_eq!(answer["incidents_seen"], 1, "PyTorch's failure and the driver's are one");
    let totals = &answer["totals"][0];
    assert!(totals["process"].as_str().unwrap().ends_with(&format!("(PID {own})")), "{totals:#}");
    assert_eq!(totals["reserved_bytes"], 1000 * MIB);
    assert_eq!(totals["segments"], 10);
    let incident = &answer["incidents"][0];
    assert_eq!(incident["free_bytes"], 548 * MIB);
    assert_eq!(incident["process_used_bytes"], 1200 * MIB);
    assert_eq!(incident["others"][0]["pid"], 1);
}

#[test]
fn failures_that_the_program_survived_are_no_error() {
    let folder = tempfile::tempdir().unwrap();
    let mut writer = Writer::new(folder.path());
    writer.tensor(0, 100 * MIB);
    for _ in 0..3 {
        writer.run_out(1500 * MIB, 548 * MIB, 1000 * MIB);
    }
    writer.tensor(1 << 32, 10 * MIB);
    drop(writer);
    let text = || {
        let mut command = Command::new(env!("CARGO_BIN_EXE_whyoom"));
        let output = command.arg("why").arg(folder.path()).output().unwrap();
        String::from_utf8(output.stdout).unwrap()
    };
    let mut ending = Ending { pid: std::process::id(), status: Some(0), ..Ending::default() };
    ending.write(folder.path()).unwrap();
    let told = text();
    let first = "ok: 3 requests failed and were caught; the program ended with 0\nnote[";
    assert!(told.starts_with(first), "{told}");
    ending.status = Some(1);
    ending.write(folder.path()).unwrap();
    assert!(text().starts_with("error["), "it failed");
    // A shell script may end with 0 after its program failed.
    ending = Ending { pid: 1, status: Some(0), ..Ending::default() };
    ending.write(folder.path()).unwrap();
    assert!(text().starts_with("error["), "another process ended with 0");
}

#[test]
fn without_an_argument_the_newest_recording_is_read() {
    let outer = tempfile::tempdir().unwrap();
    for name in ["whyoom-run-2", "whyoom-run-1"] {
        let folder = outer.path().join(name);
        std::fs::create_dir(&folder).unwrap();
        ran_out(&folder);
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    let told = |arguments: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_whyoom"));
        command.args(arguments).current_dir(outer.path()).stdin(std::process::Stdio::null());
        let output = command.output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let text = |bytes| String::from_utf8(bytes).unwrap();
        (text(output.stdout), text(output.stderr))
    };
    let newest = "whyoom: the newest recording here: whyoom-run-1";
    let (verdict, said) = told(&["why"]);
    assert!(said.starts_with(newest), "{said}");
    assert!(verdict.contains("whyoom why --verbose whyoom-run-1\n"), "{verdict}");
    let (written, said) = told(&["report"]);
    assert!(said.starts_with(newest) && written.starts_with("wrote report.html"), "{said}");
}

#[test]
fn a_message_in_quotes_is_read_as_a_text() {
    let message = "CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 23.64 GiB of which \
                   1.13 GiB is free. Process 4242 has 14.20 GiB memory in use. Including non-PyTorch memory, this \
                   process has 8.30 GiB memory in use. Of the allocated memory 7.52 GiB is allocated by PyTorch, \
                   and 270.00 MiB is reserved by PyTorch but unallocated.";
    let answer = whyoom(&["why"], Path::new(message));
    assert_eq!(answer["inputs"][0]["kind"], "text");
    assert_eq!(answer["verdict"]["cause"], "other-process");
}

#[test]
fn replay_replays_a_recording() {
    let folder = tempfile::tempdir().unwrap();
    ran_out(folder.path());
    let answer = whyoom(&["replay"], folder.path());
    let run = &answer["runs"][0];
    assert_eq!(run["allocations"], 10);
    assert_eq!(run["recorded_peak_reserved_bytes"], 1000 * MIB);
    assert_eq!(run["capacity_bytes"], 1548 * MIB);
    assert_eq!(run["model"]["equal"], run["model"]["steps"]);
}

#[test]
fn a_kill_is_told_by_who_started_it() {
    let folder = tempfile::tempdir().unwrap();
    Writer::new(folder.path()).tensor(1 << 32, 20 * MIB);
    let pid = std::process::id();
    let mut ending = Ending { pid, signal: Some(9), ..Ending::default() };
    ending.write(folder.path()).unwrap();
    assert_eq!(whyoom(&["why"], folder.path())["verdict"]["cause"], "host-oom");
    ending.killed_for_memory = Some(0);
    ending.write(folder.path()).unwrap();
    assert_ne!(whyoom(&["why"], folder.path())["verdict"]["cause"], "host-oom");
}

#[test]
fn a_folder_that_is_no_recording_is_said_to_be_none() {
    let folder = tempfile::tempdir().unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_whyoom"));
    let output = command.arg("why").arg(folder.path()).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(
        String::from_utf8_lossy(&output.stderr)
            .contains("neither a recording of whyoom run nor one of whyoom attach")
    );
}

/// With what may lie beside it: PyTorch's snapshot, how it ended, and what came of a fix.
#[cfg(target_os = "linux")]
#[test]
fn a_packed_recording_is_read_as_its_folder() {
    let parent = tempfile::tempdir().unwrap();
    let (folder, packed) = (parent.path().join("run"), parent.path().join("run.tar.gz"));
    std::fs::create_dir_all(folder.join("torch")).unwrap();
    ran_out(&folder);
    let applied = Applied { setting: Some("expandable_segments:True".to_owned()), succeeded: true };
    let pid = std::process::id();
    let ending = Ending { pid, status: Some(1), applied: Some(applied), ..Ending::default() };
    ending.write(&folder).unwrap();
    let snapshot = "../../tests/fixtures/snapshots/growth-oom.pickle";
    std::fs::copy(snapshot, folder.join("torch/1.pickle")).unwrap();

    let mut tar = Command::new("tar");
    tar.arg("czf").arg(&packed).arg("-C").arg(parent.path()).arg("run");
    assert!(tar.status().unwrap().success());
    // Of a packed recording no library is opened.
    for words in [&["why", "--no-symbols"][..], &["why", "--no-symbols", "--timeline"]] {
        let named = |path: &Path| {
            let answer = serde_json::to_string_pretty(&whyoom(words, path)).unwrap();
            answer.replace("run.tar.gz", "run")
        };
        let of_folder = named(&folder);
        assert!(of_folder.contains("1.pickle"), "{of_folder}");
        same_lines(&of_folder, &named(&packed));
    }
}

/// Equal, or the first line that differs.
#[cfg(target_os = "linux")]
fn same_lines(expected: &str, found: &str) {
    let differs = expected.lines().zip(found.lines()).find(|(one, other)| one != other);
    assert_eq!(differs, None);
    assert_eq!(expected.lines().count(), found.lines().count());
}
