//! The recorder beside whyoom's pool, for which a made one stands: what the pool serves, what it
//! declines, and what the recording tells of both.

use std::{
    os::unix::fs::symlink,
    path::{Path, PathBuf},
    process::{Command, Output},
};

use whyoom_recording::{Recording, Unresolved};
use whyoom_trace::{
    Action, Address, Bytes, Counter, DeviceId, Event, MemoryKind, SizeClass, StreamId, Tables,
};

/// Where the made pool's addresses begin.
const POOL: u64 = 1 << 44;
const MIB: u64 = 1 << 20;

fn built(name: &str) -> PathBuf {
    let test = std::env::current_exe().expect("a test has a file");
    test.parent().and_then(Path::parent).expect("in the target folder").join(name)
}

/// Runs the client with the made pool preloaded behind the recorder.
fn run(folder: &Path, variables: &[(&str, &str)]) -> Output {
    let recording = folder.join("recording");
    std::fs::create_dir_all(&recording).expect("a folder");
    let (driver, pool) = (folder.join("libcuda.so.1"), folder.join("libwhyoom_pool.so"));
    symlink(built("examples/libfake_driver.so"), driver).expect("a link");
    symlink(built("examples/libfake_pool.so"), &pool).expect("a link");
    let recorder = built("deps/libwhyoom_recorder.so");
    let mut command = Command::new(built("examples/fake_client"));
    command
        .arg("pooled")
        .env("LD_LIBRARY_PATH", folder)
        .env("LD_PRELOAD", format!("{}:{}", recorder.display(), pool.display()))
        .env("WHYOOM_RECORDING", recording)
        .envs(variables.iter().copied());
    command.output().expect("the client starts")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn read(folder: &Path) -> (Vec<Event>, Tables, Recording) {
    let recording = Recording::open(&folder.join("recording")).expect("a recording");
    let (mut events, mut tables) = (Vec::new(), Tables::default());
    recording.read(&mut Unresolved, &mut tables, &mut events).expect("readable");
    (events, tables, recording)
}

#[test]
fn the_pool_serves_and_tells_and_the_rest_is_the_drivers() {
    let folder = tempfile::tempdir().expect("a folder");
    let output = run(folder.path(), &[]);
    assert_eq!(text(&output.stderr), "");
    let said = text(&output.stdout);
    let expected = [
        "alloc 1000: 0 0x100000000000",
        "free: 0",
        "alloc 2097152: 0 0x10000000000",
        "free: 0",
        "alloc 1048576: 2 0x0",
        "free: 0",
        "alloc: 0",
        "0x100000200000 free: 0",
        "destroy: 0",
        "info: 0 7 of 9",
        "reset: 0",
        "gone: 3005",
        "pitched: 0 0x10000200000 512",
    ];
    assert_eq!(said.lines().count(), expected.len(), "{said}");
    for (line, begins) in said.lines().zip(expected) {
        assert!(line.starts_with(begins), "{line} is not {begins}");
    }

    let (events, tables, recording) = read(folder.path());
    let pool = Address(POOL);
    let size = Bytes(MIB);
    let block = Action::BlockAlloc { address: pool, requested: Bytes(1000), size: Bytes(1024) };
    let last = Address(POOL + 2 * MIB);
    let last_block = Action::BlockAlloc { address: last, requested: Bytes(100), size: Bytes(512) };
    let sample = |counter, bytes| Action::Sample { counter, bytes: Bytes(bytes) };
    let plain = |address, size| Action::Alloc {
        kind: MemoryKind::Device,
        address: Address(address),
        size: Bytes(size),
    };
    let expected = [
        Action::SegmentMap { address: pool, size, class: SizeClass::Small },
        block,
        Action::BlockFreeRequested { address: pool },
        Action::BlockFree { address: pool },
        Action::SegmentUnmap { address: pool, size },
        plain(1 << 40, 2 * MIB),
        Action::Free { kind: MemoryKind::Device, address: Address(1 << 40) },
        sample(Counter::DeviceTotal, 9 * MIB),
        sample(Counter::DeviceFree, 5 * MIB),
        sample(Counter::Allocated, 0),
        sample(Counter::Reserved, MIB),
        sample(Counter::Allowed, 7 * MIB),
        Action::OutOfMemory { requested: size },
        Action::SegmentMap { address: last, size, class: SizeClass::Small },
        last_block,
        Action::BlockFreeRequested { address: last },
        Action::BlockFree { address: last },
        Action::SegmentUnmap { address: last, size },
        plain((1 << 40) + 2 * MIB, 512 * 7),
        Action::Exit,
    ];
    let is_setting = |event: &&Event| matches!(event.action, Action::Setting { .. });
    let others = events.iter().filter(|event| !is_setting(event));
    assert_eq!(others.map(|event| event.action).collect::<Vec<_>>(), expected);

    let settings = events.iter().filter_map(|event| match event.action {
        Action::Setting { name, value } => Some((tables.text(name), tables.text(value))),
        _ => None,
    });
    assert_eq!(settings.filter(|(name, _)| *name == "whyoom_pool").collect::<Vec<_>>().len(), 1);
    let found = |action| events.iter().find(|event| event.action == action).expect("recorded");
    assert_eq!(found(block).origin.device, DeviceId(3));
    assert_ne!(found(block).stack.0, 0, "who asked is known");
    assert_eq!(tables.pool_name(found(block).origin.pool), (0, 9));
    assert_eq!(found(expected[0]).origin.pool.0, 0, "everybody's pool");
    assert_eq!(found(last_block).origin.stream, StreamId(2), "the thread's own");
    assert_eq!(found(expected[16]).origin.stream, StreamId(5));
    assert_eq!(recording.parts().len(), 1);
}

#[test]
fn callbacks_that_fail_stop_recording_and_nothing_else() {
    let whole = tempfile::tempdir().expect("a folder");
    let broken = tempfile::tempdir().expect("a folder");
    let fault = ("WHYOOM_RECORDER_FAULT", "whyoom_recorder_port");
    let (plain, failed) = (run(whole.path(), &[]), run(broken.path(), &[fault]));
    // What a driver asks of itself is not told apart where nothing is recorded: the last line.
    let said = |output: &Output| {
        let lines: Vec<String> = text(&output.stdout).lines().map(str::to_owned).collect();
        lines[..12].to_vec()
    };
    assert_eq!(said(&plain), said(&failed));
    assert_eq!(plain.status, failed.status);
    let said = text(&failed.stderr);
    assert!(said.starts_with("whyoom: recording stopped: "), "{said}");
    assert_eq!(said.lines().count(), 1, "{said}");
}

#[test]
fn the_pool_serves_where_nothing_is_recorded() {
    let folder = tempfile::tempdir().expect("a folder");
    let output = run(folder.path(), &[("WHYOOM_RECORDING", "")]);
    let said = text(&output.stdout);
    assert!(said.starts_with("alloc 1000: 0 0x100000000000"), "{said}");
    assert!(said.contains("gone: 3005\n"), "{said}");
}
