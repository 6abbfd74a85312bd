//! A library took memory beside the framework's allocator.

use std::collections::BTreeMap;

use whyoom_trace::{Bytes, Software, StackId, Symptom};

use crate::{
    cause::Cause,
    diagnosis::Diagnosis,
    finding::{Basis, Evidence, Finding, Remedy, Strength},
    library_knobs::{knobs, nccl},
    observed::CONTEXT_ALLOWANCE,
    outside::{block_in_advance, names_library},
    quotation_marks::word_or_quoted,
};

pub(super) const CAUSE: Cause = Cause {
    id: "library-workspace",
    title: "a library allocated memory outside the framework's allocator",
    explanation: "\
cuBLAS, cuDNN, NCCL, cuFFT and a program's own extensions may allocate directly from the driver.
PyTorch's statistics do not include that memory, its cache cannot serve it, and empty_cache() does
not free it.

Symptoms: \"this process has 20 GiB in use\" while PyTorch reserves 14; the difference is more than
a context.

What helps: the library's own setting (a smaller workspace or buffer, fewer plans or channels), or
letting it use the framework's allocator if it supports that.",
    check,
};

/// How many are listed.
const LISTED: usize = 4;

fn check(diagnosis: &Diagnosis<'_>) -> Option<Finding> {
    if diagnosis.is_message() {
        return reported_in_text(diagnosis);
    }
    // Without any block PyTorch has no totals, and was still the one that asked.
    let incident = diagnosis.incident?;
    if incident.totals.is_none() && incident.of_driver {
        return None;
    }
    let totals = incident.totals.unwrap_or_default();
    if !diagnosis.device_ran_out() {
        return None;
    }
    // A share that was preallocated is told as that.
    let in_advance = block_in_advance(diagnosis).map_or(Bytes::ZERO, |(_, bytes)| bytes);
    let outside = diagnosis.driver()?.outside_bytes().minus(in_advance);
    let by_library = by_library(diagnosis);
    let (name, most) = by_library.first()?;
    let (shortfall, capacity) = (diagnosis.observed.shortfall()?, diagnosis.observed.capacity);
    let notable = capacity.is_none_or(|capacity| outside.share_of(capacity) >= 0.05);
    if outside < shortfall || !notable {
        return None;
    }
    // What asked beside PyTorch counts its own memory as used: not this was in its way.
    let asked_beside = diagnosis.incident?.of_driver && !diagnosis.asked_by_pytorch();
    let strength = if asked_beside { Strength::Contributing } else { Strength::Explains };
    let mut finding = diagnosis.finding(
        CAUSE.id,
        strength,
        match *most == outside {
            true => format!("{name} allocated {outside} outside PyTorch's allocator"),
            false => {
                format!(
                    "{outside} was allocated outside PyTorch's allocator, {most} of it by {name}"
                )
            }
        },
        format!("The request fell {shortfall} short; PyTorch itself reserves {}.", totals.reserved),
    );
    finding.reclaimable = Some(outside);
    for (name, bytes) in by_library.iter().take(LISTED) {
        finding.evidence.push(Evidence::bytes(
            format!("allocated by {name}"),
            *bytes,
            Basis::Recorded,
        ));
    }
    for (call_site, bytes) in
        diagnosis.by_call_site(diagnosis.driver()?.outside.clone()).into_iter().take(LISTED)
    {
        finding.point_at(call_site, format!("{bytes} outside PyTorch's allocator"));
    }
    let stack = diagnosis.driver()?.outside.first().map_or(StackId(0), |(stack, _)| *stack);
    finding.remedies = knobs(diagnosis, name, stack, *most);
    Some(finding)
}

/// Of a message: far more than a context lies beside PyTorch's memory, and the log shows who may have taken it.
fn reported_in_text(diagnosis: &Diagnosis<'_>) -> Option<Finding> {
    let observed = &diagnosis.observed;
    if diagnosis.symptom() == Some(Symptom::LibraryAllocFailed) {
        return of_a_tactic(diagnosis);
    }
    let (outside, shortfall) = (observed.outside_allocator()?, observed.shortfall()?);
    let taken = outside.minus(CONTEXT_ALLOWANCE);
    if !diagnosis.device_ran_out() || taken < shortfall || diagnosis.setting("nccl").is_none() {
        return None;
    }
    let mut finding = diagnosis.finding(
        CAUSE.id,
        Strength::Likely,
        format!(
            "{outside} of this process is outside PyTorch's allocator, and the process uses NCCL"
        ),
        format!(
            "The request fell {shortfall} short; a context takes less than 1 GiB of that, \
                 communicators the rest."
        ),
    );
    finding.reclaimable = Some(outside);
    let label = "outside PyTorch's allocator, including the context";
    finding.evidence.push(Evidence::bytes(label, outside, Basis::Computed));
    finding.remedies = nccl(taken);
    Some(finding)
}

/// TensorRT's builder may use so much for a layer, and no tactic for it needs as little.
fn workspace_too_small(diagnosis: &Diagnosis<'_>) -> Finding {
    let mut finding = diagnosis.finding(
        CAUSE.id,
        Strength::Explains,
        "TensorRT's workspace is too small for any tactic of a layer; the GPU may not be full",
        "According to its message, the limit is the builder's.",
    );
    finding.evidence.push(Evidence::text("message", diagnosis.message(), Basis::Message));
    finding.remedies = vec![Remedy::example(
        "config.set_memory_pool_limit(trt.MemoryPoolType.WORKSPACE, 4 << 30)",
        "a larger workspace for the builder (trtexec: --memPoolSize=workspace:4096; before TensorRT 8.4: \
         setMaxWorkspaceSize)",
    )];
    finding
}

/// TensorRT tries tactics that want a workspace, and leaves out those that find none.
fn of_a_tactic(diagnosis: &Diagnosis<'_>) -> Option<Finding> {
    if diagnosis.software() != Some(Software::TensorRt) {
        return None;
    }
    if diagnosis.message().contains("increasing the workspace size") {
        return Some(workspace_too_small(diagnosis));
    }
    let requested = diagnosis.observed.requested?;
    let mut finding = diagnosis.finding(
        CAUSE.id,
        Strength::Explains,
        format!("TensorRT tried a tactic that needs a workspace of {requested}, and skipped it"),
        "It is a warning: if the engine is built, nothing is wrong.",
    );
    finding.evidence.push(Evidence::text("message", diagnosis.message(), Basis::Message));
    Some(finding)
}

/// What was taken beside the allocator, by the compiled file that took it, the most first.
fn by_library(diagnosis: &Diagnosis<'_>) -> Vec<(String, Bytes)> {
    let mut sums = BTreeMap::<String, Bytes>::new();
    for (stack, usage) in diagnosis.driver().iter().flat_map(|driver| &driver.outside) {
        let library = names_library(diagnosis, *stack);
        let name = library.map_or_else(|| diagnosis.call_site(*stack), word_or_quoted);
        let sum = sums.entry(name).or_default();
        *sum = sum.plus(usage.bytes);
    }
    let mut sums: Vec<_> = sums.into_iter().collect();
    sums.sort_by_key(|(_, bytes)| std::cmp::Reverse(*bytes));
    sums
}
