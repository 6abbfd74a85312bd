//! A process holds a context on a device that it does not use.

use whyoom_memory::{Contexts, Holder, Process};
use whyoom_trace::{Bytes, DeviceId, ProcessId, StackId};

use crate::{
    cause::Cause,
    finding::{Basis, Evidence, Finding, Remedy, Strength},
    neighbours::{Neighbours, works_elsewhere},
    scene::Scene,
};

pub(super) const CAUSE: Cause = Cause {
    id: "stray-context",
    title: "a process holds a context on a GPU that it does not use",
    explanation: "\
The first CUDA call on a GPU opens a context there, which takes some hundred MiB and stays until the process
ends. Code that forgets to choose its GPU first opens one on GPU 0, in every rank: GPU 0 then runs out
although all GPUs do the same work.

Why it happens: torch.load without map_location puts tensors back on the GPU that they were saved from;
torch.cuda.empty_cache(), mem_get_info() or a pinned allocation before set_device; a library that asks every
GPU something.

What helps: choose the GPU before anything else, or let each process see only its own.",
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

fn check(scene: &Scene<'_>) -> Option<Finding> {
    let strays = strays(scene);
    let first = strays.first()?;
    let held = strays.iter().map(|stray| stray.bytes).collect::<Option<Vec<_>>>();
    let held: Option<Bytes> = held.map(|bytes| bytes.into_iter().sum());
    let mut finding = scene.finding(
        CAUSE.id,
        strength(scene, held),
        headline(scene, &strays),
        because(scene, held),
    );
    finding.gives_back = held;
    for stray in &strays {
        let label =
            format!("{} on {}, opened at", scene.tables.process_name(stray.process), stray.device);
        finding.evidence.push(Evidence::text(label, scene.place(stray.stack), Basis::Recorded));
    }
    if let Some(size) = scene.context_size() {
        finding.evidence.push(Evidence::bytes("a context alone takes", size, Basis::Computed));
    }
    finding.remedies = remedies(scene, first);
    Some(finding)
}

/// Without them, the request would have been served. Where nothing failed, they are what there is to say.
fn strength(scene: &Scene<'_>, held: Option<Bytes>) -> Strength {
    if scene.incident.is_none() {
        return Strength::Explains;
    }
    let lacking = scene.situation.lacking().filter(|_| scene.device_ran_out());
    let alone = scene.situation.too_much_alone().unwrap_or(false);
    let covers = lacking.zip(held).is_some_and(|(lacking, held)| held >= lacking && !alone);
    if covers { Strength::Explains } else { Strength::Contributing }
}

fn headline(scene: &Scene<'_>, strays: &[Stray]) -> String {
    match strays {
        [one] => format!(
            "{} holds a context on {} and does not use it",
            scene.tables.process_name(one.process),
            one.device
        ),
        _ => format!(
            "{} processes of this run hold a context on {} and do not use it",
            strays.len(),
            strays.first().map_or(scene.device, |first| first.device)
        ),
    }
}

fn because(scene: &Scene<'_>, held: Option<Bytes>) -> String {
    let missing = scene.situation.missing().filter(|_| scene.device_ran_out());
    match (missing, held) {
        (Some(missing), Some(held)) => format!("{missing}; these contexts take {held}."),
        (None, Some(held)) => {
            format!("Nothing failed here; but {held} was lost to others until the process ended.")
        }
        (Some(missing), None) => format!("{missing}; a context takes some hundred MiB."),
        (None, None) => {
            "Nothing failed here; but a context takes some hundred MiB from others until \
                         its process ends."
                .to_owned()
        }
    }
}

fn remedies(scene: &Scene<'_>, first: &Stray) -> Vec<Remedy> {
    // Of several processes each has its own.
    let (rank, variable) = match scene.incident {
        Some(_) => ("local_rank".to_owned(), "$LOCAL_RANK".to_owned()),
        None => (scene.device.0.to_string(), scene.device.0.to_string()),
    };
    let set_device = match scene.is_compiled(first.stack) {
        true => Remedy::line(format!("cudaSetDevice({rank});"), "before any other CUDA call"),
        false => Remedy::line(
            format!("torch.cuda.set_device({rank})"),
            "before any other CUDA call, in each thread; in C: cudaSetDevice",
        ),
    };
    let own_only = Remedy::line(
        format!("export CUDA_VISIBLE_DEVICES={variable}"),
        "or let a process see only the GPU that it works on, which then is its number 0",
    );
    let load = Remedy::line(
        "torch.load(path, map_location=\"cpu\")",
        "where the context was opened by loading a checkpoint",
    );
    match scene.is_compiled(first.stack) {
        true => vec![set_device, own_only],
        false if opened_by_loading(scene, first.stack) => vec![load, set_device, own_only],
        false => vec![set_device, load, own_only],
    }
}

/// Whether a checkpoint was loaded when the context was opened.
fn opened_by_loading(scene: &Scene<'_>, stack: StackId) -> bool {
    scene.tables.frames(stack).any(|frame| frame.file.ends_with("torch/serialization.py"))
}

/// Where memory ran out: other processes' stray contexts on this device. Elsewhere: this process's own.
fn strays(scene: &Scene<'_>) -> Vec<Stray> {
    if scene.incident.is_none() {
        return own(scene);
    }
    let seen = Neighbours::of(scene).strays;
    let by_number = |(holder, process): &(&Holder, ProcessId)| {
        let stack = context_on(scene, *process, scene.device).map_or(StackId(0), |one| one.stack);
        Stray { process: *process, device: scene.device, stack, bytes: Some(holder.bytes) }
    };
    if scene.situation.processes_listed {
        return seen.iter().map(by_number).collect();
    }
    recorded(scene)
}

/// Those that the recording tells of, where nobody looked who held memory.
fn recorded(scene: &Scene<'_>) -> Vec<Stray> {
    let (device, bytes) = (scene.device, scene.context_size());
    // The context of one that had ended went with it.
    let lives = |facts: &Process| {
        let failed = scene.incident.map(|incident| incident.time);
        facts.exited().zip(failed).is_none_or(|(exited, failed)| exited > failed)
    };
    let others = scene.model.processes().filter(|(process, facts)| {
        *process != scene.process && lives(facts) && works_elsewhere(scene, *process, device)
    });
    let stray = |(process, _)| {
        let stack = context_on(scene, process, device)?.stack;
        Some(Stray { process, device, stack, bytes })
    };
    others.filter_map(stray).collect()
}

/// This process's own, in a run in which nothing failed.
fn own(scene: &Scene<'_>) -> Vec<Stray> {
    let process = scene.process;
    let devices = scene.facts().into_iter().flat_map(|facts| facts.contexts().keys().copied());
    let unused = devices
        .filter(|device| *device != scene.device && works_elsewhere(scene, process, *device));
    let stray = |device| {
        let stack = context_on(scene, process, device)?.stack;
        Some(Stray { process, device, stack, bytes: scene.least_used_on(device) })
    };
    unused.filter_map(stray).collect()
}

/// The open contexts of a process on a device.
fn context_on<'a>(scene: &Scene<'a>, process: ProcessId, device: DeviceId) -> Option<&'a Contexts> {
    let contexts = scene.model.process(process)?.contexts().get(&device)?;
    (!contexts.open.is_empty()).then_some(contexts)
}
