//! A saved /proc: a zombie leader, an orphan, a monitor, a stuck process and a ghost, read as the live
//! one is. The links of open files are made here, because some ways of copying a tree lose them.
#![allow(clippy::disallowed_methods, reason = "a test's own files")]

use std::{
    fs,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
};

use whyoom_gpu::{Device, Memory, ProcessKind, ProcessUse};
use whyoom_node::{
    Capture, NodeReport, NodeSampler, Origin, State, SuspicionKind, Workload, judge,
};

const GIB: u64 = 1 << 30;

/// Links of the tree: folder, name, target.
const LINKS: &[(&str, &str, &str)] = &[
    ("self/ns", "pid", "pid:[4026531836]"),
    ("100/fd", "0", "/dev/pts/0"),
    ("100/fd", "7", "/dev/nvidia0"),
    ("100/fd", "8", "/dev/nvidia-uvm"),
    ("200/task/201/fd", "3", "/dev/nvidia0"),
    ("200/task/201/fd", "4", "/dev/nvidia-uvm"),
    ("300/fd", "3", "/dev/nvidia0"),
    ("300/fd", "4", "/dev/nvidiactl"),
    ("400/fd", "5", "/dev/nvidia0"),
    ("500/fd", "5", "socket:[17]"),
];

/// A copy of the tree with its links, in a folder of this test's own.
fn tree(name: &str) -> PathBuf {
    let to = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = fs::remove_dir_all(&to);
    copy(&Path::new(".").join("tests/fixtures/proc"), &to);
    for (folder, name, target) in LINKS {
        fs::create_dir_all(to.join(folder)).expect("a folder");
        symlink(target, to.join(folder).join(name)).expect("a link");
    }
    // Version control keeps no empty folders: the first thread of 200 has ended and shows no files.
    fs::create_dir_all(to.join("200/fd")).expect("a folder");
    to
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("a folder");
    for entry in fs::read_dir(from).expect("the fixture").map(|entry| entry.expect("an entry")) {
        let target = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).expect("a copy");
        }
    }
}

fn device(listed: &[u32]) -> Device {
    let kind = ProcessKind::Compute;
    let processes = listed.iter().map(|&pid| ProcessUse { pid, bytes: Some(GIB), kind }).collect();
    let used = listed.len() as u64 * GIB;
    Device {
        name: "NVIDIA GeForce RTX 4090".to_owned(),
        memory: Memory {
            total: 24_564 << 20,
            free: (24_564 << 20) - used,
            used,
            reserved: Some(0),
        },
        processes: Some(processes),
        ..Device::default()
    }
}

fn report(name: &str, listed: &[u32]) -> NodeReport {
    let mut sampler = NodeSampler::at(&tree(name));
    judge(&sampler.look_with(vec![device(listed)], vec![Some(0)]))
}

#[test]
fn every_process_is_what_it_is() {
    let report = report("all", &[100, 200, 400, 900]);
    let device = &report.devices[0];
    let holder = |pid| device.holders.iter().find(|holder| holder.pid == pid);
    let state = |pid| holder(pid).and_then(|holder| holder.state);
    assert_eq!(state(100), Some(State::Ordinary));
    assert_eq!(state(200), Some(State::ZombieLeader));
    assert_eq!(holder(200).and_then(|holder| holder.command.as_deref()), Some("python serve.py"));
    assert_eq!(state(400), Some(State::Stuck));
    assert_eq!(holder(900).map(|holder| holder.origin), Some(Origin::Ghost));
    assert_eq!(holder(300), None, "a monitor has the device open and holds nothing");
    assert_eq!(holder(500), None);

    let orphan = holder(100).expect("listed");
    assert!(orphan.orphan.is_some_and(|orphan| orphan.own));
    assert_eq!(orphan.command.as_deref(), Some("VLLM::EngineCore"));
    assert_eq!(orphan.started, Some(1_700_000_050_000_000_000));
    let pod = matches!(orphan.workload, Some(Workload::Pod { container: Some(_), .. }));
    assert!(pod, "{:?}", orphan.workload);

    let kinds: Vec<_> = device.suspicions.iter().map(|suspicion| suspicion.kind).collect();
    let expected = [
        SuspicionKind::Orphan,
        SuspicionKind::ZombieLeader,
        SuspicionKind::Stuck,
        SuspicionKind::Ghost,
    ];
    assert_eq!(kinds, expected, "{:#?}", device.suspicions);
    assert!(device.suspicions[2].because.contains("/mnt/data (nfs4)"));
}

#[test]
fn a_thread_shows_what_its_dead_leader_does_not() {
    let report = report("unlisted", &[]);
    let device = &report.devices[0];
    let open: Vec<_> = device.holders.iter().map(|holder| (holder.pid, holder.origin)).collect();
    assert_eq!(open, [(100, Origin::HasDeviceOpen), (200, Origin::HasDeviceOpen)]);
}

#[test]
fn a_rank_of_a_torchrun_that_was_killed_is_an_orphan() {
    let mut sampler = NodeSampler::at(&tree("rank"));
    let capture = sampler.look_with(vec![device(&[600])], vec![Some(0)]);
    let report = judge(&capture);
    let found = &report.devices[0].suspicions[0];
    assert!(found.kind == SuspicionKind::Orphan && found.pids.contains(&600), "{found:?}");
    assert!(found.because.contains("TORCHELASTIC_RUN_ID"), "{}", found.because);
    let saved = serde_json::to_string(&capture).expect("plain data");
    assert!(!saved.contains("verysecret"), "values of variables are not kept");
}

#[test]
fn a_second_look_agrees_with_the_first() {
    let mut sampler = NodeSampler::at(&tree("twice"));
    let mut look = || sampler.look_with(vec![device(&[100, 200])], vec![Some(0)]);
    let (first, second) = (look(), look());
    assert_eq!(first.processes, second.processes);
    assert_eq!(first.absent, second.absent);
}

#[test]
fn an_empty_tree_is_no_failure() {
    let empty = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("no-such-folder");
    let capture = NodeSampler::at(&empty).look_with(vec![device(&[100])], vec![None]);
    assert_eq!(judge(&capture).devices[0].holders[0].origin, Origin::Ghost);
}

/// Captures that were saved once can be read and judged ever after.
#[test]
fn a_saved_capture_is_judged_as_it_was() {
    let file = Path::new(".").join("tests/fixtures/capture.json");
    let text = fs::read_to_string(file).expect("the fixture");
    let capture: Capture = serde_json::from_str(&text).expect("a capture");
    let device = &judge(&capture).devices[0];
    let kinds: Vec<_> = device.suspicions.iter().map(|suspicion| suspicion.kind).collect();
    assert_eq!(kinds, [SuspicionKind::Orphan, SuspicionKind::Stuck, SuspicionKind::Ghost]);
    assert_eq!(device.holders.len(), 3);
}
