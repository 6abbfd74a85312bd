//! Reports to test with.

use whyoom_gpu::{Device, Memory};
use whyoom_node::{
    DeviceReport, Holder, NodeReport, Origin, Orphan, State, Suspicion, SuspicionKind,
};

pub(crate) const GIB: u64 = 1 << 30;
pub(crate) const NOW: u64 = 1_800_000_000_000_000_000;

pub(crate) fn orphan(pid: u32, gibibytes: u64) -> Holder {
    Holder {
        pid,
        bytes: Some(gibibytes * GIB),
        origin: Origin::Listed,
        started: Some(NOW - 3_000_000_000),
        user: Some("alice".to_owned()),
        command: Some("python train.py".to_owned()),
        name: Some("python".to_owned()),
        parent: Some(1),
        state: Some(State::Ordinary),
        workload: None,
        orphan: Some(Orphan { own: true }),
        recorded: None,
    }
}

pub(crate) fn device(index: u32, residual: u64, holders: Vec<Holder>) -> DeviceReport {
    let orphans = holders.iter().filter(|holder| holder.orphan.is_some());
    let pids: Vec<u32> = orphans.map(|holder| holder.pid).collect();
    let suspicion = Suspicion {
        kind: SuspicionKind::Orphan,
        headline: "its parent has exited".to_owned(),
        because: "it was reparented to process 1.".to_owned(),
        bytes: None,
        command: None,
        pids: pids.clone(),
    };
    let used = residual + holders.iter().filter_map(|holder| holder.bytes).sum::<u64>();
    DeviceReport {
        device: Device {
            index,
            name: "NVIDIA L4 (simulated)".to_owned(),
            uuid: format!("GPU-{index}"),
            bus_id: format!("0000:0{index}:00.0"),
            memory: Memory { total: 24 * GIB, free: 24 * GIB - used, used, reserved: None },
            processes: Some(Vec::new()),
            ..Device::default()
        },
        holders,
        residual,
        suspicions: if pids.is_empty() { Vec::new() } else { vec![suspicion] },
    }
}

pub(crate) fn node(devices: Vec<DeviceReport>) -> NodeReport {
    NodeReport { time: NOW, devices, notes: Vec::new() }
}
