//! What is suspicious about it.

use super::{OwnLine, Subject};
use crate::views::findings::in_full;

pub(super) fn lines(subject: &Subject<'_>) -> Vec<OwnLine> {
    let pid = subject.entry.holder.pid;
    let suspicions = subject.report.devices.iter().flat_map(|device| &device.suspicions);
    suspicions
        .filter(|suspicion| suspicion.pids.contains(&pid))
        .flat_map(|suspicion| in_full(suspicion, subject.theme, subject.width))
        .collect()
}
