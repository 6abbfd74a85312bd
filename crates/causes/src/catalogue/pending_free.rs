//! Freed memory waits for a stream.

use whyoom_memory::{Interface, PoolState};
use whyoom_trace::Bytes;

use crate::{
    cause::Cause,
    diagnosis::Diagnosis,
    driver_pools::waiting_in_pools,
    finding::{Basis, Evidence, Finding, Remedy, Strength},
};

pub(super) const CAUSE: Cause = Cause {
    id: "pending-free",
    title: "freed memory waits for a stream before it can be used again",
    explanation: "\
cudaFreeAsync and tensors used on several streams (record_stream) free memory in stream order: until
the preceding work has run, nothing else can use it. A host that runs far ahead of the device has
freed a lot of memory that is not available yet.

Symptoms: a failure that disappears when synchronizes are added, or under a debugger.

PyTorch synchronizes before a request fails, and then gives whole free segments back (if another part
of the segment is in use, see allocator-defect). During CUDA graph capture it must not synchronize at
all.

What helps: synchronize, or make the allocating stream wait for the freeing one; let the host run
less far ahead.",
    check,
};

/// So many times what is in use can hardly be pinned by it.
const FAR_MORE: u64 = 500;

/// A message in which next to nothing is in use, and far more than was asked for is cached: PyTorch gives back
/// every segment with nothing in it before it gives up, so that this waits for a stream.
fn reported_in_text(diagnosis: &Diagnosis<'_>) -> Option<Finding> {
    let observed = &diagnosis.observed;
    let (cached, allocated) = (observed.cached?, observed.allocated?);
    let requested = observed.requested?;
    let pinned = cached.0 / FAR_MORE <= allocated.0 || cached.0 / 4 < requested.0;
    if !diagnosis.device_ran_out() || !diagnosis.is_message() || pinned {
        return None;
    }
    let mut finding = diagnosis.finding(
        CAUSE.id,
        Strength::Explains,
        format!(
            "{cached} is cached while {allocated} is allocated: freed blocks wait for another \
                 stream"
        ),
        "PyTorch releases every completely free segment before a request fails, and so few live \
         blocks cannot pin a cache of this size. Blocks that a collective or a copy used on \
         another stream become free when that stream is done.",
    );
    finding.reclaimable = Some(cached);
    finding.remedies = vec![
        Remedy::line(
            "torch.cuda.synchronize()",
            "periodically in the loop, so that freed blocks become available",
        ),
        Remedy::advice("or allocate the buffers once and reuse them, or use a newer PyTorch"),
    ];
    Some(finding)
}

fn check(diagnosis: &Diagnosis<'_>) -> Option<Finding> {
    if let Some(finding) = reported_in_text(diagnosis) {
        return Some(finding);
    }
    if !diagnosis.device_ran_out() || !diagnosis.was_recorded() {
        return None;
    }
    let shortfall = diagnosis.observed.shortfall()?;
    let from_a_pool = diagnosis.incident?.interface == Some(Interface::StreamOrdered);
    let pools = diagnosis.driver().map_or(&[][..], |driver| &driver.pools);
    let of_pools = waiting_in_pools(diagnosis);
    let of_blocks = diagnosis
        .incident?
        .totals
        .map_or(Bytes::ZERO, |totals| totals.active.minus(totals.allocated));
    let of_capture = waiting_in_capture(diagnosis);
    let pending = of_pools.plus(of_blocks).plus(of_capture);
    if pending < shortfall {
        return None;
    }
    // Without the driver's word, work may have ended though nobody waited for it.
    let told = |state: &PoolState| state.told && state.pending > Bytes::ZERO;
    let certain = of_blocks >= shortfall || from_a_pool || pools.iter().any(told);
    let strength = if certain { Strength::Explains } else { Strength::Likely };
    let mut finding = diagnosis.finding(
        CAUSE.id,
        strength,
        format!("{pending} has been freed but still waits for its stream"),
        format!(
            "The request fell {shortfall} short; waiting for the streams makes this memory \
                 available."
        ),
    );
    finding.reclaimable = Some(pending);
    for (label, bytes) in [
        ("freed in pools, waiting", of_pools),
        ("freed blocks, waiting", of_blocks),
        ("freed in the capture, waiting", of_capture),
    ] {
        if bytes > Bytes::ZERO {
            let basis = if certain { Basis::Recorded } else { Basis::Computed };
            finding.evidence.push(Evidence::bytes(label, bytes, basis));
        }
    }
    finding.remedies = match of_blocks.plus(of_capture) {
        Bytes::ZERO => remedies(diagnosis, pending),
        _ => in_a_capture(pending),
    };
    Some(finding)
}

/// What a graph's own pool has free in pieces that this request would have been given, had they not waited:
/// PyTorch says at once that a block is freed, and uses it again only when the other streams are done with it.
fn waiting_in_capture(diagnosis: &Diagnosis<'_>) -> Bytes {
    let space = diagnosis.incident.and_then(|incident| incident.free_space.as_ref());
    let enough = space.filter(|space| {
        diagnosis.observed.requested.is_some_and(|asked| space.own_private_largest >= asked)
    });
    let untold = enough.filter(|_| diagnosis.driver().is_some() && !diagnosis.has_pool());
    untold.map_or(Bytes::ZERO, |space| space.in_own_private_pool)
}

/// PyTorch waits by itself for what it needs, unless a graph is captured.
fn in_a_capture(pending: Bytes) -> Vec<Remedy> {
    vec![
        Remedy::example(
            "torch.cuda.current_stream().wait_stream(other)",
            "wait for the other stream before the tensor is freed, instead of \
             tensor.record_stream(other): a capture cannot wait for it later",
        )
        .freeing(pending),
        Remedy::advice(
            "or allocate the buffers once, before the capture, and reuse them for every layer",
        ),
    ]
}

fn remedies(diagnosis: &Diagnosis<'_>, pending: Bytes) -> Vec<Remedy> {
    let compiled = diagnosis.incident.is_some_and(|incident| diagnosis.is_plain(incident.stack));
    let synchronize = match compiled {
        true => Remedy::example(
            "cudaStreamSynchronize(stream);",
            "synchronize the stream that frees before the allocation",
        ),
        false => Remedy::line(
            "torch.cuda.synchronize()",
            "before the allocation (in CUDA: cudaStreamSynchronize for the stream that frees)",
        ),
    };
    vec![
        synchronize.freeing(pending),
        Remedy::advice(
            "free on the stream that used the memory last, so that no other stream has to wait",
        ),
    ]
}
