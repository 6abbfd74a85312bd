//! A cap stops the process, not the device.

use whyoom_memory::Incident;
use whyoom_trace::{Bytes, Counter, Software, Symptom};

use crate::{
    cause::Cause,
    diagnosis::Diagnosis,
    finding::{Basis, Evidence, Finding, Remedy, Strength, capitalized},
    observed::ObservedFigures,
    shell_line::ShellLine,
};

pub(super) const CAUSE: Cause = Cause {
    id: "limit",
    title: "a limit on the process was reached, not the device capacity",
    explanation: "\
This process may use only a part of the device, and that part is used up. The device may be nearly
empty.

Symptoms: \"2.37 GiB allowed\" in PyTorch's message; \"limit set to\" in CuPy's; \"Maximum
pool size exceeded\" or \"Exceeded memory limit\" in RMM's; \"Device 0 OOM used / limit\" in HAMi's;
vLLM that has no space for its KV cache within its own memory fraction.

Where limits come from: torch.cuda.set_per_process_memory_fraction, a pool's maximum size,
--gpu-memory-utilization, a shim such as HAMi's (CUDA_DEVICE_MEMORY_LIMIT), a MIG slice.

What helps: change the limit where it is set. Nothing else helps.",
    check,
};

fn check(diagnosis: &Diagnosis<'_>) -> Option<Finding> {
    if diagnosis.symptom() == Some(Symptom::LimitReached) && !diagnosis.is_rejected_within_limit() {
        return Some(limit_reached(diagnosis));
    }
    reported_cap(diagnosis).or_else(|| own_refusal(diagnosis)).or_else(|| mig_slice(diagnosis))
}

/// A cap that was told, and that the request would go beyond.
fn reported_cap(diagnosis: &Diagnosis<'_>) -> Option<Finding> {
    let observed = &diagnosis.observed;
    let (allowed, requested) = (observed.allowed?, observed.requested?);
    let held = observed.reserved.or(observed.allocated)?;
    // Idle pages of whyoom's pool serve the request, whatever its cap is.
    let idle = observed.cached.filter(|_| diagnosis.has_pool()).unwrap_or_default();
    let held = held.minus(idle);
    let device_had_room = observed.free.is_some_and(|free| free >= requested);
    // Printed figures are rounded: a hundredth decides nothing.
    let rounding = if diagnosis.is_message() { allowed.0 / 100 } else { 0 };
    let reached = held.plus(requested).plus(Bytes(rounding)) > allowed;
    let caps = observed.capacity.is_none_or(|capacity| allowed < capacity);
    if !(reached && caps && diagnosis.device_refused()) {
        return None;
    }
    let strength = if device_had_room { Strength::Decisive } else { Strength::Contributing };
    let beside = if idle > Bytes::ZERO { " in addition to idle pages" } else { "" };
    let mut finding = diagnosis.finding(
        CAUSE.id,
        strength,
        format!("A limit of {allowed} stopped this process; the device was not full"),
        format!(
            "It held {held}{beside}; with the {requested} requested that would be {}{}.",
            held.plus(requested),
            observed.free.map_or(String::new(), |free| format!(", while {free} was free"))
        ),
    );
    finding.reclaimable = observed.capacity.map(|capacity| capacity.minus(allowed));
    finding.remedies = vec![raise(diagnosis, allowed, held.plus(requested))];
    Some(finding)
}

/// PyTorch refused without the driver, which had room: its own cap does that, and nothing else. How large
/// it is, its variable may tell; else what was held and what was asked for.
fn own_refusal(diagnosis: &Diagnosis<'_>) -> Option<Finding> {
    let observed = &diagnosis.observed;
    let (capacity, free) = (observed.capacity?, observed.free?);
    let (asked, held) = (observed.asked_of_driver?, observed.reserved?);
    if !diagnosis.refused_by_pytorch() {
        return None;
    }
    let beyond = held.plus(asked);
    let told = reported_fraction(diagnosis);
    // It has had as much before, and given some of it back since.
    let had = diagnosis.space.map_or(held, |space| held.max(space.peak_reserved()));
    let below = refused_before(diagnosis, had).map_or(beyond, |least| least.min(beyond));
    let fraction = told.or_else(|| roundest_between(had, below.max(had), capacity))?;
    let cap = Bytes((capacity.0 as f64 * fraction) as u64);
    let about = if told.is_some() { "" } else { "about " };
    let mut finding = diagnosis.finding(
        CAUSE.id,
        Strength::Decisive,
        format!(
            "PyTorch's own limit of {about}{cap} stopped this process; the device was not full"
        ),
        format!(
            "{free} was free on the device, more than the {asked} that PyTorch needed: it failed \
             the request without calling the driver. It held {held}."
        ),
    );
    finding.reclaimable = Some(capacity.minus(cap));
    finding.evidence.extend([
        Evidence::bytes("the limit is at least", had, Basis::Computed),
        Evidence::bytes("the limit is below", below, Basis::Computed),
        Evidence::share(
            "as a fraction of the device, if a round number",
            fraction,
            Basis::Computed,
        ),
    ]);
    finding.remedies = vec![raise(diagnosis, cap, beyond)];
    Some(finding)
}

