//! Contexts take what the work lacks.

use whyoom_memory::Holder;
use whyoom_trace::Bytes;

use crate::{
    cause::Cause,
    finding::{Basis, Evidence, Finding, Remedy, Strength},
    scene::Scene,
    situation::CONTEXT_ALLOWANCE,
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

/// Fewer small holders are no crowd.
const CROWD: usize = 2;

fn check(scene: &Scene<'_>) -> Option<Finding> {
    if !scene.device_ran_out() || !scene.was_recorded() {
        return None;
    }
    let situation = &scene.situation;
    let lacking = situation.lacking()?;
    let own = scene.own_context();
    // Half as much again: a process that touched CUDA may hold a little beside its context.
    let at_most = own.map_or(CONTEXT_ALLOWANCE, |own| own.plus(Bytes(own.0 / 2)));
    let small: Vec<&Holder> =
        situation.others.iter().filter(|holder| holder.bytes <= at_most).collect();
    let held: Bytes = small.iter().map(|holder| holder.bytes).sum();
    if small.len() < CROWD || held < lacking || situation.too_much_alone().unwrap_or(false) {
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
    if let Some(own) = own {
        let label = "this process beside what it allocated: about its context";
        finding.evidence.push(Evidence::bytes(label, own, Basis::Computed));
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
