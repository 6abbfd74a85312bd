//! The evidence does not decide.

use whyoom_trace::Bytes;

use crate::{
    cause::Cause,
    finding::{Basis, Evidence, Finding, Remedy, Strength},
    scene::{CONTEXT_ALLOWANCE, Scene},
};

pub(super) const CAUSE: Cause = Cause {
    id: "unknown",
    title: "the evidence does not decide",
    explanation: "\
What was given does not tell why memory ran out, or whether it did. whyoom does not guess: it says what
is missing and how to record it.

What tells more: the whole text of the message (the sizes in it decide most cases); a snapshot taken
with history, at the moment of the failure.",
    check,
};

/// Records history and dumps it when memory runs out.
const RECORD: &str = "\
torch.cuda.memory._record_memory_history(max_entries=1_000_000)
try:
    main()
except torch.cuda.OutOfMemoryError:
    torch.cuda.memory._dump_snapshot(\"oom.pickle\")
    raise";

fn check(scene: &Scene<'_>) -> Option<Finding> {
    let (headline, because) = match (scene.incident, scene.space) {
        (Some(_), _) => incident(scene),
        (None, Some(space)) => {
            let totals = space.totals();
            (
                "Cannot tell: this snapshot holds a state, but no history and no failed request"
                    .to_owned(),
                format!(
                    "{} reserved, {} in use; without the request and the device's free memory, nothing \
                     says what was missing.",
                    totals.reserved, totals.active
                ),
            )
        }
        (None, None) => return None,
    };
    let mut finding = scene.finding(CAUSE.id, Strength::Fallback, headline, because);
    if let Some(space) = scene.space {
        let free = space.free_space();
        finding.evidence.extend([
            Evidence::bytes("free in the cache", free.total, Basis::Recorded),
            Evidence::bytes(
                "of which in wholly free segments",
                free.in_empty_segments,
                Basis::Recorded,
            ),
            Evidence::bytes("largest free piece", free.largest, Basis::Recorded),
        ]);
        for (stack, usage) in space.live_by_stack().into_iter().take(3) {
            let label = format!("in use, from {}", scene.place(stack));
            finding.evidence.push(Evidence::bytes(label, usage.bytes, Basis::Recorded));
        }
    }
    if !scene.message().is_empty() {
        finding.evidence.push(Evidence::text("message", scene.message(), Basis::Message));
    }
    finding.remedies = vec![record()];
    Some(finding)
}

fn record() -> Remedy {
    Remedy::line(RECORD, "record the next run, then: whyoom why oom.pickle")
}

fn incident(scene: &Scene<'_>) -> (String, String) {
    let situation = &scene.situation;
    if let Some(outside) = situation.outside_allocator().filter(|bytes| *bytes > CONTEXT_ALLOWANCE)
    {
        return (
            format!("Cannot tell yet: {outside} of this process lies outside PyTorch's allocator"),
            "A context takes less; libraries or a second framework in this process hold the rest."
                .to_owned(),
        );
    }
    if let (true, Some(requested), Some(free)) =
        (situation.enough_was_free(), situation.requested, situation.free)
    {
        return (
            format!("Cannot tell yet: {free} was free, more than the {requested} that was asked for"),
            "The device refused all the same: a cap that the message does not name (a MIG slice, a \
             container), or memory that was freed between the request and the report."
                .to_owned(),
        );
    }
    if let (Some(requested), Some(reserved)) = (situation.requested, situation.reserved) {
        return (
            format!(
                "Cannot tell yet: {requested} was asked for, and no known cause explains why it failed"
            ),
            format!(
                "{} was free on the device; the allocator held {reserved}, of it {} in use.",
                situation.free.map_or("An unknown amount".to_owned(), |free| free.to_string()),
                situation.allocated.unwrap_or_default(),
            ),
        );
    }
    match situation.requested {
        Some(requested) => (
            format!(
                "Cannot tell yet: {requested} was asked for, and the message does not say what was there"
            ),
            "Capacity, free memory and the allocator's figures are missing.".to_owned(),
        ),
        None => (
            "Cannot tell yet: GPU memory ran out, and the message gives no sizes".to_owned(),
            "Neither the request nor what was free is in it.".to_owned(),
        ),
    }
}

/// There was no event at all to judge.
pub(super) fn nothing_found(scene: &Scene<'_>) -> Finding {
    let mut finding = scene.finding(
        CAUSE.id,
        Strength::Fallback,
        "No out-of-memory message was found in this text",
        "None of the known formats occurs in it.",
    );
    finding.gives_back = Some(Bytes::ZERO);
    finding.remedies = vec![
        Remedy::advice("paste the whole traceback, down to the line that names the error"),
        record(),
    ];
    finding
}