/// The least that any request of the run was refused with by PyTorch itself, beside what it held then. Less than
/// it had at any time was refused under another cap.
fn refused_before(diagnosis: &Diagnosis<'_>, had: Bytes) -> Option<Bytes> {
    let of_scene = |incident: &&Incident| {
        (incident.process, incident.device) == (diagnosis.process, diagnosis.device)
            && incident.symptom.is_none()
            && !incident.of_driver
    };
    let refused = diagnosis.model.incidents().iter().filter(of_scene);
    let beyond = refused.filter_map(|incident| {
        let observed = ObservedFigures::of(incident);
        let own = observed.enough_was_free();
        own.then_some(observed.reserved?.plus(observed.asked_of_driver?))
    });
    beyond.filter(|beyond| *beyond > had).min()
}

/// The share that the allocator's variable allows.
fn reported_fraction(diagnosis: &Diagnosis<'_>) -> Option<f64> {
    let value = diagnosis.conf_value("per_process_memory_fraction")?;
    value.parse().ok().filter(|share| (0.0..=1.0).contains(share))
}

/// The share of the device between these that a person would most likely have written.
fn roundest_between(at_least: Bytes, below: Bytes, capacity: Bytes) -> Option<f64> {
    let (low, high) = (at_least.share_of(capacity), below.share_of(capacity));
    [2, 4, 10, 20, 100, 1000].into_iter().find_map(|parts| {
        let first = (low * f64::from(parts)).ceil() / f64::from(parts);
        (first > 0.0 && first < high && first < 1.0).then_some(first)
    })
}

/// The process has a slice of a GPU, and the slice is full.
fn mig_slice(diagnosis: &Diagnosis<'_>) -> Option<Finding> {
    let (capacity, requested) = (diagnosis.observed.capacity?, diagnosis.observed.requested?);
    let visible =
        diagnosis.setting("CUDA_VISIBLE_DEVICES").is_some_and(|one| one.starts_with("MIG-"));
    let profile = diagnosis.setting("mig");
    if !diagnosis.device_ran_out() || !(visible || profile.is_some()) {
        return None;
    }
    let in_pieces = diagnosis.observed.cache_that_would_do().is_some();
    // A slice is one where the figures are a slice's: what others hold on the whole GPU is not on a slice.
    let shortfall = diagnosis.observed.shortfall().unwrap_or_default();
    let by_others = diagnosis.observed.others_hold() >= shortfall.max(Bytes::MIB);
    let strength = match in_pieces || by_others {
        true => Strength::Contributing,
        false => Strength::Decisive,
    };
    // As its name has it, in the units of those who sell it: for slices as large as they are named.
    let whole = profile.and_then(|one| one.split_once(" of ")?.1.strip_suffix("GB")?.parse().ok());
    let whole = whole.map(|gigabytes: u64| Bytes(gigabytes << 30));
    let profile = profile
        .filter(|one| one.contains("gb"))
        .map_or(String::new(), |profile| format!(" ({profile})"));
    let mut finding = diagnosis.finding(
        CAUSE.id,
        strength,
        format!(
            "A MIG slice{profile} of {capacity} is all that this process may use, and it is full"
        ),
        format!(
            "{requested} more was requested. The rest of the GPU belongs to other slices, whether \
             they use it or not."
        ),
    );
    finding.reclaimable = whole.map(|whole| whole.minus(capacity));
    finding.evidence.push(Evidence::text("a slice", "MIG divides this GPU", Basis::Message));
    finding.remedies = vec![
        Remedy::line(
            "nvidia-smi -L",
            "lists the slices: run on a larger one with CUDA_VISIBLE_DEVICES=MIG-its UUID (with \
             permission to change them, create one with nvidia-smi mig -cgi PROFILE -C)",
        ),
        Remedy::advice("or use less: a smaller batch or model for this slice"),
    ];
    Some(finding)
}

