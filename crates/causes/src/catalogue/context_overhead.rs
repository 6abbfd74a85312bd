//! Contexts take what the work lacks.

use whyoom_trace::Bytes;

use crate::{
    cause::Cause,
    finding::{Basis, Evidence, Finding, Remedy, Strength},
    neighbours::{Neighbours, held},
    scene::Scene,
};

pub(super) const CAUSE: Cause = Cause {
    id: "context-overhead",
    title: "the contexts of many processes take what the work lacks",
    explanation: "\
Each process that uses a GPU has a context on it: code, stacks, buffers, some hundred MiB, before it has
allocated anything. Ten workers that each only touched CUDA once hold gigabytes together.

What it looks like: many processes of a few hundred MiB each, and no large one among them.

Why it happens: data loaders or web workers that import a model or call torch.cuda in each process; more
processes per GPU than the work needs.

What helps: no CUDA in workers (they prepare data on the host; the main process moves it), fewer processes,
threads instead of processes, or MPS, which shares one context.",
    check,
};

fn check(scene: &Scene<'_>) -> Option<Finding> {
    if !scene.device_ran_out() || !scene.was_recorded() {
        return None;
    }
    let situation = &scene.situation;
    let lacking = situation.lacking()?;
    let small = Neighbours::of(scene).contexts;
    let held = held(&small);
    if small.is_empty() || held < lacking || situation.too_much_alone().unwrap_or(false) {
        return None;
    }
    let mut finding = scene.finding(
        CAUSE.id,
        Strength::Explains,
        format!("{} other processes hold {held} in little more than their contexts", small.len()),
        format!(
            "{}; each of them holds {} on average, and a context alone takes some hundred MiB.",
            situation.missing()?,
            Bytes(held.0 / small.len() as u64)
        ),
    );
    finding.gives_back = Some(held);
    finding.evidence.push(Evidence::count("such processes", small.len() as u64, Basis::Recorded));
    if let Some(size) = scene.context_size() {
        finding.evidence.push(Evidence::bytes("a context alone takes", size, Basis::Computed));
    }
    finding.remedies = vec![
        Remedy::line(
            "CUDA_VISIBLE_DEVICES= python worker.py",
            "start workers that need no GPU without one: then they open no context",
        )
        .freeing(held),
        Remedy::advice(
            "or fewer processes per GPU: threads, or one process that serves the others",
        ),
    ];
    Some(finding)
}
