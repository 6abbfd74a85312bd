//! What was found, as events: the node's samples in a recording.

use whyoom_trace::{
    Action, Bytes, Counter, DeviceId, Event, EventSink, Origin, ProcessId, ProcessState, Tables,
    Time,
};

use crate::report::{self, DeviceReport, Holder, NodeReport, State};

/// Emits what the report says of each device: capacity, what is free, and each holder's bytes.
///
/// `process` is the viewer's entry in the tables; holders are named by their number in the event.
pub fn emit(
    report: &NodeReport,
    process: ProcessId,
    tables: &mut Tables,
    sink: &mut dyn EventSink,
) {
    for device in &report.devices {
        for action in actions(device, tables) {
            let origin = Origin { process, device: device_id(device), ..Origin::default() };
            let event = Event { time: Time(report.time), origin, action, ..Event::default() };
            sink.event(&event, tables);
        }
    }
}

fn device_id(device: &DeviceReport) -> DeviceId {
    u16::try_from(device.device.index).map_or(DeviceId::UNKNOWN, DeviceId)
}

fn actions(device: &DeviceReport, tables: &mut Tables) -> Vec<Action> {
    let memory = device.device.memory;
    let samples = [(Counter::DeviceTotal, memory.total), (Counter::DeviceFree, memory.free)];
    let samples =
        samples.into_iter().map(|(counter, bytes)| Action::Sample { counter, bytes: Bytes(bytes) });
    let holders = device.holders.iter().filter_map(|holder| {
        let command = tables.string(holder.command.as_deref().unwrap_or_default());
        let (pid, bytes) = (holder.pid, Bytes(holder.bytes?));
        Some(Action::Holder { pid, bytes, command, standing: standing(holder) })
    });
    samples.chain(holders).collect()
}

/// How a holder stands, the worst first.
#[must_use]
pub fn standing(holder: &Holder) -> ProcessState {
    match (holder.origin, holder.state) {
        (report::Origin::Ghost, _) => ProcessState::Ghost,
        (_, Some(State::Stuck)) => ProcessState::Stuck,
        (_, Some(State::ZombieLeader)) => ProcessState::ZombieLeader,
        _ if holder.orphan.is_some() => ProcessState::Orphan,
        (_, Some(_)) => ProcessState::Runs,
        (_, None) => ProcessState::Untold,
    }
}

#[cfg(test)]
mod tests {
    use whyoom_gpu::{Device, Memory, ProcessKind, ProcessUse};

    use whyoom_trace::StringId;

    use super::*;
    use crate::{Capture, judge};

    #[test]
    fn capacity_free_and_holders() {
        let kind = ProcessKind::Compute;
        let device: Device = serde_json::from_value(serde_json::json!({
            "index": 1, "name": "GPU", "uuid": "", "bus_id": "",
            "memory": Memory { total: 100, free: 60, used: 40, reserved: Some(0) },
            "processes": [ProcessUse { pid: 7, bytes: Some(40), kind }],
        }))
        .expect("a device");
        let report = judge(&Capture { time: 5, devices: vec![device], ..Capture::default() });
        let (mut tables, mut events) = (Tables::default(), Vec::new());
        let process = tables.process("node");
        emit(&report, process, &mut tables, &mut events);
        let actions: Vec<Action> = events.iter().map(|event: &Event| event.action).collect();
        let sample = |counter, bytes| Action::Sample { counter, bytes: Bytes(bytes) };
        let expected = [
            sample(Counter::DeviceTotal, 100),
            sample(Counter::DeviceFree, 60),
            Action::Holder {
                pid: 7,
                bytes: Bytes(40),
                command: StringId(0),
                standing: ProcessState::Ghost,
            },
        ];
        assert_eq!(actions, expected);
        assert!(
            events.iter().all(|event| event.time == Time(5) && event.origin.device == DeviceId(1))
        );
    }
}
