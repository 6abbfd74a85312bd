//! How much of a process's device memory was recorded as driver calls, and how much was not seen.

use whyoom_trace::Bytes;

use crate::{
    diagnosis::Diagnosis,
    finding::{Basis, Evidence, Finding, Strength},
    observed::CONTEXT_ALLOWANCE,
};

/// The amount beyond a measured context up to which nothing is said, because libraries load code when it is first used.
/// Chosen, not measured.
const CODE_ALLOWANCE: Bytes = Bytes(512 << 20);

/// The device memory of a recorded process, by the driver's own figure and by its recorded calls.
struct Coverage {
    in_use: Bytes,
    recorded: Bytes,
    /// The size of a context, if it was measured on this machine.
    context: Option<Bytes>,
}

impl Coverage {
    /// Returns `None` if the driver's calls were not recorded, or if the driver's own figure for the process is not known.
    fn of(diagnosis: &Diagnosis<'_>) -> Option<Self> {
        if !diagnosis.was_recorded() {
            return None;
        }
        let recorded =
            diagnosis.driver()?.held.max(diagnosis.observed.reserved.unwrap_or_default());
        let in_use = diagnosis.observed.process_used?;
        Some(Self { in_use, recorded, context: diagnosis.measured.context })
    }

    /// Returns the memory that no recorded call accounts for, or `None` if it may be a context and loaded code.
    fn unseen(&self) -> Option<Bytes> {
        let allowance = match self.context {
            Some(context) => context.plus(CODE_ALLOWANCE),
            None => CONTEXT_ALLOWANCE,
        };
        let rest = self.in_use.minus(self.recorded);
        if rest <= allowance { None } else { Some(rest.minus(self.context.unwrap_or_default())) }
    }
}

/// Says in a finding how much memory of the process was not seen, and lowers its certainty. Does nothing if the recorded
/// calls account for the memory of the process.
pub(crate) fn add_coverage(diagnosis: &Diagnosis<'_>, finding: &mut Finding) {
    let Some(coverage) = Coverage::of(diagnosis) else { return };
    let Some(unseen) = coverage.unseen() else { return };
    let Coverage { in_use, recorded, context } = coverage;
    let with_context = if context.is_some() { "" } else { " (its context is part of that)" };
    finding.because.push_str(&format!(
        " Recorded: {recorded} of the {in_use} that the driver counts for this process; {unseen} was not seen as \
         calls{with_context}."
    ));
    finding.evidence.push(Evidence::bytes("not seen as calls", unseen, Basis::Computed));
    if finding.strength == Strength::Explains {
        finding.strength = Strength::Likely;
    }
}
