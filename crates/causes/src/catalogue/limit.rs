//! A cap stops the process, not the device.

use whyoom_trace::{Bytes, Counter, Software, Symptom};

use crate::{
    cause::Cause,
    finding::{Basis, Evidence, Finding, Remedy, Strength},
    scene::Scene,
};

pub(super) const CAUSE: Cause = Cause {
    id: "limit",
    title: "a cap on the process was reached, not the end of the device",
    explanation: "\
Something allows this process only a part of the device, and that part is used up. The device may
be nearly empty.

What it looks like: \"2.37 GiB allowed\" in PyTorch's message; \"limit set to\" in CuPy's; \"Maximum
pool size exceeded\" or \"Exceeded memory limit\" in RMM's; \"Device 0 OOM used / limit\" in HAMi's;
vLLM that finds no room for its cache inside its own share.

Where caps come from: torch.cuda.set_per_process_memory_fraction, a pool's maximum size,
--gpu-memory-utilization, a shim such as HAMi's (CUDA_DEVICE_MEMORY_LIMIT), a MIG slice.

What helps: change the cap where it was set. Nothing else will.",
    check,
};

fn check(scene: &Scene<'_>) -> Option<Finding> {
    match scene.symptom() {
        Some(Symptom::ShareTooSmall) => return Some(share_too_small(scene)),
        Some(Symptom::LimitReached) => return Some(limit_reached(scene)),
        _ => {}
    }
    let situation = &scene.situation;
    let (allowed, requested) = (situation.allowed?, situation.requested?);
    let held = situation.reserved.or(situation.allocated)?;
    // Idle pages of whyoom's pool serve the request, whatever its cap is.
    let idle = situation.cached.filter(|_| scene.has_pool()).unwrap_or_default();
    let held = held.minus(idle);
    let device_had_room = situation.free.is_some_and(|free| free >= requested);
    let reached = held.plus(requested) > allowed;
    let caps = situation.capacity.is_none_or(|capacity| allowed < capacity);
    if !(reached && caps && scene.device_refused()) {
        return None;
    }
    let strength = if device_had_room { Strength::Decisive } else { Strength::Contributing };
    let beside = if idle > Bytes::ZERO { " beside idle pages" } else { "" };
    let mut finding = scene.finding(
        CAUSE.id,
        strength,
        format!("A cap of {allowed} stopped this process; the device was not full"),
        format!(
            "It held {held}{beside}; the {requested} it asked for would make that {}{}.",
            held.plus(requested),
            situation.free.map_or(String::new(), |free| format!(", while {free} was free"))
        ),
    );
    finding.gives_back = situation.capacity.map(|capacity| capacity.minus(allowed));
    let needed = held.plus(requested);
    finding.remedies = match scene.has_pool() {
        true => vec![raise_cap(needed), raise_fraction(situation.capacity, needed)],
        false => vec![raise_fraction(situation.capacity, needed)],
    };
    Some(finding)
}

/// The cap of whyoom's pool, where it was set outside the program.
fn raise_cap(needed: Bytes) -> Remedy {
    let line = format!("whyoom run --pool --pool-cap {}MiB", needed.0.div_ceil(Bytes::MIB.0));
    Remedy::line(line, "raise the pool's cap where it was given so, or leave it out")
}

fn raise_fraction(capacity: Option<Bytes>, needed: Bytes) -> Remedy {
    let what = "raise the fraction where the program sets it, or remove that line";
    match capacity.filter(|capacity| needed <= *capacity) {
        Some(capacity) => {
            let fraction = (needed.share_of(capacity) * 100.0).ceil() / 100.0;
            let line = format!("torch.cuda.set_per_process_memory_fraction({fraction:.2})");
            Remedy::line(line, what)
        }
        None => Remedy::advice(what),
    }
}

fn limit_reached(scene: &Scene<'_>) -> Finding {
    let allowed = scene.situation.allowed;
    let size = allowed.map_or("a cap".to_owned(), |allowed| format!("a cap of {allowed}"));
    let whose = scene.software().map_or("The allocator", Software::name);
    let needed = scene.incident.and_then(|incident| incident.counter(Counter::Needed));
    let mut finding = scene.finding(
        CAUSE.id,
        Strength::Decisive,
        format!("{whose} stopped at {size}, not at the end of the device"),
        match (needed, scene.situation.requested) {
            (Some(needed), _) => format!("With this request {needed} would be in use."),
            (_, Some(requested)) => format!("The request of {requested} would go beyond it."),
            _ => "Its own message names the limit.".to_owned(),
        },
    );
    finding.evidence.push(Evidence::text("message", scene.message(), Basis::Message));
    finding.remedies = vec![Remedy::advice(match scene.software() {
        Some(Software::CuPy) => {
            "raise it: cupy.get_default_memory_pool().set_limit(size=…), or unset CUPY_GPU_MEMORY_LIMIT"
        }
        Some(Software::Rmm) => {
            "raise maximum_pool_size (or the limiting adaptor's limit) where the pool is made; leave a few hundred MiB for contexts"
        }
        Some(Software::Hami) => {
            "raise nvidia.com/gpumem in the pod's limits (CUDA_DEVICE_MEMORY_LIMIT inside it)"
        }
        Some(Software::PyTorch) => {
            "lower expandable_segments_reserve in PYTORCH_CUDA_ALLOC_CONF, or remove it"
        }
        _ => "raise the limit where it was set",
    })];
    finding
}

/// The longest sequence that vLLM says would fit.
fn estimated_length(message: &str) -> Option<u64> {
    let (_, behind) = message.split_once("estimated maximum model length is ")?;
    let digits: String = behind.chars().take_while(char::is_ascii_digit).collect();
    digits.parse().ok().filter(|tokens| *tokens > 0)
}

/// vLLM plans with a share of the device; weights and activations leave too little of it.
fn share_too_small(scene: &Scene<'_>) -> Finding {
    let counter = |counter| scene.incident.and_then(|incident| incident.counter(counter));
    let (needed, left) = (counter(Counter::Needed), counter(Counter::RoomLeft));
    let because = match (needed, left) {
        (Some(needed), Some(left)) => format!("The cache needs {needed}; the share leaves {left}."),
        _ => "Weights and activations use up the share before the cache gets any.".to_owned(),
    };
    let headline = "vLLM's share of the GPU leaves too little for its cache";
    let mut finding = scene.finding(CAUSE.id, Strength::Decisive, headline, because);
    finding.gives_back = needed.zip(left).map(|(needed, left)| needed.minus(left));
    for (label, bytes) in [("cache needs", needed), ("share leaves", left)] {
        finding.evidence.extend(bytes.map(|b| Evidence::bytes(label, b, Basis::Message)));
    }
    finding.evidence.push(Evidence::text("message", scene.message(), Basis::Message));
    finding.remedies = vec![Remedy::line(
        "--gpu-memory-utilization 0.95",
        "a larger share, if nothing else uses the GPU",
    )];
    let what = "a shorter longest sequence needs a smaller cache";
    finding.remedies.push(match estimated_length(scene.message()) {
        Some(tokens) => Remedy::line(format!("--max-model-len {tokens}"), what),
        None => Remedy::advice(format!("lower --max-model-len: {what}")),
    });
    finding
}
