//! Checks of processes: what one is, and whose.

use super::{GIB, capture, device, judged, only, process, says, thread};
use crate::{
    capture::{Absent, Mount, Observer, Open, Relative, Thread},
    judge,
    report::{Origin, State, SuspicionKind},
};

#[test]
fn an_ordinary_process_is_not_suspicious() {
    let report = judged(&capture(device(&[(50, 3 * GIB)]), vec![process(50)]));
    assert_eq!(report.suspicions, []);
    assert_eq!(report.residual, 0);
    assert_eq!(report.holders[0].state, Some(State::Ordinary));
}

#[test]
fn an_orphan_of_ones_own() {
    let mut orphan = process(50);
    orphan.name = Some("VLLM::EngineCor".to_owned());
    orphan.kin.seen_parent = Some(Relative {
        pid: 1,
        name: "systemd".into(),
        session: 1,
        group: 1,
        ..Relative::default()
    });
    orphan.kin.session_leader_lives = Some(false);
    let found =
        only(&capture(device(&[(50, 3 * GIB)]), vec![orphan.clone()]), SuspicionKind::Orphan);
    assert_eq!(found.command.as_deref(), Some("whyoom who --kill-orphans"));
    assert_eq!((found.bytes, found.pids.as_slice()), (Some(3 * GIB), &[50][..]));
    says(&found, &["PID 50", "3.00 GiB", "session 20", "VLLM::EngineCor"]);

    orphan.uid = Some(1001);
    let found = judged(&capture(device(&[(50, 3 * GIB)]), vec![orphan])).suspicions.remove(0);
    assert_eq!(found.command.as_deref(), Some("sudo kill 50"), "another's is not ended for us");
}

#[test]
fn a_zombie_leader_with_live_threads() {
    let mut dead_looking = process(50);
    dead_looking.threads = vec![thread(50, 'Z'), thread(51, 'S'), thread(52, 'R')];
    let found =
        only(&capture(device(&[(50, GIB)]), vec![dead_looking]), SuspicionKind::ZombieLeader);
    assert_eq!(found.command.as_deref(), Some("kill -9 50"));
    says(&found, &["2 others live on"]);
}

#[test]
fn a_stuck_process_by_what_it_waits_for() {
    let stuck = |function: Option<&str>, still_waiting| {
        let mut process = process(50);
        let waits_in = function.map(str::to_owned);
        process.threads.push(Thread { tid: 51, state: 'D', waits_in, still_waiting });
        process.mounts = vec![Mount { point: "/data".into(), kind: "nfs4".into() }];
        capture(device(&[(50, GIB)]), vec![process])
    };
    for (function, command, words) in [
        (Some("kernel_clone"), Some("kill -9 50"), ["1 of 2 threads", "vfork"]),
        (Some("rpc_wait_bit_killable"), Some("kill -9 50"), ["/data (nfs4)", "umount -f"]),
        (Some("uvm_va_block_op"), None, ["driver", "reset"]),
        (None, Some("kill -9 50"), ["may not be read", "/data"]),
    ] {
        let found = only(&stuck(function, true), SuspicionKind::Stuck);
        assert_eq!(found.command.as_deref(), command);
        says(&found, &words);
    }
    let briefly = judged(&stuck(Some("folio_wait_bit"), false));
    assert_eq!(briefly.suspicions, [], "reading from a disk is not hanging");
}

#[test]
fn a_ghost_and_what_only_looks_like_one() {
    let mut seen = capture(device(&[(70, GIB)]), vec![]);
    seen.absent = vec![Absent { pid: 70, exists: Some(false) }];
    let found = only(&seen, SuspicionKind::Ghost);
    assert_eq!(found.command, None);
    says(&found, &["PID 70", "no longer exists", "--gpu-reset -i 0"]);
    assert_eq!(judged(&seen).holders[0].origin, Origin::Ghost);

    let mut heir = process(60);
    heir.open = Open { devices: vec![0], unified_memory: true, ..Open::default() };
    seen.processes = vec![heir];
    let found = judged(&seen).suspicions;
    assert_eq!(found[0].command.as_deref(), Some("kill 60"), "who inherited its files");
    seen.processes.clear();

    seen.absent = vec![Absent { pid: 70, exists: Some(true) }];
    says(&only(&seen, SuspicionKind::Ghost), &["hidden from this user", "hidepid"]);

    seen.absent = vec![Absent { pid: 70, exists: Some(false) }];
    seen.observer.pid_namespace = Some(4_026_532_000);
    says(&only(&seen, SuspicionKind::Ghost), &["container", "--pid=host"]);
}

#[test]
fn a_proc_of_another_namespace_is_told() {
    let mut seen = capture(device(&[(50, GIB)]), vec![process(50)]);
    assert_eq!(judge(&seen).notes, [""; 0]);
    seen.observer.foreign_proc = true;
    assert!(judge(&seen).notes[0].contains("mount -t proc proc /proc"));
    seen.observer = Observer::default();
    assert!(judge(&seen).notes[0].contains("There is no /proc here"));
}

#[test]
fn an_mps_server() {
    let mut server = process(50);
    server.name = Some("nvidia-cuda-mps".to_owned());
    server.command = Some("/usr/bin/nvidia-cuda-mps-server".to_owned());
    let found = only(&capture(device(&[(50, GIB)]), vec![server]), SuspicionKind::MpsServer);
    assert_eq!(found.command.as_deref(), Some("echo quit | nvidia-cuda-mps-control"));
}

#[test]
fn an_unlisted_process_that_can_compute() {
    let mut open = process(60);
    open.open = Open { devices: vec![0], unified_memory: true, ..Open::default() };
    let idle = judged(&capture(device(&[]), vec![open.clone()]));
    assert_eq!((idle.suspicions.len(), idle.holders.len()), (0, 1), "shown, and holds nothing");

    let mut full = device(&[]);
    full.memory.used += 4 * GIB;
    full.memory.free -= 4 * GIB;
    let found = judged(&capture(full, vec![open.clone()])).suspicions;
    let kinds: Vec<_> = found.iter().map(|suspicion| suspicion.kind).collect();
    assert_eq!(kinds, [SuspicionKind::Unlisted, SuspicionKind::Residual]);
    assert_eq!(found[0].command.as_deref(), Some("kill 60"));

    let mut loader = open.clone();
    loader.kin.parent = Some(50);
    let training = judged(&capture(device(&[(50, GIB)]), vec![process(50), loader]));
    assert_eq!(training.holders.len(), 1, "a child inherits open files");

    open.open.unified_memory = false;
    let monitor = judged(&capture(device(&[]), vec![open.clone()]));
    assert_eq!(
        (monitor.suspicions.len(), monitor.holders.len()),
        (0, 0),
        "a monitor holds nothing"
    );

    open.open = Open { devices: vec![1], unified_memory: true, ..Open::default() };
    let elsewhere = judged(&capture(device(&[]), vec![open]));
    assert_eq!(elsewhere.holders, [], "another device is not this one");
}

#[test]
fn another_tenant_who_holds_much() {
    let mut other = process(50);
    (other.uid, other.user) = (Some(1001), Some("bob".to_owned()));
    let seen = |bytes| capture(device(&[(50, bytes)]), vec![other.clone()]);
    let found = only(&seen(30 * GIB), SuspicionKind::OtherTenant);
    assert_eq!(found.command, None);
    says(&found, &["bob holds 30.00 GiB", "80.00 GiB"]);
    assert_eq!(judged(&seen(GIB)).suspicions, [], "little does not decide");
}
