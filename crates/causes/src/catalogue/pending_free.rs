//! Freed memory waits for a stream.

use whyoom_memory::PoolState;
use whyoom_trace::Bytes;

use crate::{
    cause::Cause,
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

fn check(scene: &Scene<'_>) -> Option<Finding> {
    if !scene.device_ran_out() || !scene.was_recorded() {
        return None;
    }
    let lacking = scene.situation.lacking()?;
    let of_pools: Bytes =
        scene.driver().map_or(Bytes::ZERO, |driver| driver.pools.iter().map(|p| p.pending).sum());
    let of_blocks =
        scene.incident?.totals.map_or(Bytes::ZERO, |totals| totals.active.minus(totals.allocated));
    let pending = of_pools.plus(of_blocks);
    if pending < lacking {
        return None;
    }
    // Without the driver's word, work may have ended though nobody waited for it.
    let told = |state: &PoolState| state.told && state.pending > Bytes::ZERO;
    let certain =
        of_blocks >= lacking || scene.driver().is_some_and(|driver| driver.pools.iter().any(told));
    let strength = if certain { Strength::Explains } else { Strength::Likely };
    let mut finding = scene.finding(
        CAUSE.id,
        strength,
        format!("{pending} was freed already and still waits for its stream"),
        format!("{lacking} was missing for the request; a wait for the streams gives it back."),
    );
    finding.gives_back = Some(pending);
    for (label, bytes) in
        [("freed in pools, waiting", of_pools), ("freed blocks, waiting", of_blocks)]
    {
        if bytes > Bytes::ZERO {
            let basis = if certain { Basis::Recorded } else { Basis::Computed };
            finding.evidence.push(Evidence::bytes(label, bytes, basis));
        }
    }
    finding.remedies = vec![
        Remedy::line(
            "cudaStreamSynchronize(stream);",
            "before the allocation, for the stream that frees; in PyTorch torch.cuda.synchronize()",
        )
        .freeing(pending),
        Remedy::advice("free on the stream that used the memory last, so that no other must wait"),
    ];
    Some(finding)
}
