//! The devices of this machine, looked at now.

use anyhow::Result;
use whyoom_gpu::{Asked, Gpus};
use whyoom_node::{Capture, NodeReport, NodeSampler, judge};

use super::unavailable::with_advice;

/// What to type in the lab.
const COMMAND: &str = "whyoom who";
use crate::recorded::Recorders;

/// The driver, opened.
pub(crate) struct Live {
    gpus: Gpus,
    /// Remembers what need not be read again. It also dates all processes by one clock, so that equal
    /// starts are equal.
    sampler: NodeSampler,
    recorders: Recorders,
    /// Whether what is seen is kept or sent, not shown to who asks.
    kept: bool,
}

impl Live {
    /// Opens the driver, or says why it cannot be and what to do.
    /// For JSON, which is kept and sent, other users' command lines are left out, and the recordings of recorded
    /// processes are read, too.
    pub(crate) fn open(json: bool) -> Result<Self> {
        let gpus = Gpus::open().map_err(|error| with_advice(error, COMMAND))?;
        let recorders = if json { Recorders::with_places() } else { Recorders::default() };
        Ok(Self { gpus, sampler: NodeSampler::new(), recorders, kept: json })
    }

    /// What to tell who asked for a device that is not here; nothing where it is.
    pub(crate) fn lacks(&self, wanted: u32) -> Result<Option<String>> {
        let devices = self.gpus.read(Asked::Memory).map_err(|error| with_advice(error, COMMAND))?;
        if let Some(silent) = devices.silent.iter().find(|silent| silent.index == wanted) {
            return Ok(Some(silent.why.clone()));
        }
        let indices: Vec<u32> = devices.answering.iter().map(|device| device.index).collect();
        let there = match &indices[..] {
            _ if indices.contains(&wanted) => return Ok(None),
            [] => "the driver lists none".to_owned(),
            [only] => format!("the only one is GPU {only}"),
            [first, .., last] => format!("available are GPU {first} to {last}"),
        };
        Ok(Some(format!("there is no GPU {wanted}: {there}")))
    }

    /// All that is looked at, now.
    pub(crate) fn capture(&mut self) -> Result<Capture> {
        let look = self.sampler.look(&self.gpus, Asked::All);
        let capture = look.map_err(|error| with_advice(error, COMMAND))?;
        Ok(if self.kept { capture.private() } else { capture })
    }

    /// Who holds memory now, of one device or of all. Processes are judged by all devices, whichever
    /// is shown.
    pub(crate) fn look(&mut self, device: Option<u32>) -> Result<NodeReport> {
        let mut report = judge(&self.capture()?);
        report.devices.retain(|one| device.is_none_or(|index| one.device.index == index));
        self.recorders.fill(&mut report);
        Ok(report)
    }
}
