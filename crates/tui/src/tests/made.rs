//! Reports for tests.

use whyoom_gpu::{Device, Memory, ProcessKind, ProcessUse, Utilization};
use whyoom_node::{
    DeviceReport, Holder, NodeReport, Origin, Orphan, Recorded, RecordedPlace, State, Suspicion,
    SuspicionKind, Workload,
};

pub(super) const GIB: u64 = 1 << 30;
const SECOND: u64 = 1_000_000_000;
/// 2026-07-01 10:20:30.
pub(super) const NOW: u64 = 1_782_901_230 * SECOND;

pub(super) fn holder(pid: u32, gib: u64, user: &str, command: &str) -> Holder {
    Holder {
        pid,
        bytes: Some(gib * GIB),
        origin: Origin::Listed,
        started: Some(NOW - u64::from(pid) * SECOND),
        user: Some(user.to_owned()),
        command: Some(command.to_owned()),
        name: command.split_whitespace().next().map(str::to_owned),
        parent: Some(1000),
        state: Some(State::Ordinary),
        workload: None,
        orphan: None,
        recorded: None,
    }
}

pub(super) fn device(index: u32, holders: Vec<Holder>) -> DeviceReport {
    let used: u64 = holders.iter().filter_map(|holder| holder.bytes).sum();
    let listed = holders.iter().map(|holder| ProcessUse {
        pid: holder.pid,
        bytes: holder.bytes,
        kind: ProcessKind::Compute,
    });
    DeviceReport {
        device: Device {
            index,
            name: "NVIDIA A100-SXM4-80GB".to_owned(),
            uuid: format!("GPU-{index}"),
            bus_id: format!("00000000:0{index}:00.0"),
            memory: Memory {
                total: 80 * GIB,
                free: (80 * GIB).saturating_sub(used + GIB),
                used: used + GIB,
                reserved: Some(GIB),
            },
            unified_memory: false,
            processes: Some(listed.collect()),
            utilization: Some(Utilization { gpu: 37, memory: 12 }),
            temperature: Some(46),
            power_milliwatts: Some(212_400),
            power_limit_milliwatts: Some(400_000),
            ecc: None,
            retired_pages: None,
            remapped_rows: None,
            persistence: Some(true),
            mig: Some(false),
        },
        holders,
        residual: 0,
        suspicions: Vec::new(),
    }
}

pub(super) fn report(devices: Vec<DeviceReport>) -> NodeReport {
    NodeReport { time: NOW, devices, notes: Vec::new() }
}

/// Two devices: an orphan and its suspicion on the first, a family over both.
pub(super) fn usual() -> NodeReport {
    let mut orphan = holder(4242, 20, "alice", "VLLM::EngineCore --model llama");
    orphan.name = Some("VLLM::EngineCor".to_owned());
    orphan.parent = Some(1);
    orphan.orphan = Some(Orphan { own: true });
    let mut parent = holder(7000, 4, "bob", "python launch.py");
    parent.workload = Some(Workload::Slurm { job: "991".to_owned() });
    let mut child = holder(7001, 31, "bob", "python train.py --batch 64 --layers 48");
    child.parent = Some(7000);
    let mut second = child.clone();
    second.bytes = Some(30 * GIB);
    let mut stuck = holder(7002, 2, "bob", "python load.py /mnt/nfs/data");
    stuck.parent = Some(7001);
    stuck.state = Some(State::Stuck);
    let mut first = device(0, vec![child, orphan, parent]);
    first.suspicions = vec![suspicion()];
    report(vec![first, device(1, vec![second, stuck])])
}

pub(super) fn suspicion() -> Suspicion {
    Suspicion {
        kind: SuspicionKind::Orphan,
        headline: "Process 4242 (VLLM::EngineCor) holds 20.00 GiB and its parent has exited."
            .to_owned(),
        because: "It was re-parented to process 1; nothing waits for it. It runs for 1.2 h."
            .to_owned(),
        bytes: Some(20 * GIB),
        command: Some("kill 4242".to_owned()),
        pids: vec![4242],
    }
}

/// A device whose only process is recorded.
pub(super) fn recorded() -> NodeReport {
    let mut process = holder(7001, 31, "bob", "python train.py --batch 64");
    let place = |place: &str, gib| RecordedPlace { place: place.to_owned(), bytes: gib * GIB };
    process.recorded = Some(Recorded {
        folder: "/home/bob/whyoom-run-20270102-030405".to_owned(),
        allocated: 24 * GIB,
        reserved: 30 * GIB,
        driver: 30 * GIB,
        events: 81_234,
        places: vec![place("train.py:41 (step)", 20), place("model.py:7 (forward)", 4)],
    });
    report(vec![device(0, vec![process])])
}

/// Eight devices with one process each.
pub(super) fn eight() -> NodeReport {
    let rank = |index: u32| {
        let command = format!("python -m torch.distributed.run train.py --rank {index}");
        device(index, vec![holder(9000 + index, 8 * u64::from(index) + 2, "carol", &command)])
    };
    report((0..8).map(rank).collect())
}

/// One device and more processes than any screen has lines.
pub(super) fn many() -> NodeReport {
    let names = ["python serve.py", "ollama runner", "jupyter-lab"];
    let one = |number: u32| {
        holder(2000 + number, 1, "dave", &format!("{} {number}", names[number as usize % 3]))
    };
    report(vec![device(0, (0..60).map(one).collect())])
}
