//! One device with everything that the checks look at.

use whyoom_gpu::Device;
use whyoom_trace::Bytes;

use crate::{
    capture::{Capture, Process},
    holders,
    report::{Holder, State},
    residual,
};

/// What a check sees.
#[derive(Debug)]
pub(crate) struct CheckContext<'a> {
    pub(crate) capture: &'a Capture,
    pub(crate) device: &'a Device,
    pub(crate) holders: Vec<Holder>,
    pub(crate) residual: u64,
}

impl<'a> CheckContext<'a> {
    pub(crate) fn new(capture: &'a Capture, place: usize, device: &'a Device) -> Self {
        let minor = capture.minors.get(place).copied().flatten();
        let holders = holders::of(capture, device, minor);
        Self { capture, device, holders, residual: residual::of(device) }
    }

    /// The holders that fit, with what is known of their processes.
    pub(crate) fn processes(
        &self,
        fits: impl Fn(&Holder, &Process) -> bool,
    ) -> Vec<(&Holder, &'a Process)> {
        let known = self
            .holders
            .iter()
            .filter_map(|holder| Some((holder, self.capture.process(holder.pid)?)));
        known.filter(|(holder, process)| fits(holder, process)).collect()
    }

    /// The holders in a state.
    pub(crate) fn in_state(&self, state: State) -> Vec<(&Holder, &'a Process)> {
        self.processes(|holder, _| holder.state == Some(state))
    }

    /// Whether somebody must be looked for.
    pub(crate) fn unexplained(&self) -> bool {
        holders::unexplained(self.capture, self.device)
    }

    /// The command that ends these, with the right to do so.
    pub(crate) fn kill(&self, how: &str, holders: &[(&Holder, &Process)]) -> String {
        let own = self.capture.viewer.uid;
        let may = own == Some(0) || holders.iter().all(|(_, process)| process.uid == own);
        format!("{}{how} {}", if may { "" } else { "sudo " }, spaced(&pids(holders)))
    }

    /// `GPU 0`.
    pub(crate) fn gpu(&self) -> String {
        format!("GPU {}", self.device.index)
    }

    /// What is in use without what the driver keeps for itself.
    pub(crate) fn taken(&self) -> u64 {
        self.device.memory.used.saturating_sub(self.device.memory.reserved.unwrap_or_default())
    }
}

/// The sum of what these hold; `None` where none of it is told.
pub(crate) fn sum<'a>(holders: impl IntoIterator<Item = &'a Holder>) -> Option<u64> {
    holders.into_iter().filter_map(|holder| holder.bytes).reduce(u64::saturating_add)
}

/// `3.00 GiB`, or that it is not told.
pub(crate) fn holding(bytes: Option<u64>) -> String {
    bytes.map_or_else(|| "memory of unknown size".to_owned(), |bytes| Bytes(bytes).to_string())
}

/// The numbers, as a command takes them.
pub(crate) fn pids(holders: &[(&Holder, &Process)]) -> Vec<u32> {
    holders.iter().map(|(holder, _)| holder.pid).collect()
}

/// `12 15 16`.
fn spaced(pids: &[u32]) -> String {
    pids.iter().map(u32::to_string).collect::<Vec<_>>().join(" ")
}

/// `12, 15 and 16`; a long list is cut.
pub(crate) fn listed(pids: &[u32]) -> String {
    const MOST: usize = 8;
    let shown: Vec<String> = pids.iter().take(MOST).map(u32::to_string).collect();
    match (pids.len().saturating_sub(MOST), shown.split_last()) {
        (0, Some((last, []))) => last.clone(),
        (0, Some((last, rest))) => format!("{} and {last}", rest.join(", ")),
        (0, None) => String::new(),
        (more, _) => format!("{} and {more} more", shown.join(", ")),
    }
}

/// `1 thread`, `3 threads`: the word for one, which takes an s for several.
pub(crate) fn counted(count: usize, one: &str) -> String {
    format!("{count} {one}{}", if count == 1 { "" } else { "s" })
}

/// `PID 12`, or `PIDs 12 and 15`.
pub(crate) fn numbered(pids: &[u32]) -> String {
    format!("PID{} {}", if pids.len() == 1 { "" } else { "s" }, listed(pids))
}

/// The name that people know a process by, shortened: `python train.py --epochs 3`.
pub(crate) fn called(holder: &Holder) -> String {
    const LONGEST: usize = 60;
    let text = holder.command.as_deref().or(holder.name.as_deref()).unwrap_or("a process");
    // The folder that a program is in says little.
    let (program, rest) = text.split_at(text.find(' ').unwrap_or(text.len()));
    let text = [program.rsplit('/').next().unwrap_or(program), rest].concat();
    if text.chars().count() <= LONGEST {
        return text;
    }
    text.chars().take(LONGEST - 1).chain(['…']).collect()
}

/// `PID 12 (python train.py)`, or `3 processes (PIDs 1, 2 and 3)`.
pub(crate) fn named(holders: &[(&Holder, &Process)]) -> String {
    match holders {
        [(holder, _)] => format!("PID {} ({})", holder.pid, called(holder)),
        several => format!("{} processes (PIDs {})", several.len(), listed(&pids(several))),
    }
}
