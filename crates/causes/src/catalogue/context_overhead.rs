//! Contexts take what the work lacks.

use whyoom_trace::Bytes;

use crate::{
    cause::Cause,
    diagnosis::Diagnosis,
    finding::{Basis, Evidence, Finding, Remedy, Strength},
    other_gpu_processes::{OtherGpuProcesses, held},
};

pub(super) const CAUSE: Cause = Cause {
    id: "context-overhead",
    title: "the contexts of many processes use the memory that the workload needs",
    explanation: "\
Each process that uses a GPU has a context on it: code, stacks and buffers, a few hundred MiB,
before it allocates anything. Ten workers that each only touched CUDA once hold gigabytes together.

Symptoms: many processes of a few hundred MiB each, and no large one among them.

Why it happens: data loaders or web workers import a model or call torch.cuda in each process; more
processes per GPU than the workload needs.

What helps: no CUDA in workers (they prepare data on the host; the main process moves it), fewer
processes, threads instead of processes, or MPS, which shares one context.",
    check,
};

fn check(diagnosis: &Diagnosis<'_>) -> Option<Finding> {
    if !diagnosis.device_ran_out() || !diagnosis.was_recorded() {
        return None;
    }
    let observed = &diagnosis.observed;
    let shortfall = observed.shortfall()?;
    let small = OtherGpuProcesses::of(diagnosis).contexts;
    let held = held(&small);
    if small.is_empty() || held < shortfall || observed.too_much_alone().unwrap_or(false) {
        return None;
    }
    let mut finding = diagnosis.finding(
        CAUSE.id,
        Strength::Explains,
        format!("{} other processes hold {held}, little more than their contexts", small.len()),
        format!(
            "{}; each of them holds {} on average, and a context alone takes a few hundred MiB.",
            observed.missing()?,
            Bytes(held.0 / small.len() as u64)
        ),
    );
    finding.reclaimable = Some(held);
    finding.evidence.push(Evidence::count(
        "processes like this",
        small.len() as u64,
        Basis::Recorded,
    ));
    finding.evidence.extend(diagnosis.context_evidence());
    finding.remedies = vec![
        Remedy::example(
            "CUDA_VISIBLE_DEVICES= python worker.py",
            "start workers that need no GPU without one, so that they do not create a context",
        )
        .freeing(held),
        Remedy::advice(
            "or run fewer processes per GPU: threads, or one process that serves the others",
        ),
    ];
    Some(finding)
}
