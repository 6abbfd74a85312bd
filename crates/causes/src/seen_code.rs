//! Which code the run went through, as far as the stacks tell that are known: those at the peak and the failed
//! request's.

use whyoom_memory::Space;
use whyoom_trace::{FrameText, StackId};

use crate::diagnosis::Diagnosis;

/// Stacks beyond these tell nothing new of how the program works.
const MANY_STACKS: usize = 1024;

/// The stacks of the failed request and of the peak, the largest first.
pub(crate) fn stacks(diagnosis: &Diagnosis<'_>) -> impl Iterator<Item = StackId> + use<> {
    let asked = diagnosis.incident.map(|incident| incident.stack).filter(|one| *one != StackId(0));
    let peak = diagnosis.space.map(Space::peak_by_stack).unwrap_or_default();
    asked.into_iter().chain(peak.into_iter().map(|(stack, _)| stack).take(MANY_STACKS))
}

/// Whether any frame is such a one.
pub(crate) fn any_frame(
    diagnosis: &Diagnosis<'_>,
    is_such: impl Fn(&FrameText<'_>) -> bool,
) -> bool {
    stacks(diagnosis).any(|stack| diagnosis.tables.frames(stack).any(|frame| is_such(&frame)))
}

/// Whether the file or the function of any frame contains any of these.
pub(crate) fn any_named(diagnosis: &Diagnosis<'_>, parts: &[&str]) -> bool {
    any_frame(diagnosis, |frame| {
        parts.iter().any(|part| frame.file.contains(part) || frame.function.contains(part))
    })
}
