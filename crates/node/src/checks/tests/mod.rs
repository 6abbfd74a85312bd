//! Each check on captured inputs: what it must say, and where it must be silent.

mod memory;
mod processes;

use whyoom_gpu::{Device, Memory, ProcessKind, ProcessUse};

use crate::{
    capture::{Capture, Kin, Process, Relative, Thread, Viewer},
    judge,
    report::{DeviceReport, Suspicion, SuspicionKind},
};

const GIB: u64 = 1 << 30;
const FIRST_NAMESPACE: u64 = 0xEFFF_FFFC;

/// A device of 80 GiB with these processes, and nothing in use beside them.
fn device(processes: &[(u32, u64)]) -> Device {
    let sum: u64 = processes.iter().map(|(_, bytes)| bytes).sum();
    let (total, reserved) = (81_920 << 20, 768 << 20);
    let kind = ProcessKind::Compute;
    let list = processes.iter().map(|&(pid, bytes)| ProcessUse { pid, bytes: Some(bytes), kind });
    Device {
        index: 0,
        name: "NVIDIA A100-SXM4-80GB".to_owned(),
        uuid: "GPU-1".to_owned(),
        bus_id: "00000000:3B:00.0".to_owned(),
        memory: Memory {
            total,
            used: reserved + sum,
            free: total - reserved - sum,
            reserved: Some(reserved),
        },
        processes: Some(list.collect()),
        ..Device::default()
    }
}

/// A process of the viewer's own, started by a shell that lives.
fn process(pid: u32) -> Process {
    let shell =
        Relative { pid: 20, name: "bash".into(), session: 20, group: 20, ..Relative::default() };
    Process {
        pid,
        uid: Some(1000),
        user: Some("ann".to_owned()),
        name: Some("python".to_owned()),
        command: Some("python train.py".to_owned()),
        started_ticks: Some(5000),
        kin: Kin {
            parent: Some(20),
            session: Some(20),
            group: Some(pid),
            seen_parent: Some(shell),
            session_leader_lives: Some(true),
            group_leader_lives: Some(true),
        },
        threads: vec![thread(pid, 'S')],
        ..Process::default()
    }
}

fn thread(tid: u32, state: char) -> Thread {
    Thread { tid, state, ..Thread::default() }
}

fn capture(device: Device, processes: Vec<Process>) -> Capture {
    Capture {
        devices: vec![device],
        minors: vec![Some(0)],
        processes,
        viewer: Viewer {
            pid: 9,
            uid: Some(1000),
            pid_namespace: Some(FIRST_NAMESPACE),
            ..Viewer::default()
        },
        ..Capture::default()
    }
}

fn judged(capture: &Capture) -> DeviceReport {
    judge(capture).devices.remove(0)
}

fn only(capture: &Capture, kind: SuspicionKind) -> Suspicion {
    let found = judged(capture).suspicions;
    let kinds: Vec<_> = found.iter().map(|suspicion| suspicion.kind).collect();
    assert_eq!(kinds, [kind], "{found:#?}");
    found.into_iter().next().expect("one")
}

fn says(suspicion: &Suspicion, words: &[&str]) {
    let text = format!("{} {}", suspicion.headline, suspicion.because);
    for word in words {
        assert!(text.contains(word), "{word:?} is not in {text:?}");
    }
}

#[test]
fn a_capture_survives_being_saved() {
    let seen = capture(device(&[(50, GIB)]), vec![process(50)]);
    let text = serde_json::to_string(&seen).expect("plain data");
    assert_eq!(serde_json::from_str::<Capture>(&text).expect("the same data"), seen);
}
