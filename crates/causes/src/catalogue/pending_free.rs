//! Freed memory waits for a stream.

use whyoom_memory::{Interface, PoolState};
use whyoom_trace::Bytes;

use crate::{
    cause::Cause,
    driver_pools::waiting_in_pools,
    finding::{Basis, Evidence, Finding, Remedy, Strength},
    scene::Scene,
};

pub(super) const CAUSE: Cause = Cause {
    id: "pending-free",
    title: "freed memory waits for a stream before it can be used again",
    explanation: "\
cudaFreeAsync and tensors used on several streams (record_stream) free memory in the order of a stream: until
the work before has run, nobody else can have it. A host that runs far ahead of the device has freed much
and has none of it yet.

What it looks like: a failure that goes away when synchronizes are added, or under a debugger.

PyTorch synchronizes and retries before it gives up, so with it this happens only while a CUDA graph is
captured, when it may not.

What helps: synchronize, or make the allocating stream wait for the freeing one; let the host run less far
ahead.",
    check,
};

/// So many times what is in use can hardly be pinned by it.
const FAR_MORE: u64 = 500;

/// A message in which next to nothing is in use, and far more than was asked for is cached: PyTorch gives back
/// every segment with nothing in it before it gives up, so that this waits for a stream.
fn told_by_text(scene: &Scene<'_>) -> Option<Finding> {
    let situation = &scene.situation;
    let (cached, allocated) = (situation.cached?, situation.allocated?);
    let requested = situation.requested?;
    let pinned = cached.0 / FAR_MORE <= allocated.0 || cached.0 / 4 < requested.0;
    if !scene.device_ran_out() || !scene.is_message() || pinned {
        return None;
    }
    let mut finding = scene.finding(
        CAUSE.id,
        Strength::Explains,
        format!("{cached} is cached while {allocated} is in use: freed blocks wait for another stream"),
        "PyTorch gives back every segment with nothing in it before it gives up; so little in use pins no such \
         cache. Blocks that a collective or a copy used on another stream come back when that stream is done.",
    );
    finding.gives_back = Some(cached);
    finding.remedies = vec![
        Remedy::line(
            "torch.cuda.synchronize()",
            "now and then in the loop, so that freed blocks come back",
        ),
        Remedy::advice("or make the buffers once and use them again, or a newer PyTorch"),
    ];
    Some(finding)
}

fn check(scene: &Scene<'_>) -> Option<Finding> {
    if let Some(finding) = told_by_text(scene) {
        return Some(finding);
    }
    if !scene.device_ran_out() || !scene.was_recorded() {
        return None;
    }
    let lacking = scene.situation.lacking()?;
    let from_a_pool = scene.incident?.interface == Some(Interface::StreamOrdered);
    let pools = scene.driver().map_or(&[][..], |driver| &driver.pools);
    let of_pools = waiting_in_pools(scene);
    let of_blocks =
        scene.incident?.totals.map_or(Bytes::ZERO, |totals| totals.active.minus(totals.allocated));
    let of_capture = waiting_in_capture(scene);
    let pending = of_pools.plus(of_blocks).plus(of_capture);
    if pending < lacking {
        return None;
    }
    // Without the driver's word, work may have ended though nobody waited for it.
    let told = |state: &PoolState| state.told && state.pending > Bytes::ZERO;
    let certain = of_blocks >= lacking || from_a_pool || pools.iter().any(told);
    let strength = if certain { Strength::Explains } else { Strength::Likely };
    let mut finding = scene.finding(
        CAUSE.id,
        strength,
        format!("{pending} was freed already and still waits for its stream"),
        format!("{lacking} was missing for the request; a wait for the streams gives it back."),
    );
    finding.gives_back = Some(pending);
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
        Bytes::ZERO => remedies(scene, pending),
        _ => in_a_capture(pending),
    };
    Some(finding)
}

/// What a graph's own pool has free in pieces that this request would have been given, had they not waited:
/// PyTorch says at once that a block is freed, and uses it again only when the other streams are done with it.
fn waiting_in_capture(scene: &Scene<'_>) -> Bytes {
    let space = scene.incident.and_then(|incident| incident.free_space.as_ref());
    let enough = space.filter(|space| {
        scene.situation.requested.is_some_and(|asked| space.own_private_largest >= asked)
    });
    let untold = enough.filter(|_| scene.driver().is_some() && !scene.has_pool());
    untold.map_or(Bytes::ZERO, |space| space.in_own_private_pool)
}

/// PyTorch waits by itself for what it needs, unless a graph is captured.
fn in_a_capture(pending: Bytes) -> Vec<Remedy> {
    vec![
        Remedy::line(
            "torch.cuda.current_stream().wait_stream(other)",
            "in place of tensor.record_stream(other), before the tensor is freed: a capture cannot wait for the \
             other stream later",
        )
        .freeing(pending),
        Remedy::advice("or make the buffers once, before the capture, and use them for every layer"),
    ]
}

fn remedies(scene: &Scene<'_>, pending: Bytes) -> Vec<Remedy> {
    let compiled = scene.incident.is_some_and(|incident| scene.is_plain(incident.stack));
    let (line, what) = match compiled {
        true => {
            ("cudaStreamSynchronize(stream);", "before the allocation, for the stream that frees")
        }
        false => (
            "torch.cuda.synchronize()",
            "before the allocation (in CUDA: cudaStreamSynchronize for the stream that frees)",
        ),
    };
    vec![
        Remedy::line(line, what).freeing(pending),
        Remedy::advice("free on the stream that used the memory last, so that no other must wait"),
    ]
}
