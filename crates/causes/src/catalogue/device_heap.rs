//! The heap for allocation inside kernels is full.

use whyoom_memory::{FailedCall, Failure};
use whyoom_trace::{Bytes, DeviceId, Limit};

use crate::{
    cause::Cause,
    finding::{Basis, Evidence, Finding, Remedy, Strength},
    result_code::code_name,
    scene::Scene,
};

pub(super) const CAUSE: Cause = Cause {
    id: "device-heap",
    title: "the heap for new and malloc inside kernels is full",
    explanation: "\
new and malloc inside a kernel take from a heap of their own: 8 MiB unless set otherwise, whatever the device
has free. When it is full they return a null pointer. Code that does not look stores through it, and the
kernel fails with an illegal address at the next synchronize. Every call after that fails in the same way.

What it looks like: cudaErrorIllegalAddress or cudaErrorLaunchFailure from a kernel that allocates, with more
threads or larger arrays, while cudaMemGetInfo shows gigabytes free.

The same error comes from any access out of bounds: a recording shows that a kernel failed and that the
device was not full, not which instruction did it. compute-sanitizer does.

What helps: a larger heap, set before the first kernel that uses it; or, better, a buffer that the host
allocates and passes in.",
    check,
};

/// The heap's size where nobody set one.
const DEFAULT_HEAP: Bytes = Bytes(8 << 20);
/// An illegal address, and a launch that failed for a reason that the driver does not tell.
const FAULTS: [i32; 2] = [700, 719];

fn check(scene: &Scene<'_>) -> Option<Finding> {
    // PyTorch's own kernels do not allocate: there an illegal address is far likelier another mistake.
    let may_be_heap = scene.device != DeviceId::HOST && !scene.uses_allocator();
    let facts = scene.facts().filter(|_| may_be_heap)?;
    let faulted = |failure: &&Failure| {
        matches!(failure.call, FailedCall::Synchronize(_))
            && failure.device == scene.device
            && FAULTS.contains(&failure.result.0)
    };
    let failure = facts.failures().iter().find(faulted)?;
    let heap = facts.limit(scene.device, Limit::DeviceHeap).map(Bytes);
    let size = heap.unwrap_or(DEFAULT_HEAP);
    let strength = if scene.incident.is_none() { Strength::Likely } else { Strength::Contributing };
    let (what_failed, requests) = match scene.incident {
        Some(_) => ("A kernel failed too", "a request for memory failed in this run as well"),
        None => ("A kernel failed, not an allocation", "no request for memory had failed"),
    };
    let mut finding = scene.finding(
        CAUSE.id,
        strength,
        format!("{what_failed}: if it uses new or malloc, its heap of {size} is full"),
        format!(
            "A synchronize ended with {}; {requests}. An access out of bounds looks the same: the \
             second line tells them apart.",
            code_name(failure.result)
        ),
    );
    finding.evidence.extend([
        Evidence::bytes("heap for new and malloc in kernels", size, Basis::Recorded),
        Evidence::text(
            "set by",
            if heap.is_some() { "the program" } else { "nobody: the default" },
            Basis::Recorded,
        ),
        Evidence::text("failed at", scene.place(failure.stack), Basis::Recorded),
    ]);
    finding.remedies = vec![
        Remedy::line(
            format!("cudaDeviceSetLimit(cudaLimitMallocHeapSize, {});", larger(size)),
            "before the first launch of a kernel that allocates; or pass it a buffer from cudaMalloc",
        ),
        Remedy::line(
            "compute-sanitizer ./program",
            "names the kernel's line and the address: a null pointer after new means the heap",
        ),
    ];
    Some(finding)
}

/// A heap of eight times the size, written as a program would.
fn larger(size: Bytes) -> String {
    match size.0.checked_mul(8).map(|bytes| bytes >> 20) {
        Some(mib) if mib > 0 => format!("{mib}ull << 20"),
        _ => "64ull << 20".to_owned(),
    }
}
