//! Host memory ran out, not the device's.

use whyoom_trace::{Counter, Symptom};

use crate::{
    cause::Cause,
    finding::{Basis, Evidence, Finding, Remedy, Strength},
    scene::Scene,
};

pub(super) const CAUSE: Cause = Cause {
    id: "host-oom",
    title: "the machine's own memory ran out, not the GPU's",
    explanation: "\
The kernel (or a cgroup: a container, a Slurm step, a Kubernetes pod) killed the program because host
memory ran out, or the program could not get host memory. The GPU has nothing to do with it.

What it looks like: exit status 137, \"Killed\", exitcode -9; \"Out of memory: Killed process\" in the
kernel's log; OOMKilled in Kubernetes; \"oom-kill event\" in Slurm; \"DefaultCPUAllocator: can't
allocate memory\".

Why it happens: checkpoints loaded on the host by every rank at once, many DataLoader workers each
with its own copy, large prefetch queues, pinned buffers, a container limit far below the machine's.

What helps: fewer workers, less prefetch, memory-mapped loading, a higher limit. Exit status 137 alone
says only that signal 9 was sent; the kernel's log says whether it was for memory.",
    check,
};

fn check(scene: &Scene<'_>) -> Option<Finding> {
    let symptom = scene.symptom()?;
    let counter = |counter| scene.incident.and_then(|incident| incident.counter(counter));
    let resident = counter(Counter::HostResident);
    let (strength, headline) = match symptom {
        Symptom::HostKilled => {
            (Strength::Decisive, "The kernel killed the program for host memory, not GPU memory")
        }
        Symptom::HostOutOfMemory => (Strength::Decisive, "Host memory ran out, not GPU memory"),
        Symptom::Killed => {
            (Strength::Likely, "The program was killed by signal 9, most likely for host memory")
        }
        _ => return None,
    };
    let shared = scene.message().contains("shared memory") || scene.message().contains("/dev/shm");
    let headline =
        if shared { "The shared memory of the data workers (/dev/shm) is full" } else { headline };
    let limit = counter(Counter::HostLimit);
    let because = match (resident, limit, scene.situation.requested) {
        (Some(resident), Some(limit), _) => format!(
            "It held {resident} of host memory when it was killed, and its container or job may have {limit}."
        ),
        (Some(resident), None, _) => {
            format!("It held {resident} of host memory when it was killed.")
        }
        (None, Some(limit), _) => format!("Its container or job may have {limit} of host memory."),
        (None, None, Some(requested)) => format!("A request of {requested} of host memory failed."),
        (None, None, None) => "The message speaks of the host; it gives no sizes.".to_owned(),
    };
    // A recording's figures come from the control group that it was made in.
    let basis = if scene.facts().is_some() { Basis::Recorded } else { Basis::Message };
    let mut finding = scene.finding(CAUSE.id, strength, headline, because);
    finding.gives_back = resident;
    let figures = [("host memory held", resident), ("host limit", limit)];
    let figures = figures.into_iter().filter_map(|(label, bytes)| Some((label, bytes?)));
    finding.evidence.extend(figures.map(|(label, bytes)| Evidence::bytes(label, bytes, basis)));
    finding.evidence.push(Evidence::text("message", scene.message(), Basis::Message));
    if symptom == Symptom::Killed {
        let what = "see whether the kernel killed it for memory";
        finding.remedies.push(Remedy::line("dmesg -T | grep -iE 'oom|killed process'", what));
    }
    if shared {
        let what =
            "a larger /dev/shm for the container (Kubernetes: an emptyDir with medium: Memory)";
        finding.remedies.push(Remedy::line("docker run --shm-size=8g ...", what));
    }
    if scene.setting("wsl").is_some() {
        let what = "under [wsl2] in %UserProfile%\\.wslconfig, then wsl --shutdown: WSL has half of the \
                    machine's memory unless told otherwise";
        finding.remedies.push(Remedy::line("memory=24GB", what));
    }
    finding.remedies.extend([
        Remedy::line(
            "DataLoader(..., num_workers=2, prefetch_factor=2)",
            "fewer workers and less prefetch: each worker holds its own copies",
        ),
        Remedy::line(
            "torch.load(path, map_location=\"cpu\", mmap=True)",
            "do not read a whole checkpoint into host memory in every process",
        ),
    ]);
    let raise = match limit {
        Some(limit) => format!(
            "raise the limit of {limit} where it is set: docker run --memory, a pod's \
             resources.limits.memory, Slurm's --mem"
        ),
        None => {
            "raise the memory limit of the container, pod or job (docker run --memory, a pod's \
                 resources.limits.memory, Slurm's --mem)"
                .to_owned()
        }
    };
    let place = if limit.is_some() { 0 } else { finding.remedies.len() };
    finding.remedies.insert(place, Remedy::advice(raise));
    Some(finding)
}
