//! A process holds a context on a device that it does not use.

use std::collections::BTreeMap;

use whyoom_memory::{Contexts, Holder, Process};
use whyoom_trace::{Bytes, DeviceId, ProcessId, StackId};

use crate::{
    cause::Cause,
    diagnosis::Diagnosis,
    finding::{Finding, Remedy, Strength},
    other_gpu_processes::{OtherGpuProcesses, works_elsewhere},
    quotation_marks::in_quotation_marks,
    shell_line::ShellLine,
};

pub(super) const CAUSE: Cause = Cause {
    id: "stray-context",
    title: "a process holds a context on a GPU that it does not use",
    explanation: "\
The first CUDA call on a GPU creates a context there, which takes a few hundred MiB and stays until
the process exits. Code that does not select its GPU first creates one on GPU 0, in every rank: GPU
0 then runs out of memory although all GPUs do the same work.

Why it happens: torch.load without map_location puts tensors back on the GPU they were saved from;
torch.cuda.empty_cache(), mem_get_info() or a pinned allocation before set_device; a library that
queries every GPU.

What helps: select the GPU before anything else, or make only its own GPU visible to each process.",
    check,
};

/// A context where nothing is done.
struct Stray {
    process: ProcessId,
    device: DeviceId,
    stack: StackId,
    /// What it takes, where that is known.
    bytes: Option<Bytes>,
}

fn check(diagnosis: &Diagnosis<'_>) -> Option<Finding> {
    let strays = strays(diagnosis);
    let first = strays.first()?;
    let held = strays.iter().map(|stray| stray.bytes).collect::<Option<Vec<_>>>();
    let held: Option<Bytes> = held.map(|bytes| bytes.into_iter().sum());
    let mut finding = diagnosis.finding(
        CAUSE.id,
        strength(diagnosis, held),
        headline(diagnosis, &strays),
        because(diagnosis, held),
    );
    finding.reclaimable = held;
    for (call_site, count) in opened_at(diagnosis, &strays) {
        let contexts = if count == 1 { "a context" } else { "contexts" };
        let by = if count == 1 { String::new() } else { format!(", in {count} processes") };
        finding.point_at(call_site, format!("creates {contexts} on {}{by}", first.device));
    }
    finding.evidence.extend(diagnosis.context_evidence());
    finding.remedies = remedies(diagnosis, first);
    Some(finding)
}

/// The lines that created them, each with how many.
fn opened_at(diagnosis: &Diagnosis<'_>, strays: &[Stray]) -> BTreeMap<String, usize> {
    let mut lines = BTreeMap::new();
    for stray in strays {
        *lines.entry(diagnosis.call_site(stray.stack)).or_default() += 1;
    }
    lines
}

/// Without them, the request would have been served. Where nothing failed, they are what there is to say.
fn strength(diagnosis: &Diagnosis<'_>, held: Option<Bytes>) -> Strength {
    if diagnosis.incident.is_none() {
        return Strength::Explains;
    }
    let shortfall = diagnosis.observed.shortfall().filter(|_| diagnosis.device_ran_out());
    let alone = diagnosis.observed.too_much_alone().unwrap_or(false);
    let covers = shortfall.zip(held).is_some_and(|(shortfall, held)| held >= shortfall && !alone);
    if covers { Strength::Explains } else { Strength::Contributing }
}

fn headline(diagnosis: &Diagnosis<'_>, strays: &[Stray]) -> String {
    match strays {
        [one] => format!(
            "{} holds a context on {} and does not use it",
            in_quotation_marks(diagnosis.tables.process_name(one.process)),
            one.device
        ),
        _ => format!(
            "{} processes of this run hold a context on {} and do not use it",
            strays.len(),
            strays.first().map_or(diagnosis.device, |first| first.device)
        ),
    }
}

fn because(diagnosis: &Diagnosis<'_>, held: Option<Bytes>) -> String {
    let missing = diagnosis.observed.missing().filter(|_| diagnosis.device_ran_out());
    match (missing, held) {
        (Some(missing), Some(held)) => format!("{missing}; these contexts take {held}."),
        (None, Some(held)) => {
            format!(
                "Nothing failed here, but {held} was unavailable to others until the process \
                     exited."
            )
        }
        (Some(missing), None) => format!("{missing}; a context takes a few hundred MiB."),
        (None, None) => {
            "Nothing failed here, but a context takes a few hundred MiB from others until its \
             process exits."
                .to_owned()
        }
    }
}

