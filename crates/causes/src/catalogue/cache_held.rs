//! A cache holds unused bytes that another allocator needs.

use whyoom_trace::{Bytes, DeviceId, ProcessId, Software, Symptom};

use crate::{
    cause::Cause,
    finding::{Basis, Evidence, Finding, Remedy, Strength},
    neighbours::idle_cache_beside,
    scene::Scene,
};

pub(super) const CAUSE: Cause = Cause {
    id: "cache-held",
    title: "PyTorch's cache holds unused memory that another allocator needs",
    explanation: "\
PyTorch keeps what it has freed, to give it out again fast. Its own requests find it there. Another
allocator in the same process (cuBLAS, cuFFT, NCCL, CuPy, a second framework) or another process does
not: to it the device is full.

What it looks like: an error of a library or of a second framework while PyTorch has much more reserved
than allocated.

What helps: torch.cuda.empty_cache() once, right before the other one allocates; a cap on the cache;
one shared pool for both.",
    check,
};

fn check(scene: &Scene<'_>) -> Option<Finding> {
    if let Some((process, idle)) = idle_cache_beside(scene) {
        return Some(beside_process(scene, process, idle));
    }
    if scene.incident.is_some_and(|incident| incident.of_driver) {
        return refused_by_driver(scene);
    }
    let asked_outside = matches!(
        scene.symptom()?,
        Symptom::LibraryAllocFailed | Symptom::Disguised | Symptom::DeviceOutOfMemory
    );
    let outsider = scene.software().filter(|software| *software != Software::PyTorch)?;
    let (reserved, active, returnable) = pytorch_cache(scene).filter(|_| asked_outside)?;
    let name = scene.allocator_name();
    let needed = scene.situation.requested.unwrap_or(Bytes::MIB);
    if returnable < needed || returnable.share_of(reserved) < 0.05 {
        return None;
    }
    let mut finding = scene.finding(
        CAUSE.id,
        Strength::Explains,
        format!(
            "{} holds {returnable} that it does not use, and {} found none",
            cache(scene),
            outsider.name()
        ),
        format!("{name} has {reserved} reserved and {active} in use."),
    );
    finding.gives_back = Some(returnable);
    add_cache(scene, &mut finding, (reserved, active, returnable));
    finding.evidence.push(Evidence::text("message", scene.message(), Basis::Message));
    finding.remedies = remedies(outsider.name(), returnable);
    Some(finding)
}

/// A process of the same run keeps memory that it does not use.
fn beside_process(scene: &Scene<'_>, process: ProcessId, idle: Bytes) -> Finding {
    let whose = scene.tables.process_name(process);
    let missing = scene.situation.missing().unwrap_or_default();
    let mut finding = scene.finding(
        CAUSE.id,
        Strength::Explains,
        format!("PyTorch's cache in {whose} keeps {idle} that nothing uses"),
        format!("{missing} in this process; a cache serves its own process alone."),
    );
    finding.gives_back = Some(idle);
    let label = format!("in wholly free segments of {whose}");
    finding.evidence.push(Evidence::bytes(label, idle, Basis::Recorded));
    finding.remedies = remedies("the other process", idle);
    finding
}

/// The driver refused a call that was not PyTorch's, while PyTorch kept segments with nothing in them.
fn refused_by_driver(scene: &Scene<'_>) -> Option<Finding> {
    if !scene.device_ran_out() || scene.asked_by_pytorch() {
        return None;
    }
    let incident = scene.incident?;
    let (totals, free) = (incident.totals?, incident.free_space.as_ref()?);
    let returnable = if scene.has_pool() { free.idle_pages } else { free.in_empty_segments };
    let lacking = scene.situation.lacking()?;
    if returnable < lacking || returnable == Bytes::ZERO {
        return None;
    }
    let requested = scene.situation.requested?;
    let name = scene.allocator_name();
    let place = scene.place(incident.stack);
    let mut finding = scene.finding(
        CAUSE.id,
        Strength::Explains,
        format!(
            "{} holds {returnable} that it does not use, and {requested} asked beside it failed",
            cache(scene)
        ),
        format!(
            "{lacking} was missing; {name} has {} reserved and {} in use. The request came from {place}, \
             not from {name}, which would have given its cache up first.",
            totals.reserved, totals.active
        ),
    );
    finding.gives_back = Some(returnable);
    add_cache(scene, &mut finding, (totals.reserved, totals.active, returnable));
    finding.remedies = remedies("the other one", returnable);
    Some(finding)
}

/// Whose cache it is, at the beginning of a sentence.
fn cache(scene: &Scene<'_>) -> &'static str {
    if scene.has_pool() { "whyoom's pool" } else { "PyTorch's cache" }
}

fn add_cache(
    scene: &Scene<'_>,
    finding: &mut Finding,
    (reserved, active, returnable): (Bytes, Bytes, Bytes),
) {
    let name = scene.allocator_name();
    let idle = if scene.has_pool() { "in idle pages" } else { "in wholly free segments" };
    finding.evidence.extend([
        Evidence::bytes(format!("reserved by {name}"), reserved, Basis::Recorded),
        Evidence::bytes(format!("in use by {name}"), active, Basis::Recorded),
        Evidence::bytes(idle, returnable, Basis::Recorded),
    ]);
}

fn remedies(outsider: &str, returnable: Bytes) -> Vec<Remedy> {
    vec![
        Remedy::line(
            "torch.cuda.empty_cache()",
            format!("once, right before {outsider} allocates"),
        )
        .freeing(returnable),
        Remedy::line(
            "torch.cuda.set_per_process_memory_fraction(0.8)",
            "cap PyTorch, so that there is always room for the other",
        ),
    ]
}

/// What PyTorch holds, uses and could give back, from a snapshot that was given beside the message.
fn pytorch_cache(scene: &Scene<'_>) -> Option<(Bytes, Bytes, Bytes)> {
    let fits = |device: DeviceId| device == scene.device || scene.device == DeviceId::UNKNOWN;
    let spaces = scene.model.spaces().filter(|(_, device, _)| fits(*device));
    spaces
        .map(|(_, _, space)| {
            let totals = space.totals();
            (totals.reserved, totals.active, space.free_space().in_empty_segments)
        })
        .max_by_key(|(_, _, returnable)| *returnable)
}
