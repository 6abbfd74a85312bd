//! One request exceeds the device, or the cap, on its own.

use whyoom_trace::{Bytes, Software, Symptom};

use crate::{
    cause::Cause,
    finding::{Finding, Remedy, Strength},
    library_knobs::{cudnn, llama_cpp},
    scene::Scene,
    situation::HARDLY_ANY_CARD,
};

pub(super) const CAUSE: Cause = Cause {
    id: "request-too-big",
    title: "one request is larger than the whole device",
    explanation: "\
A single tensor (or buffer) was asked for that no empty device of this size could hold. Emptying the
cache, another allocator or a smaller batch of something else cannot help.

What it looks like: \"Tried to allocate 37.25 GiB\" on a GPU of 24 GiB.

Why it happens: a full attention matrix or a full set of logits for a long sequence; a library that
chose an algorithm with an enormous workspace; a shape that was computed wrongly. A request of more
than an exabyte is always a bug: a negative or garbage size, often ranks that got out of step in a
collective call.

What helps: compute in chunks, use a smaller type, or do not build the tensor at all (fused
attention, fused cross entropy).",
    check,
};

fn check(scene: &Scene<'_>) -> Option<Finding> {
    if scene.symptom() == Some(Symptom::BogusSize) {
        return Some(bogus(scene));
    }
    let requested = scene.situation.requested.filter(|_| scene.device_refused())?;
    let Some((room, whose)) = room(scene) else {
        return (scene.is_message() && requested > HARDLY_ANY_CARD)
            .then(|| beyond_most_cards(scene, requested));
    };
    if requested <= room {
        return None;
    }
    let mut finding = scene.finding(
        CAUSE.id,
        Strength::Decisive,
        format!("One request of {requested} cannot fit: {whose} is {room}"),
        format!(
            "Even with nothing else on the device, {} would be missing for this one request.",
            requested.minus(room)
        ),
    );
    finding.gives_back = Some(requested.minus(room));
    finding.remedies = scene.search_size().into_iter().collect();
    finding.remedies.push(in_chunks(scene, requested, room));
    if scene.software() == Some(Software::LlamaCpp) {
        finding.remedies = llama_cpp();
    }
    if scene.asked_by_convolution() {
        finding.remedies.splice(0..0, cudnn());
    }
    Some(finding)
}

/// How large the device is, is not told; but very few are as large as this.
fn beyond_most_cards(scene: &Scene<'_>, requested: Bytes) -> Finding {
    let mut finding = scene.finding(
        CAUSE.id,
        Strength::Explains,
        format!("One request of {requested} is more than all but the largest GPUs have"),
        "What this GPU has in all, the message does not tell.",
    );
    let check =
        "check the shape or count that this size comes from; if it is meant, compute it in chunks";
    finding.remedies = match scene.software() {
        Some(Software::LlamaCpp) => llama_cpp(),
        _ => vec![Remedy::advice(check)],
    };
    finding
}

/// The largest chunk that fits beside what is in use; where that is not told, half of the device.
fn in_chunks(scene: &Scene<'_>, requested: Bytes, room: Bytes) -> Remedy {
    let situation = &scene.situation;
    let under_cap = situation.allowed.zip(situation.reserved);
    let left = under_cap.map_or(room, |(allowed, reserved)| allowed.minus(reserved));
    let beside = situation.room_for_one(None).map(|largest| largest.min(left));
    let (chunk, why) = match beside.filter(|chunk| *chunk >= Bytes::MIB) {
        Some(chunk) => (chunk, "so much is left for one beside what is in use"),
        None => (Bytes(room.0 / 2), "half of the device"),
    };
    let chunks = requested.0.div_ceil(chunk.0.max(1));
    let tensor = match situation.by_driver {
        true => "",
        false => {
            ". Or do not materialize the tensor: fused attention, chunked loss, a smaller type"
        }
    };
    Remedy::advice(format!(
        "split this one computation into chunks of at most {chunk} ({why}): {chunks} of them at \
         least{tensor}"
    ))
}

fn room(scene: &Scene<'_>) -> Option<(Bytes, &'static str)> {
    let situation = &scene.situation;
    match (situation.capacity, situation.allowed) {
        (Some(capacity), Some(allowed)) if allowed < capacity => Some((allowed, "the cap")),
        (Some(capacity), _) => Some((capacity, "the whole device")),
        (None, Some(allowed)) => Some((allowed, "the cap")),
        (None, None) if scene.was_recorded() => None,
        // A message may tell what the process had and what was free beside it, and no more.
        (None, None) => {
            let all = situation.free?.plus(situation.reserved?);
            Some((all, "all that this process could have"))
        }
    }
}

fn bogus(scene: &Scene<'_>) -> Finding {
    let mut finding = scene.finding(
        CAUSE.id,
        Strength::Decisive,
        "The program asked for over an exabyte: a wrong size, not a full device",
        "No machine has 1 EiB; the size was negative or garbage before it reached the allocator.",
    );
    finding.remedies = vec![Remedy::advice(
        "print the shape that is allocated at this line; in distributed runs check that every rank \
         makes the same collective calls in the same order",
    )];
    finding
}
