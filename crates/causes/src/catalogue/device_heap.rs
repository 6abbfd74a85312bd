//! The heap for allocation inside kernels is full.

use whyoom_memory::{FailedCall, Failure};
use whyoom_trace::{Bytes, DeviceId, Limit};

use crate::{
    cause::Cause,
    diagnosis::Diagnosis,
    finding::{Basis, Evidence, Finding, Remedy, Strength},
    result_code::code_name,
};

pub(super) const CAUSE: Cause = Cause {
    id: "device-heap",
    title: "the heap for new and malloc inside kernels is full",
    explanation: "\
new and malloc inside a kernel allocate from a separate heap: 8 MiB by default, however much the
device has free. When it is full they return a null pointer. Code that does not check writes through
it, and the kernel fails with an illegal address at the next synchronize. Every later call fails
with the same error.

Symptoms: cudaErrorIllegalAddress or cudaErrorLaunchFailure from a kernel that allocates, with more
threads or larger arrays, while cudaMemGetInfo shows gigabytes free.

Any out-of-bounds access causes the same error: a recording shows that a kernel failed and that the
device was not full, but not which instruction failed. compute-sanitizer does.

What helps: a larger heap, set before the first kernel that uses it; or, better, a buffer that the
host allocates and passes in.",
    check,
};

/// The heap's size where nobody set one.
const DEFAULT_HEAP: Bytes = Bytes(8 << 20);
/// An illegal address, and a launch that failed for a reason that the driver does not tell.
const FAULTS: [i32; 2] = [700, 719];

fn check(diagnosis: &Diagnosis<'_>) -> Option<Finding> {
    // PyTorch's own kernels do not allocate: there an illegal address is far likelier another mistake.
    let may_be_heap = diagnosis.device != DeviceId::HOST && !diagnosis.uses_allocator();
    let facts = diagnosis.process().filter(|_| may_be_heap)?;
    let faulted = |failure: &&Failure| {
        matches!(failure.call, FailedCall::Synchronize(_))
            && failure.device == diagnosis.device
            && FAULTS.contains(&failure.result.0)
    };
    let failure = facts.failures().iter().find(faulted)?;
    let heap = facts.limit(diagnosis.device, Limit::DeviceHeap).map(Bytes);
    let size = heap.unwrap_or(DEFAULT_HEAP);
    let strength =
        if diagnosis.incident.is_none() { Strength::Likely } else { Strength::Contributing };
    let (what_failed, requests) = match diagnosis.incident {
        Some(_) => ("A kernel failed as well", "a memory request also failed in this run"),
        None => ("A kernel failed, not an allocation", "no memory request had failed"),
    };
    let mut finding = diagnosis.finding(
        CAUSE.id,
        strength,
        format!("{what_failed}: if it uses new or malloc, its heap of {size} is full"),
        format!(
            "A synchronize returned {}; {requests}. An out-of-bounds access looks the same: the \
             second command tells them apart.",
            code_name(failure.result)
        ),
    );
    finding.evidence.extend([
        Evidence::bytes("heap for new and malloc in kernels", size, Basis::Recorded),
        Evidence::text(
            "set by",
            if heap.is_some() { "the program" } else { "not set (default)" },
            Basis::Recorded,
        ),
    ]);
    finding.point_at(diagnosis.call_site(failure.stack), "the call that reported the error");
    finding.remedies = vec![
        Remedy::statement(
            ["cudaDeviceSetLimit(cudaLimitMallocHeapSize, ", ");"],
            larger(size),
            "before the first launch of a kernel that allocates; or pass the kernel a buffer from \
             cudaMalloc",
        ),
        Remedy::example(
            "compute-sanitizer ./program",
            "run it under compute-sanitizer: it reports the source line and the address; a null \
             pointer after new means that the heap is full",
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
