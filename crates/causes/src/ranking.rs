//! Which of several causes that hold is named first, and which part of the memory each explains.
//!
//! To rank a new cause: a row in [`RANKING`].

use std::cmp::Reverse;

use whyoom_trace::Bytes;

use crate::{
    breakdown::Component::{self, *},
    finding::{Finding, Strength},
};

/// Who wants what a cause explains, from what the work needs to what nobody wants. Of causes that each would do, what
/// nobody wants is named first: it can be given up for nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Wanted {
    /// The work needs it.
    Needed,
    /// Somebody configured it.
    Configured,
    /// Nobody wants it.
    Unwanted,
}

/// A cause, who wants what it explains, and the parts of the memory that it is.
struct Row {
    cause: &'static str,
    wanted: Wanted,
    /// None where it is no part of the device: a cap, the host's memory, a figure of another kind.
    parts: &'static [Component],
}

const fn row(cause: &'static str, wanted: Wanted, parts: &'static [Component]) -> Row {
    Row { cause, wanted, parts }
}

const RANKING: &[Row] = &[
    // What was freed, and is kept or lost all the same.
    row("late-setting", Wanted::Unwanted, &[Cache, EmptySegments]),
    row("fragmented-cache", Wanted::Unwanted, &[Cache, EmptySegments]),
    row("private-pool", Wanted::Unwanted, &[PrivatePools, EmptySegments]),
    // A message does not tell what waits for a stream from what is free.
    row(
        "pending-free",
        Wanted::Unwanted,
        &[PendingFree, DriverPools, PrivatePools, EmptySegments, Cache],
    ),
    row("allocator-defect", Wanted::Unwanted, &[Cache, EmptySegments, PrivatePools, PendingFree]),
    row("mempool-held", Wanted::Unwanted, &[DriverPools, Cache]),
    row("cache-held", Wanted::Unwanted, &[]),
    // What was forgotten.
    row("growth", Wanted::Unwanted, &[]),
    row("leak-at-exit", Wanted::Unwanted, &[]),
    row("orphan", Wanted::Unwanted, &[OtherProcesses]),
    row("unseen-holder", Wanted::Unwanted, &[Unattributed, OtherProcesses]),
    row("stray-context", Wanted::Unwanted, &[OtherProcesses]),
    // What others work with is theirs, and not this program's work.
    row("other-process", Wanted::Unwanted, &[OtherProcesses, Unattributed]),
    // What somebody asked for.
    row("limit", Wanted::Configured, &[]),
    row("preallocated", Wanted::Configured, &[]),
    row("context-overhead", Wanted::Configured, &[Context, OtherProcesses]),
    row("library-workspace", Wanted::Configured, &[Outside, Context]),
    row("rounding", Wanted::Configured, &[Live]),
    // What the work needs.
    row("request-too-big", Wanted::Needed, &[]),
    row("working-set", Wanted::Needed, &[]),
];

/// The stronger first; of equals what gives back more; of these what is wanted least. Sorting is stable: of equals
/// in all, the catalogue's order decides.
pub(crate) fn rank(finding: &Finding) -> Reverse<(Strength, Option<Bytes>, Option<Wanted>)> {
    let row = row_of(finding);
    Reverse((finding.strength, finding.reclaimable, row.map(|row| row.wanted)))
}

fn row_of(finding: &Finding) -> Option<&'static Row> {
    RANKING.iter().find(|row| row.cause == finding.cause)
}

/// The parts of the memory that a cause explains.
pub(crate) fn parts_of(finding: &Finding) -> &'static [Component] {
    row_of(finding).map_or(&[], |row| row.parts)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_names_a_cause() {
        for row in RANKING {
            assert!(crate::find(row.cause).is_some(), "{}", row.cause);
        }
    }
}
