//! What a file of `whyoom doctor --json` measured of a machine, for those who compute with it.

use std::time::Duration;

use thiserror::Error;

use crate::{
    measured::MeasuredGpu,
    report::{Report, SCHEMA, VERSION},
};

/// No call takes as long; what a file says beyond it is no measurement.
const LONGEST_CALL: Duration = Duration::from_secs(10);

/// How long calls of virtual memory management take, in the median.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CallTimes {
    /// `cuMemCreate`.
    pub create: Duration,
    /// `cuMemMap` and `cuMemSetAccess` together.
    pub map: Duration,
    /// `cuMemUnmap`.
    pub unmap: Duration,
}

/// What was measured of a machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Machine {
    /// Its GPUs, in CUDA's order.
    pub gpus: Vec<MeasuredGpu>,
    /// Where they were measured.
    pub calls: Option<CallTimes>,
}

/// Why a file tells nothing of a machine.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum MachineError {
    /// It is something else.
    #[error("it is not the output of whyoom doctor --json")]
    NotAReport,
    /// It is from another time.
    #[error("it has version {0} of the schema, and this whyoom reads {VERSION}")]
    OtherVersion(u32),
    /// Nothing could be measured when it was made.
    #[error("no GPU was measured when it was made")]
    NoGpu,
}

impl Machine {
    /// Reads what `whyoom doctor --json` printed.
    ///
    /// # Errors
    /// The text is something else, or has no GPU in it.
    pub fn read(text: &str) -> Result<Self, MachineError> {
        let report: Report = serde_json::from_str(text).map_err(|_| MachineError::NotAReport)?;
        if report.schema != SCHEMA {
            return Err(MachineError::NotAReport);
        }
        if report.version != VERSION {
            return Err(MachineError::OtherVersion(report.version));
        }
        let gpus: Vec<MeasuredGpu> =
            report.checks.iter().flat_map(|check| check.outcome.gpus.iter().cloned()).collect();
        if gpus.is_empty() {
            return Err(MachineError::NoGpu);
        }
        Ok(Self { gpus, calls: calls(&report) })
    }

    /// The first GPU of this model.
    #[must_use]
    pub fn gpu(&self, name: &str) -> Option<&MeasuredGpu> {
        self.gpus.iter().find(|gpu| gpu.name == name)
    }
}

fn calls(report: &Report) -> Option<CallTimes> {
    let pages = report.checks.iter().find(|check| check.name == "pages")?;
    let median = |call: &str| {
        let microseconds = pages.outcome.figures.get(&format!("{call}_median_microseconds"))?;
        Duration::try_from_secs_f64(microseconds / 1e6).ok().filter(|time| *time < LONGEST_CALL)
    };
    let map = median("map")?.checked_add(median("access")?)?;
    Some(CallTimes { create: median("create")?, map, unmap: median("unmap")? })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::{outcome::Outcome, report::Checked};

    fn report(gpus: Vec<MeasuredGpu>) -> Report {
        let mut figures = Outcome::ok("measured");
        figures.gpus = gpus;
        let pages = ["create", "map", "access", "unmap"]
            .iter()
            .fold(Outcome::ok("timed"), |outcome, call| {
                outcome.with(&format!("{call}_median_microseconds"), 10.0)
            });
        let checked =
            |name: &str, outcome| Checked { name: name.to_owned(), seconds: 0.1, outcome };
        Report::new(vec![checked("pages", pages), checked("figures", figures)])
    }

    fn read(report: &Report) -> Result<Machine, MachineError> {
        Machine::read(&serde_json::to_string(report).expect("it is JSON"))
    }

    #[test]
    fn what_was_measured_is_read_back() {
        let figures = BTreeMap::from([("context".to_owned(), 400 << 20)]);
        let gpu = MeasuredGpu { name: "NVIDIA L4".to_owned(), simulated: false, figures };
        let machine = read(&report(vec![gpu.clone()])).expect("it is a report");
        assert_eq!(machine.gpu("NVIDIA L4"), Some(&gpu));
        assert_eq!(machine.gpu("NVIDIA L40S"), None);
        assert_eq!(machine.calls.map(|calls| calls.map), Some(Duration::from_micros(20)));
    }

    #[test]
    fn what_tells_nothing_is_refused() {
        assert_eq!(Machine::read("{}"), Err(MachineError::NotAReport));
        assert_eq!(Machine::read("\0"), Err(MachineError::NotAReport));
        assert_eq!(read(&report(Vec::new())), Err(MachineError::NoGpu));
        let later = Report { version: 9, ..report(Vec::new()) };
        assert_eq!(read(&later), Err(MachineError::OtherVersion(9)));
        let other = Report { schema: "whyoom.why".to_owned(), ..report(Vec::new()) };
        assert_eq!(read(&other), Err(MachineError::NotAReport));
    }

    #[test]
    fn times_that_cannot_be_are_none() {
        let mut report = report(Vec::new());
        for impossible in [-1.0, 1e16] {
            let figures = &mut report.checks[0].outcome.figures;
            figures.insert("map_median_microseconds".to_owned(), impossible);
            assert_eq!(calls(&report), None);
        }
    }
}