/// How to raise a cap, where it was set.
fn raise(diagnosis: &Diagnosis<'_>, cap: Bytes, needed: Bytes) -> Remedy {
    let capacity = diagnosis.observed.capacity;
    if diagnosis.has_pool() && is_pools(diagnosis, cap) {
        return raise_cap(diagnosis, needed);
    }
    let share = capacity
        .filter(|capacity| needed <= *capacity)
        .map(|capacity| higher_share(needed, capacity));
    match (reported_fraction(diagnosis), share) {
        (Some(_), Some(share)) => {
            let option = format!("per_process_memory_fraction:{share:.2}");
            let what =
                "a higher limit, or none: it is set in this variable; set it before Python starts";
            diagnosis.set_conf(&option, what)
        }
        _ => raise_fraction(share),
    }
}

/// The share that holds what is needed, with a little to spare.
fn higher_share(needed: Bytes, capacity: Bytes) -> f64 {
    ((needed.share_of(capacity) * 100.0).ceil() / 100.0).min(1.0)
}

/// Whether a cap is the one that whyoom's pool was given outside the program.
fn is_pools(diagnosis: &Diagnosis<'_>, allowed: Bytes) -> bool {
    let cap = diagnosis.setting("WHYOOM_POOL_CAP").and_then(|cap| cap.parse().ok());
    cap == Some(allowed.0)
}

/// The cap of whyoom's pool, where it was set outside the program.
fn raise_cap(diagnosis: &Diagnosis<'_>, needed: Bytes) -> Remedy {
    let cap = needed.0.div_ceil(Bytes::MIB.0);
    let line = ShellLine::new("whyoom run --pool --pool-cap").word(format!("{cap}MiB"));
    let what = "a higher limit for the pool, or none: leave --pool-cap out";
    let remedy = diagnosis.with_program(line.clone(), what);
    remedy.unwrap_or_else(|| Remedy::command(line, what))
}

fn raise_fraction(share: Option<f64>) -> Remedy {
    let what = "raise the fraction where the program sets it, or remove that line";
    match share {
        Some(share) => {
            let call = ["torch.cuda.set_per_process_memory_fraction(", ")"];
            Remedy::statement(call, format!("{share:.2}"), what)
        }
        None => Remedy::advice(what),
    }
}

fn limit_reached(diagnosis: &Diagnosis<'_>) -> Finding {
    let allowed = diagnosis.observed.allowed;
    let size = allowed.map_or("a limit".to_owned(), |allowed| format!("a limit of {allowed}"));
    let whose = diagnosis.software().map_or("The allocator", Software::name);
    let needed = diagnosis.incident.and_then(|incident| incident.counter(Counter::Needed));
    let mut finding = diagnosis.finding(
        CAUSE.id,
        Strength::Decisive,
        format!("{} hit {size}, not the device capacity", capitalized(whose)),
        match (needed, diagnosis.observed.requested) {
            (Some(needed), _) => format!("With this request {needed} would be in use."),
            (_, Some(requested)) => format!("The request of {requested} would exceed it."),
            _ => "Its own message reports the limit.".to_owned(),
        },
    );
    finding.evidence.push(Evidence::text("message", diagnosis.message(), Basis::Message));
    finding.remedies = vec![Remedy::advice(match diagnosis.software() {
        Some(Software::CuPy) => {
            "raise it: cupy.get_default_memory_pool().set_limit(size=…), or unset CUPY_GPU_MEMORY_LIMIT"
        }
        Some(Software::Rmm) => {
            "raise maximum_pool_size (or the limiting adaptor's limit) where the pool is created; \
             leave a few hundred MiB for contexts"
        }
        Some(Software::Hami) => {
            "raise nvidia.com/gpumem in the pod's limits (CUDA_DEVICE_MEMORY_LIMIT inside it)"
        }
        Some(Software::PyTorch) if diagnosis.message().contains("preemptively rejected") => {
            "request less at once, or raise per_process_memory_fraction if it is below 1"
        }
        Some(Software::PyTorch) => {
            "lower expandable_segments_reserve in PYTORCH_CUDA_ALLOC_CONF, or remove it"
        }
        _ => "raise the limit where it was set, or request less at once",
    })];
    finding
}
