//! A framework or server takes a share of the device in advance.

use whyoom_trace::{Counter, Software, Symptom};

use crate::{
    cause::Cause,
    finding::{Basis, Evidence, Finding, Remedy, Strength},
    scene::Scene,
};

pub(super) const CAUSE: Cause = Cause {
    id: "preallocated",
    title: "a framework or server takes a fixed share of the device in advance",
    explanation: "\
Some programs take most of the device when they start, whether they need it or not: JAX three
quarters of what is free, TensorFlow nearly all, vLLM a share of the *total* (not of what is free)
set by --gpu-memory-utilization. Whoever comes second, or a library inside the same process that
allocates by itself (NCCL, cuBLAS), then finds nothing.

What it looks like: \"Free memory on device (19.77/22.05 GiB) on startup is less than desired GPU
memory utilization\"; an NCCL or cuBLAS allocation that fails inside a JAX program.

What helps: a smaller share, set before the framework is imported. The variables are read once.",
    check,
};

fn check(scene: &Scene<'_>) -> Option<Finding> {
    match scene.symptom()? {
        Symptom::PreallocationFailed => share_not_free(scene),
        Symptom::ShareTooLarge => Some(share_too_large(scene)),
        Symptom::LibraryAllocFailed => library_beside_xla(scene),
        _ => None,
    }
}

/// A server wanted more than was free. Where far too little is free, others hold it: not this cause.
fn share_not_free(scene: &Scene<'_>) -> Option<Finding> {
    let (free, total) = (scene.situation.free?, scene.situation.capacity?);
    let wanted = scene.incident?.counter(Counter::Preallocation)?;
    if free.0 < wanted.0 / 2 {
        return None;
    }
    let fraction = (free.share_of(total) * 100.0).floor() / 100.0;
    let mut finding = scene.finding(
        CAUSE.id,
        Strength::Decisive,
        format!("vLLM wants {wanted} in advance, and {free} is free"),
        format!("Its share is of the device's total of {total}, not of what is free."),
    );
    finding.gives_back = Some(wanted.minus(free));
    finding.evidence.push(Evidence::bytes("wanted in advance", wanted, Basis::Message));
    finding.remedies = vec![Remedy::line(
        format!("--gpu-memory-utilization {fraction:.2}"),
        format!("the largest share that is free now: {free} of {total}"),
    )];
    Some(finding)
}

/// vLLM's share is so large that what works beside it finds no room.
fn share_too_large(scene: &Scene<'_>) -> Finding {
    let mut finding = scene.finding(
        CAUSE.id,
        Strength::Decisive,
        "vLLM's share of the GPU leaves too little for warming up its sampler",
        "The sampler works outside the share that was taken in advance.",
    );
    finding.evidence.push(Evidence::text("message", scene.message(), Basis::Message));
    finding.remedies = vec![
        Remedy::line("--max-num-seqs 128", "fewer sequences at once need a smaller sampler"),
        Remedy::line("--gpu-memory-utilization 0.85", "a smaller share leaves it more room"),
    ];
    finding
}

/// A library's allocation failed in a program whose framework takes its share in advance.
fn library_beside_xla(scene: &Scene<'_>) -> Option<Finding> {
    let set = |name| scene.setting(name);
    let fraction = set("XLA_PYTHON_CLIENT_MEM_FRACTION");
    let off = set("XLA_PYTHON_CLIENT_PREALLOCATE").is_some_and(|v| v.eq_ignore_ascii_case("false"));
    let xla_spoke = scene.model.incidents().iter().any(|incident| {
        incident.process == scene.process
            && incident.symptom.is_some_and(|(_, software, _)| software == Software::Xla)
    });
    if off || !(fraction.is_some() || xla_spoke) {
        return None;
    }
    let library = scene.software().map_or("A library", Software::name);
    let mut finding = scene.finding(
        CAUSE.id,
        Strength::Explains,
        format!("JAX holds its share of the GPU in advance, and {library} finds nothing left"),
        match fraction {
            Some(fraction) => format!("XLA_PYTHON_CLIENT_MEM_FRACTION is {fraction}."),
            None => "JAX takes 75 % of the GPU when it starts unless told otherwise.".to_owned(),
        },
    );

    finding.evidence.push(Evidence::text("message", scene.message(), Basis::Message));
    let now: f64 = fraction.and_then(|fraction| fraction.parse().ok()).unwrap_or(0.75);
    finding.remedies = vec![Remedy::line(
        format!("export XLA_PYTHON_CLIENT_MEM_FRACTION={:.2}", now * 0.8),
        "leave room for libraries; set it before Python starts",
    )];
    Some(finding)
}
