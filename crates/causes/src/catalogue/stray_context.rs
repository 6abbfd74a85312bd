//! A process holds a context on a device that it does not use.

use whyoom_memory::{Incident, Space};
use whyoom_trace::{Bytes, DeviceId, ProcessId, StackId};

use crate::{
    cause::Cause,
    finding::{Basis, Evidence, Finding, Remedy, Strength},
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

/// A peak below this share of the process's largest says that the device is not used.
const UNUSED: f64 = 0.01;

/// A context where nothing is done.
struct Stray {
    process: ProcessId,
    device: DeviceId,
    stack: StackId,
}

fn check(scene: &Scene<'_>) -> Option<Finding> {
    let strays = strays(scene);
    let first = strays.first()?;
    let lacking = scene.situation.lacking().filter(|_| scene.device_ran_out());
    let context = scene.own_context();
    let held = context.map(|context| Bytes(context.0 * strays.len() as u64));
    let explains = lacking.zip(held).is_some_and(|(lacking, held)| held >= lacking);
    let strength = if explains { Strength::Explains } else { Strength::Contributing };
    let whose = scene.tables.process_name(first.process);
    let headline = match strays.len() {
        1 => format!("{whose} holds a context on {} and does not use it", first.device),
        count => format!(
            "{count} contexts are open where nothing is done, the first on {}",
            first.device
        ),
    };
    let because = "A context takes some hundred MiB and stays until its process ends.";
    let mut finding = scene.finding(CAUSE.id, strength, headline, because);
    finding.gives_back = held;
    for stray in &strays {
        let label =
            format!("{} on {}, opened at", scene.tables.process_name(stray.process), stray.device);
        finding.evidence.push(Evidence::text(label, scene.place(stray.stack), Basis::Recorded));
    }
    if let Some(context) = context {
        finding.evidence.push(Evidence::bytes("a context takes about", context, Basis::Computed));
    }
    finding.remedies = vec![
        Remedy::line(
            "torch.cuda.set_device(local_rank)",
            "before any other CUDA call; in C: cudaSetDevice",
        ),
        Remedy::line(
            "torch.load(path, map_location=\"cpu\")",
            "where the context was opened by loading a checkpoint",
        ),
    ];
    Some(finding)
}

/// Where memory ran out: other processes' stray contexts on this device. Elsewhere: this process's own.
fn strays(scene: &Scene<'_>) -> Vec<Stray> {
    let model = scene.model;
    let mut strays = Vec::new();
    for (process, facts) in model.processes() {
        // Its context went with it.
        let ended_before =
            |incident: &Incident| facts.exited().is_some_and(|at| at <= incident.time);
        if scene.incident.is_some_and(ended_before) {
            continue;
        }
        let open = facts.contexts().iter().filter(|(_, contexts)| !contexts.open.is_empty());
        for (&device, contexts) in open {
            let concerned = match scene.incident {
                Some(_) => process != scene.process && device == scene.device,
                None => process == scene.process && device != scene.device,
            };
            if concerned && is_stray(scene, process, device) {
                strays.push(Stray { process, device, stack: contexts.stack });
            }
        }
    }
    strays
}

/// Whether next to nothing was ever taken there, while the process works elsewhere.
fn is_stray(scene: &Scene<'_>, process: ProcessId, device: DeviceId) -> bool {
    let peak = |space: &Space| space.peak().0.allocated;
    let here = scene.model.space(process, device).map_or(Bytes::ZERO, peak);
    let spaces = scene
        .model
        .spaces()
        .filter(|(other, on, _)| *other == process && *on != device && *on != DeviceId::HOST);
    let elsewhere = spaces.map(|(_, _, space)| peak(space)).max().unwrap_or_default();
    elsewhere > Bytes::ZERO && here.share_of(elsewhere) < UNUSED
}
