//! What was found, as events: the node's samples in a recording.

use whyoom_trace::{
    Action, Bytes, Counter, DeviceId, Event, EventSink, Origin, ProcessId, Tables, Time,
};

use crate::report::{DeviceReport, NodeReport};

/// Emits what the report says of each device: capacity, what is free, and each holder's bytes.
///
/// `process` is the observer's entry in the tables; holders are named by their number in the event.
pub fn emit(report: &NodeReport, process: ProcessId, tables: &Tables, sink: &mut dyn EventSink) {
    for device in &report.devices {
        for action in actions(device) {
            let origin = Origin { process, device: device_id(device), ..Origin::default() };
            let event = Event { time: Time(report.time), origin, action, ..Event::default() };
            sink.event(&event, tables);
        }
    }
}

fn device_id(device: &DeviceReport) -> DeviceId {
    u16::try_from(device.device.index).map_or(DeviceId::UNKNOWN, DeviceId)
}

fn actions(device: &DeviceReport) -> impl Iterator<Item = Action> + '_ {
    let memory = device.device.memory;
    let samples = [(Counter::DeviceTotal, memory.total), (Counter::DeviceFree, memory.free)];
    let samples =
        samples.into_iter().map(|(counter, bytes)| Action::Sample { counter, bytes: Bytes(bytes) });
    let holders = device
        .holders
        .iter()
        .filter_map(|holder| Some(Action::Holder { pid: holder.pid, bytes: Bytes(holder.bytes?) }));
    samples.chain(holders)
}

#[cfg(test)]
mod tests {
    use whyoom_gpu::{Device, Memory, ProcessKind, ProcessUse};

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
        emit(&report, process, &tables, &mut events);
        let actions: Vec<Action> = events.iter().map(|event: &Event| event.action).collect();
        let sample = |counter, bytes| Action::Sample { counter, bytes: Bytes(bytes) };
        let expected = [
            sample(Counter::DeviceTotal, 100),
            sample(Counter::DeviceFree, 60),
            Action::Holder { pid: 7, bytes: Bytes(40) },
        ];
        assert_eq!(actions, expected);
        assert!(
            events.iter().all(|event| event.time == Time(5) && event.origin.device == DeviceId(1))
        );
    }
}
