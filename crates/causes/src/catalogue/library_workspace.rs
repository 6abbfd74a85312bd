//! A library took memory beside the framework's allocator.

use std::collections::BTreeMap;

use whyoom_trace::{Bytes, Software, StackId, Symptom};

use crate::{
    cause::Cause,
    finding::{Basis, Evidence, Finding, Remedy, Strength},
    library_knobs::{knobs, nccl},
    outside::{block_in_advance, names_library},
    scene::Scene,
    situation::CONTEXT_ALLOWANCE,
};

pub(super) const CAUSE: Cause = Cause {
    id: "library-workspace",
    title: "a library took memory beside the framework's allocator",
    explanation: "\
cuBLAS, cuDNN, NCCL, cuFFT and a program's own extensions may take memory from the driver directly.
PyTorch's figures do not contain it, its cache cannot serve it, and empty_cache() does not free it.

What it looks like: \"this process has 20 GiB in use\" while PyTorch reserves 14; the difference is more than
a context.

What helps: the library's own setting (a smaller workspace or buffer, fewer plans or channels), or giving
it memory of the framework's allocator where it takes such.",
    check,
};

/// How many are listed.
const LISTED: usize = 4;

fn check(scene: &Scene<'_>) -> Option<Finding> {
    if scene.is_message() {
        return told_by_text(scene);
    }
    // Without any block PyTorch has no totals, and was still the one that asked.
    let incident = scene.incident?;
    if incident.totals.is_none() && incident.of_driver {
        return None;
    }
    let totals = incident.totals.unwrap_or_default();
    if !scene.device_ran_out() {
        return None;
    }
    // A share that was taken in advance is told as that.
    let in_advance = block_in_advance(scene).map_or(Bytes::ZERO, |(_, bytes)| bytes);
    let outside = scene.driver()?.outside_bytes().minus(in_advance);
    let by_library = by_library(scene);
    let (name, most) = by_library.first()?;
    let (lacking, capacity) = (scene.situation.lacking()?, scene.situation.capacity);
    let notable = capacity.is_none_or(|capacity| outside.share_of(capacity) >= 0.05);
    if outside < lacking || !notable {
        return None;
    }
    // What asked beside PyTorch counts its own memory as used: not this was in its way.
    let asked_beside = scene.incident?.of_driver && !scene.asked_by_pytorch();
    let strength = if asked_beside { Strength::Contributing } else { Strength::Explains };
    let mut finding = scene.finding(
        CAUSE.id,
        strength,
        match *most == outside {
            true => format!("{name} took {outside} beside PyTorch's allocator"),
            false => {
                format!("{outside} was taken beside PyTorch's allocator, {most} of it by {name}")
            }
        },
        format!("{lacking} was missing; PyTorch itself reserves {}.", totals.reserved),
    );
    finding.gives_back = Some(outside);
    for (name, bytes) in by_library.iter().take(LISTED) {
        finding.evidence.push(Evidence::bytes(format!("taken by {name}"), *bytes, Basis::Recorded));
    }
    for (place, bytes) in scene.by_place(scene.driver()?.outside.clone()).into_iter().take(LISTED) {
        finding.evidence.push(Evidence::bytes(format!("taken at {place}"), bytes, Basis::Recorded));
    }
    let stack = scene.driver()?.outside.first().map_or(StackId(0), |(stack, _)| *stack);
    finding.remedies = knobs(scene, name, stack, *most);
    Some(finding)
}

/// Of a message: far more than a context lies beside PyTorch's memory, and the log shows who may have taken it.
fn told_by_text(scene: &Scene<'_>) -> Option<Finding> {
    let situation = &scene.situation;
    if scene.symptom() == Some(Symptom::LibraryAllocFailed) {
        return of_a_tactic(scene);
    }
    let (outside, lacking) = (situation.outside_allocator()?, situation.lacking()?);
    let taken = outside.minus(CONTEXT_ALLOWANCE);
    if !scene.device_ran_out() || taken < lacking || scene.setting("nccl").is_none() {
        return None;
    }
    let mut finding = scene.finding(
        CAUSE.id,
        Strength::Likely,
        format!("{outside} of this process lies outside PyTorch's allocator, and NCCL is at work in it"),
        format!("{lacking} was missing; a context takes less than 1 GiB of that, communicators the rest."),
    );
    finding.gives_back = Some(outside);
    let label = "beside PyTorch's allocator, with the context";
    finding.evidence.push(Evidence::bytes(label, outside, Basis::Computed));
    finding.remedies = nccl(taken);
    Some(finding)
}

/// TensorRT's builder may use so much for a layer, and no tactic for it needs as little.
fn workspace_too_small(scene: &Scene<'_>) -> Finding {
    let mut finding = scene.finding(
        CAUSE.id,
        Strength::Explains,
        "TensorRT's workspace is too small for any tactic of a layer; the GPU need not be full",
        "Its own message says so: the limit is one of the builder.",
    );
    finding.evidence.push(Evidence::text("message", scene.message(), Basis::Message));
    finding.remedies = vec![Remedy::line(
        "config.set_memory_pool_limit(trt.MemoryPoolType.WORKSPACE, 4 << 30)",
        "a larger workspace for the builder (trtexec: --memPoolSize=workspace:4096; before TensorRT 8.4: \
         setMaxWorkspaceSize)",
    )];
    finding
}

/// TensorRT tries tactics that want a workspace, and leaves out those that find none.
fn of_a_tactic(scene: &Scene<'_>) -> Option<Finding> {
    if scene.software() != Some(Software::TensorRt) {
        return None;
    }
    if scene.message().contains("increasing the workspace size") {
        return Some(workspace_too_small(scene));
    }
    let requested = scene.situation.requested?;
    let mut finding = scene.finding(
        CAUSE.id,
        Strength::Explains,
        format!("TensorRT tried a tactic that wants a workspace of {requested}, and left it out"),
        "It is a warning: where the engine is built, nothing is wrong.",
    );
    finding.evidence.push(Evidence::text("message", scene.message(), Basis::Message));
    Some(finding)
}

/// What was taken beside the allocator, by the compiled file that took it, the most first.
fn by_library(scene: &Scene<'_>) -> Vec<(String, Bytes)> {
    let mut sums = BTreeMap::<String, Bytes>::new();
    for (stack, usage) in scene.driver().iter().flat_map(|driver| &driver.outside) {
        let library = names_library(scene, *stack);
        let name = library.map_or_else(|| scene.place(*stack), str::to_owned);
        let sum = sums.entry(name).or_default();
        *sum = sum.plus(usage.bytes);
    }
    let mut sums: Vec<_> = sums.into_iter().collect();
    sums.sort_by_key(|(_, bytes)| std::cmp::Reverse(*bytes));
    sums
}