fn remedies(diagnosis: &Diagnosis<'_>, first: &Stray) -> Vec<Remedy> {
    // Of several processes each has its own.
    let rank = match diagnosis.incident {
        Some(_) => "local_rank".to_owned(),
        None => diagnosis.device.0.to_string(),
    };
    let set_device = match diagnosis.is_compiled(first.stack) {
        true => Remedy::example(
            format!("cudaSetDevice({rank});"),
            "select the GPU before any other CUDA call",
        ),
        false => Remedy::example(
            format!("torch.cuda.set_device({rank})"),
            "select the GPU before any other CUDA call, in each thread",
        ),
    };
    let what = "or make only the GPU that a process works on visible to it; it is then device 0";
    let own_only = match diagnosis.incident {
        Some(_) => Remedy::line("export CUDA_VISIBLE_DEVICES=$LOCAL_RANK", what),
        None => Remedy::command(
            ShellLine::new("export").word(format!("CUDA_VISIBLE_DEVICES={rank}")),
            what,
        ),
    };
    let load = Remedy::example(
        "torch.load(path, map_location=\"cpu\")",
        "load checkpoints to the CPU, if loading one created the context",
    );
    match diagnosis.is_compiled(first.stack) {
        true => vec![set_device, own_only],
        false if opened_by_loading(diagnosis, first.stack) => vec![load, set_device, own_only],
        false => vec![set_device, load, own_only],
    }
}

/// Whether a checkpoint was loaded when the context was opened.
fn opened_by_loading(diagnosis: &Diagnosis<'_>, stack: StackId) -> bool {
    diagnosis.tables.frames(stack).any(|frame| frame.file.ends_with("torch/serialization.py"))
}

/// Where memory ran out: other processes' stray contexts on this device. Elsewhere: this process's own.
fn strays(diagnosis: &Diagnosis<'_>) -> Vec<Stray> {
    if diagnosis.incident.is_none() {
        return own(diagnosis);
    }
    let seen = OtherGpuProcesses::of(diagnosis).strays;
    let by_number = |(holder, process): &(&Holder, ProcessId)| {
        let stack =
            context_on(diagnosis, *process, diagnosis.device).map_or(StackId(0), |one| one.stack);
        Stray { process: *process, device: diagnosis.device, stack, bytes: Some(holder.bytes) }
    };
    if diagnosis.observed.processes_listed {
        return seen.iter().map(by_number).collect();
    }
    recorded(diagnosis)
}

/// Those that the recording tells of, where nobody looked who held memory.
fn recorded(diagnosis: &Diagnosis<'_>) -> Vec<Stray> {
    let (device, bytes) = (diagnosis.device, diagnosis.context_size());
    // The context of one that had ended went with it.
    let lives = |facts: &Process| {
        let failed = diagnosis.incident.map(|incident| incident.time);
        facts.exited().zip(failed).is_none_or(|(exited, failed)| exited > failed)
    };
    let others = diagnosis.model.processes().filter(|(process, facts)| {
        *process != diagnosis.process
            && lives(facts)
            && works_elsewhere(diagnosis, *process, device)
    });
    let stray = |(process, _)| {
        let stack = context_on(diagnosis, process, device)?.stack;
        Some(Stray { process, device, stack, bytes })
    };
    others.filter_map(stray).collect()
}

/// This process's own, in a run in which nothing failed.
fn own(diagnosis: &Diagnosis<'_>) -> Vec<Stray> {
    let process = diagnosis.process;
    let devices =
        diagnosis.process().into_iter().flat_map(|facts| facts.contexts().keys().copied());
    let unused = devices.filter(|device| {
        *device != diagnosis.device && works_elsewhere(diagnosis, process, *device)
    });
    let stray = |device| {
        let stack = context_on(diagnosis, process, device)?.stack;
        Some(Stray { process, device, stack, bytes: diagnosis.least_used_on(device) })
    };
    unused.filter_map(stray).collect()
}

/// The open contexts of a process on a device.
fn context_on<'a>(
    diagnosis: &Diagnosis<'a>,
    process: ProcessId,
    device: DeviceId,
) -> Option<&'a Contexts> {
    let contexts = diagnosis.model.process(process)?.contexts().get(&device)?;
    (!contexts.open.is_empty()).then_some(contexts)
}
