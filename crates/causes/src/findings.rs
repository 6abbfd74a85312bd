//! What holds in one diagnosis.

use crate::{
    already_applied,
    breakdown::{MemoryBreakdown, Suffices},
    catalogue::CATALOGUE,
    diagnosis::Diagnosis,
    finding::{Finding, Strength},
    framework,
    ranking::{parts_of, rank},
    said,
};

/// What holds in a diagnosis, the primary cause first.
pub(crate) fn findings(diagnosis: &Diagnosis<'_>) -> Vec<Finding> {
    let mut found: Vec<Finding> =
        CATALOGUE.iter().filter_map(|cause| (cause.check)(diagnosis)).collect();
    // Figures come first: what is said counts where they do not decide.
    if found.iter().all(|finding| finding.strength < Strength::Likely) {
        found.extend(said::finding(diagnosis));
    }
    // Of a recorded failure the causes look at the blocks themselves, and replay answers.
    let breakdown = diagnosis.breakdown().filter(|_| diagnosis.is_message());
    for finding in &mut found {
        ask(breakdown.as_ref(), finding);
    }
    found.sort_by_key(rank);
    let is_answered = found.first().is_some_and(|first| first.strength > Strength::Fallback);
    if is_answered {
        found.retain(|finding| finding.strength != Strength::Fallback);
    }
    for finding in &mut found {
        say_recovered(diagnosis, finding);
        framework::keep_fitting(diagnosis, finding);
        already_applied::keep_new(diagnosis, finding);
    }
    found
}

/// The one question: without the parts of the memory that a cause explains, would the request have been served? Where
/// not, it is not what stopped the run.
fn ask(breakdown: Option<&MemoryBreakdown>, finding: &mut Finding) {
    let parts = parts_of(finding);
    let answer = breakdown.filter(|_| !parts.is_empty()).and_then(|all| all.without(parts));
    if answer == Some(Suffices::No) {
        finding.strength = finding.strength.min(Strength::Contributing);
    }
}

/// A failure that the program got over is told as one.
fn say_recovered(diagnosis: &Diagnosis<'_>, finding: &mut Finding) {
    if diagnosis.went_on() {
        finding.because.push_str(" The program continued: it fell back, or retried with less.");
    }
}
