//! One request exceeds the device, or the cap, on its own.

use whyoom_memory::Category;
use whyoom_trace::{Bytes, Software, Symptom};

use crate::{
    cause::Cause,
    diagnosis::Diagnosis,
    finding::{Finding, Remedy, Strength},
    library_knobs::{cudnn, llama_cpp},
    observed::HARDLY_ANY_CARD,
    training::fewer_logits,
};

pub(super) const CAUSE: Cause = Cause {
    id: "request-too-big",
    title: "one request is larger than the entire device",
    explanation: "\
A single tensor (or buffer) was requested that would not fit on an empty device of this size.
Emptying the cache, another allocator or a smaller batch of something else cannot help.

Symptoms: \"Tried to allocate 37.25 GiB\" on a GPU with 24 GiB.

Why it happens: a full attention matrix or a full set of logits for a long sequence; a library that
chose an algorithm with an enormous workspace; a shape that was computed incorrectly. A request of
more than an exabyte is always a bug: a negative or garbage size, often ranks out of step in a
collective call.

What helps: compute in chunks, use a smaller dtype, or do not materialize the tensor at all (fused
attention, fused cross entropy).",
    check,
};

fn check(diagnosis: &Diagnosis<'_>) -> Option<Finding> {
    if diagnosis.symptom() == Some(Symptom::BogusSize) {
        return Some(bogus(diagnosis));
    }
    let requested = diagnosis.observed.requested.filter(|_| diagnosis.device_refused())?;
    let Some((room, whose)) = room(diagnosis) else {
        return (diagnosis.is_message() && requested > HARDLY_ANY_CARD)
            .then(|| beyond_most_cards(diagnosis, requested));
    };
    if requested <= room {
        return None;
    }
    let mut finding = diagnosis.finding(
        CAUSE.id,
        Strength::Decisive,
        format!("One request of {requested} cannot fit: {whose} is {room}"),
        format!(
            "Even on an empty device, this one request would fall {} short.",
            requested.minus(room)
        ),
    );
    finding.reclaimable = Some(requested.minus(room));
    finding.remedies = diagnosis.search_size().into_iter().collect();
    finding.remedies.push(in_chunks(diagnosis, requested, room));
    let of_logits = diagnosis.incident.is_some_and(|one| one.category == Category::Logits);
    finding.remedies.extend(fewer_logits(diagnosis).filter(|_| of_logits));
    if diagnosis.software() == Some(Software::LlamaCpp) {
        finding.remedies = llama_cpp();
    }
    if diagnosis.asked_by_convolution() {
        finding.remedies.splice(0..0, cudnn());
    }
    Some(finding)
}

/// How large the device is, is not told; but very few are as large as this.
fn beyond_most_cards(diagnosis: &Diagnosis<'_>, requested: Bytes) -> Finding {
    let mut finding = diagnosis.finding(
        CAUSE.id,
        Strength::Explains,
        format!("One request of {requested} exceeds the memory of all but the largest GPUs"),
        "The message does not give the total memory of this GPU.",
    );
    let check = "check the shape or count that this size comes from; if it is intended, compute it in \
         chunks";
    finding.remedies = match diagnosis.software() {
        Some(Software::LlamaCpp) => llama_cpp(),
        _ => vec![Remedy::advice(check)],
    };
    finding
}

/// The largest chunk that fits beside what is in use; where that is not told, half of the device.
fn in_chunks(diagnosis: &Diagnosis<'_>, requested: Bytes, room: Bytes) -> Remedy {
    let observed = &diagnosis.observed;
    let under_cap = observed.allowed.zip(observed.reserved);
    let left = under_cap.map_or(room, |(allowed, reserved)| allowed.minus(reserved));
    let beside = observed.room_for_one(None).map(|largest| largest.min(left));
    let (chunk, why) = match beside.filter(|chunk| *chunk >= Bytes::MIB) {
        Some(chunk) => (chunk, "the most that fits next to what is in use"),
        None => (Bytes(room.0 / 2), "half of the device"),
    };
    let chunks = requested.0.div_ceil(chunk.0.max(1));
    let tensor = match observed.by_driver {
        true => "",
        false => {
            ". Or do not materialize the tensor: fused attention, chunked loss, a smaller dtype"
        }
    };
    Remedy::advice(format!(
        "split this one computation into chunks of at most {chunk} ({why}): at least {chunks} of \
         them{tensor}"
    ))
}

fn room(diagnosis: &Diagnosis<'_>) -> Option<(Bytes, &'static str)> {
    let observed = &diagnosis.observed;
    match (observed.capacity, observed.allowed) {
        (Some(capacity), Some(allowed)) if allowed < capacity => Some((allowed, "the limit")),
        (Some(capacity), _) => Some((capacity, "the entire device")),
        (None, Some(allowed)) => Some((allowed, "the limit")),
        (None, None) if diagnosis.was_recorded() => None,
        // A message may tell what the process had and what was free beside it, and no more.
        (None, None) => {
            let all = observed.free?.plus(observed.reserved?);
            Some((all, "all the memory this process could have"))
        }
    }
}

fn bogus(diagnosis: &Diagnosis<'_>) -> Finding {
    let mut finding = diagnosis.finding(
        CAUSE.id,
        Strength::Decisive,
        "The program requested over an exabyte: a wrong size, not a full device",
        "No machine has 1 EiB; the size was negative or garbage before it reached the allocator.",
    );
    finding.remedies = vec![Remedy::advice(
        "print the shape that is allocated at this line; in distributed runs check that every rank \
         makes the same collective calls in the same order",
    )];
    finding
}
