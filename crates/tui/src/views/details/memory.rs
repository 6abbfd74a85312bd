//! What it holds.

use whyoom_trace::Bytes;

use super::{OwnLine, Subject};
use crate::state::holds;

pub(super) fn lines(subject: &Subject<'_>) -> Vec<OwnLine> {
    let mut lines = Vec::new();
    for (device, bytes) in holds(subject.report, subject.entry.holder.pid) {
        let label = format!("GPU {device}");
        let devices = &subject.report.devices;
        let total = devices.iter().find(|one| one.device.index == device);
        let total = Bytes(total.map_or(0, |one| one.device.memory.total));
        let text = match bytes {
            None => "the driver does not report how much it holds".to_owned(),
            Some(bytes) => {
                let share = Bytes(bytes).share_of(total) * 100.0;
                format!("{} of {total}, {share:.0} %", Bytes(bytes))
            }
        };
        lines.extend(subject.field(&label, &text));
    }
    lines
}
