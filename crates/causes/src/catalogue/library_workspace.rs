//! A library took memory beside the framework's allocator.

use std::collections::BTreeMap;

use whyoom_trace::Bytes;

use crate::{
    cause::Cause,
    finding::{Basis, Evidence, Finding, Remedy, Strength},
    scene::Scene,
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
    let totals = scene.incident?.totals?;
    if !scene.device_ran_out() {
        return None;
    }
    let outside = scene.driver()?.outside_bytes();
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
        format!("{outside} was taken beside PyTorch's allocator, {most} of it by {name}"),
        format!("{lacking} was missing; PyTorch itself reserves {}.", totals.reserved),
    );
    finding.gives_back = Some(outside);
    for (name, bytes) in by_library.iter().take(LISTED) {
        finding.evidence.push(Evidence::bytes(format!("taken by {name}"), *bytes, Basis::Recorded));
    }
    for (place, bytes) in scene.by_place(scene.driver()?.outside.clone()).into_iter().take(LISTED) {
        finding.evidence.push(Evidence::bytes(format!("taken at {place}"), bytes, Basis::Recorded));
    }
    finding.remedies = vec![knob(name).freeing(*most)];
    Some(finding)
}

/// What was taken beside the allocator, by the compiled file that took it, the most first.
fn by_library(scene: &Scene<'_>) -> Vec<(String, Bytes)> {
    let mut sums = BTreeMap::<String, Bytes>::new();
    for (stack, usage) in scene.driver().iter().flat_map(|driver| &driver.outside) {
        let library = scene.library(*stack).filter(|file| file.contains(".so"));
        let name = library.map_or_else(|| scene.place(*stack), str::to_owned);
        let sum = sums.entry(name).or_default();
        *sum = sum.plus(usage.bytes);
    }
    let mut sums: Vec<_> = sums.into_iter().collect();
    sums.sort_by_key(|(_, bytes)| std::cmp::Reverse(*bytes));
    sums
}

/// The library's own setting.
fn knob(library: &str) -> Remedy {
    let starts = |prefix: &str| library.starts_with(prefix);
    if starts("libnccl") {
        let what = "smaller buffers per channel and peer; the default is 4 MiB";
        return Remedy::line("export NCCL_BUFFSIZE=1048576", what);
    }
    if starts("libcublas") {
        let what = "a smaller workspace for each handle and stream; set it before Python starts";
        return Remedy::line("export CUBLAS_WORKSPACE_CONFIG=:4096:2", what);
    }
    if starts("libcudnn") {
        let what = "do not try algorithms with enormous workspaces";
        return Remedy::line("torch.backends.cudnn.benchmark = False", what);
    }
    if starts("libcufft") {
        let what = "keep fewer plans, each of which holds a workspace";
        return Remedy::line("torch.backends.cuda.cufft_plan_cache.max_size = 4", what);
    }
    Remedy::advice(format!(
        "see how {library} can be told to take less, or to take it from PyTorch's allocator"
    ))
}
