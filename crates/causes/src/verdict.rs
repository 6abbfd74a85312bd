//! The answer that people get.

use whyoom_trace::{DeviceId, ProcessId};

use crate::{
    breakdown::{MemoryBreakdown, Suffices},
    cause::Cause,
    finding::Finding,
    ranking::parts_of,
};

/// The answer: one primary cause, what contributed, and which processes it holds for.
#[derive(Debug, Clone)]
pub struct Verdict {
    /// The cause that explains what happened.
    pub primary: Finding,
    /// The other cause that the figures leave open, where they do: at most one.
    pub alternatives: Vec<&'static Cause>,
    /// Other causes that hold, by the bytes that each would give back.
    pub contributing: Vec<Finding>,
    /// Where the memory of the device was, where its capacity is known.
    pub breakdown: Option<MemoryBreakdown>,
    /// Every process and device that was judged, with its own primary cause.
    pub by_process: Vec<(ProcessId, DeviceId, &'static str)>,
}

impl Verdict {
    /// The primary finding and those that contribute.
    pub fn findings(&self) -> impl Iterator<Item = &Finding> {
        std::iter::once(&self.primary).chain(&self.contributing)
    }

    /// Whether removing what a contributing finding tells of would have helped as well: it gives back what was
    /// missing, or is no matter of bytes at all.
    #[must_use]
    pub fn matters(&self, finding: &Finding) -> bool {
        let shortfall = self.breakdown.as_ref().and_then(|breakdown| breakdown.shortfall);
        let parts = parts_of(finding);
        let without = self.breakdown.as_ref().filter(|_| !parts.is_empty());
        match (finding.cause, without.and_then(|all| all.without(parts)), finding.reclaimable) {
            // A request that no empty device could serve fails whatever else is true; an indirect error is its symptom.
            ("healthy" | "unknown" | "masked", ..) => false,
            // What another process or device failed for is its own matter.
            _ if self.is_elsewhere(finding) => true,
            _ if self.primary.cause == "request-too-big" => false,
            // What grows fills the cache as well: its pieces are no second fault.
            ("fragmented-cache" | "cache-held" | "rounding", ..)
                if self.primary.cause == "growth" =>
            {
                false
            }
            (_, Some(answer), _) => answer != Suffices::No,
            (_, None, Some(bytes)) => shortfall.is_none_or(|shortfall| bytes >= shortfall.low),
            (_, None, None) => true,
        }
    }

    /// Whether a finding is of another process or device than the primary one.
    #[must_use]
    pub fn is_elsewhere(&self, finding: &Finding) -> bool {
        (finding.process, finding.device) != (self.primary.process, self.primary.device)
    }

    /// The same, to be completed by what a replay or the program told.
    pub(crate) fn findings_mut(&mut self) -> impl Iterator<Item = &mut Finding> {
        std::iter::once(&mut self.primary).chain(&mut self.contributing)
    }
}
