//! A cache holds unused bytes that another allocator needs.

use whyoom_trace::{Bytes, DeviceId, ProcessId, Software, Symptom};

use crate::{
    cause::Cause,
    diagnosis::Diagnosis,
    finding::{Basis, Evidence, Finding, Remedy, Strength},
    other_gpu_processes::idle_cache_beside,
    quotation_marks::in_quotation_marks,
};

pub(super) const CAUSE: Cause = Cause {
    id: "cache-held",
    title: "PyTorch's cache holds unused memory that another allocator needs",
    explanation: "\
PyTorch caches the memory it frees so that it can reuse it quickly. Its own requests are served from
that cache. Another allocator in the same process (cuBLAS, cuFFT, NCCL, CuPy, a second framework) or
another process cannot use it: to them, the device is full.

Symptoms: an error from a library or a second framework while PyTorch has much more reserved than
allocated.

What helps: torch.cuda.empty_cache() once, right before the other allocator needs memory; a cap on
the cache; one pool shared by both.",
    check,
};

fn check(diagnosis: &Diagnosis<'_>) -> Option<Finding> {
    if let Some((process, idle)) = idle_cache_beside(diagnosis) {
        return Some(beside_process(diagnosis, process, idle));
    }
    if diagnosis.incident.is_some_and(|incident| incident.of_driver) {
        return refused_by_driver(diagnosis);
    }
    let asked_outside = matches!(
        diagnosis.symptom()?,
        Symptom::LibraryAllocFailed | Symptom::IndirectOom | Symptom::DeviceOutOfMemory
    );
    let outsider = diagnosis.software().filter(|software| *software != Software::PyTorch)?;
    let (reserved, active, returnable) = pytorch_cache(diagnosis).filter(|_| asked_outside)?;
    let name = diagnosis.allocator_name();
    let needed = diagnosis.observed.requested.unwrap_or(Bytes::MIB);
    if returnable < needed || returnable.share_of(reserved) < 0.05 {
        return None;
    }
    let mut finding = diagnosis.finding(
        CAUSE.id,
        Strength::Explains,
        format!(
            "{} holds {returnable} unused, and {} could not get memory",
            cache(diagnosis),
            outsider.name()
        ),
        format!("{name} has {reserved} reserved and {active} allocated."),
    );
    finding.reclaimable = Some(returnable);
    add_cache(diagnosis, &mut finding, (reserved, active, returnable));
    finding.evidence.push(Evidence::text("message", diagnosis.message(), Basis::Message));
    finding.remedies = remedies(outsider.name(), returnable);
    Some(finding)
}

/// A process of the same run keeps memory that it does not use.
fn beside_process(diagnosis: &Diagnosis<'_>, process: ProcessId, idle: Bytes) -> Finding {
    let whose = in_quotation_marks(diagnosis.tables.process_name(process));
    let missing = diagnosis.observed.missing().unwrap_or_default();
    let mut finding = diagnosis.finding(
        CAUSE.id,
        Strength::Explains,
        format!("PyTorch's cache in {whose} holds {idle} unused"),
        format!("{missing} in this process; a cache serves only its own process."),
    );
    finding.reclaimable = Some(idle);
    let label = format!("in completely free segments of {whose}");
    finding.evidence.push(Evidence::bytes(label, idle, Basis::Recorded));
    finding.remedies = remedies("the other process", idle);
    finding
}

/// The driver refused a call that was not PyTorch's, while PyTorch kept segments with nothing in them.
fn refused_by_driver(diagnosis: &Diagnosis<'_>) -> Option<Finding> {
    if !diagnosis.device_ran_out() || diagnosis.asked_by_pytorch() {
        return None;
    }
    let incident = diagnosis.incident?;
    let (totals, free) = (incident.totals?, incident.free_space.as_ref()?);
    let returnable = if diagnosis.has_pool() { free.idle_pages } else { free.in_empty_segments };
    let shortfall = diagnosis.observed.shortfall()?;
    if returnable < shortfall || returnable == Bytes::ZERO {
        return None;
    }
    let requested = diagnosis.observed.requested?;
    let name = diagnosis.allocator_name();
    let mut finding = diagnosis.finding(
        CAUSE.id,
        Strength::Explains,
        format!(
            "{} holds {returnable} unused, and a request of {requested} outside it failed",
            cache(diagnosis)
        ),
        format!(
            "The request fell {shortfall} short; {name} has {} reserved and {} allocated. The request \
             did not come from {name}, which would have released its cache first.",
            totals.reserved, totals.active
        ),
    );
    finding.reclaimable = Some(returnable);
    add_cache(diagnosis, &mut finding, (totals.reserved, totals.active, returnable));
    finding.remedies = remedies("the other allocator", returnable);
    Some(finding)
}

/// Whose cache it is, at the beginning of a sentence.
fn cache(diagnosis: &Diagnosis<'_>) -> &'static str {
    if diagnosis.has_pool() { "whyoom's pool" } else { "PyTorch's cache" }
}

fn add_cache(
    diagnosis: &Diagnosis<'_>,
    finding: &mut Finding,
    (reserved, active, returnable): (Bytes, Bytes, Bytes),
) {
    let name = diagnosis.allocator_name();
    let idle = if diagnosis.has_pool() { "in idle pages" } else { "in completely free segments" };
    finding.evidence.extend([
        Evidence::bytes(format!("reserved by {name}"), reserved, Basis::Recorded),
        Evidence::bytes(format!("allocated by {name}"), active, Basis::Recorded),
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
            "cap PyTorch, so that there is always memory for the other allocator",
        ),
    ]
}

/// What PyTorch holds, uses and could give back, from a snapshot that was given beside the message.
fn pytorch_cache(diagnosis: &Diagnosis<'_>) -> Option<(Bytes, Bytes, Bytes)> {
    let fits =
        |device: DeviceId| device == diagnosis.device || diagnosis.device == DeviceId::UNKNOWN;
    let spaces = diagnosis.model.spaces().filter(|(_, device, _)| fits(*device));
    spaces
        .map(|(_, _, space)| {
            let totals = space.totals();
            (totals.reserved, totals.active, space.free_space().in_empty_segments)
        })
        .max_by_key(|(_, _, returnable)| *returnable)
}
