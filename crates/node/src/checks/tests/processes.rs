//! Checks of processes: what one is, and whose.

use super::{GIB, capture, device, judged, only, process, says, thread};
use crate::{
    capture::{Absent, Mount, Open, Relative, Thread, Viewer},
    judge,
    report::{Origin, State, SuspicionKind, Workload},
};

#[test]
fn an_ordinary_process_is_not_suspicious() {
    let report = judged(&capture(device(&[(50, 3 * GIB)]), vec![process(50)]));
    assert_eq!(report.suspicions, []);
    assert_eq!(report.residual, 0);
    assert_eq!(report.holders[0].state, Some(State::Ordinary));
}

#[test]
fn a_job_is_known_by_its_variable_where_no_control_group_tells() {
    let mut task = process(50);
    task.environment.slurm_job = Some("77".to_owned());
    let place =
        |task| judged(&capture(device(&[(50, GIB)]), vec![task])).holders.remove(0).workload;
    let job = |job: &str| Some(Workload::Slurm { job: job.to_owned() });
    assert_eq!(place(task.clone()), job("77"));
    task.cgroup = Some("0::/system.slice/slurmstepd.scope/job_78/step_0".to_owned());
    assert_eq!(place(task), job("78"));
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
    says(&found, &["but 2 others run"]);
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
        (Some("kernel_clone"), Some("kill -9 50"), ["1 of 2 threads of PID 50 is in", "vfork"]),
        (Some("rpc_wait_bit_killable"), Some("kill -9 50"), ["/data (nfs4)", "umount -f"]),
        (Some("uvm_va_block_op"), None, ["driver", "reset"]),
        (None, Some("kill -9 50"), ["this user may not read it", "/data"]),
    ] {
        let found = only(&stuck(function, true), SuspicionKind::Stuck);
        assert_eq!(found.command.as_deref(), command);
        says(&found, &words);
    }
    let mut alone = stuck(Some("kernel_clone"), true);
    alone.processes[0].threads.remove(0);
    let found = only(&alone, SuspicionKind::Stuck);
    says(&found, &["the only thread of PID 50 is in state D"]);
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
    seen.viewer.pid_namespace = Some(4_026_532_000);
    says(&only(&seen, SuspicionKind::Ghost), &["container", "--pid=host"]);
}

#[test]
fn a_proc_of_another_namespace_is_told() {
    let mut seen = capture(device(&[(50, GIB)]), vec![process(50)]);
    assert_eq!(judge(&seen).notes, [""; 0]);
    seen.viewer.foreign_proc = true;
    assert!(judge(&seen).notes[0].contains("mount -t proc proc /proc"));
    seen.viewer = Viewer::default();
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
    says(&found, &["user bob holds 30.00 GiB", "80.00 GiB", "Only user bob or"]);
    let mut as_root = seen(30 * GIB);
    (as_root.viewer.uid, as_root.processes[0].user) = (Some(0), Some("nobody".to_owned()));
    says(&only(&as_root, SuspicionKind::OtherTenant), &["can stop it, but ask user nobody first"]);
    let mut third = other.clone();
    (third.pid, third.uid, third.user) = (51, Some(1002), Some("eve".to_owned()));
    let both = capture(device(&[(50, 9 * GIB), (51, GIB)]), vec![other.clone(), third]);
    says(&only(&both, SuspicionKind::OtherTenant), &["users bob and eve hold 10", "stop them"]);
    assert_eq!(judged(&seen(GIB)).suspicions, [], "little does not decide");
}
