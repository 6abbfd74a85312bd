//! Host memory ran out, not the device's.

use whyoom_trace::{Bytes, Counter, Symptom};

use crate::{
    cause::Cause,
    diagnosis::Diagnosis,
    finding::{Basis, Evidence, Finding, Remedy, Strength},
};

pub(super) const CAUSE: Cause = Cause {
    id: "host-oom",
    title: "host memory ran out, not GPU memory",
    explanation: "\
The kernel (or a cgroup: a container, a Slurm step, a Kubernetes pod) killed the program because
host memory ran out, or a host allocation failed. The GPU is not involved.

Symptoms: exit status 137, \"Killed\", exitcode -9; \"Out of memory: Killed process\" in the kernel
log; OOMKilled in Kubernetes; \"oom-kill event\" in Slurm; \"DefaultCPUAllocator: can't allocate
memory\".

Why it happens: every rank loads a checkpoint on the host at the same time, many DataLoader workers
each with its own copy, large prefetch queues, pinned buffers, a container limit far below the
machine's memory.

What helps: fewer workers, less prefetch, memory-mapped loading, a higher limit. Exit status 137
alone means only that signal 9 was sent; the kernel log shows whether memory was the reason.",
    check,
};

fn check(diagnosis: &Diagnosis<'_>) -> Option<Finding> {
    let symptom = diagnosis.symptom()?;
    let counter = |counter| diagnosis.incident.and_then(|incident| incident.counter(counter));
    let resident = counter(Counter::HostResident);
    // What the kubelet calls a threshold is the node's, and no limit of the pod.
    let limit = counter(Counter::HostLimit).filter(|_| !is_eviction(diagnosis.message()));
    let strength = match symptom {
        Symptom::HostKilled | Symptom::HostOutOfMemory => Strength::Decisive,
        Symptom::Killed => Strength::Likely,
        _ => return None,
    };
    let shared =
        diagnosis.message().contains("shared memory") || diagnosis.message().contains("/dev/shm");
    let headline = match symptom {
        _ if shared => "The shared memory of the data workers (/dev/shm) is full".to_owned(),
        Symptom::HostKilled => killed(diagnosis.message(), limit),
        Symptom::HostOutOfMemory => "Host memory ran out, not GPU memory".to_owned(),
        _ => "Signal 9 killed the program, most likely because host memory ran out".to_owned(),
    };
    let because = match (resident, limit, diagnosis.observed.requested) {
        (Some(resident), Some(limit), _) => format!(
            "It held {resident} of host memory when it was killed; the limit is {limit} for all \
             processes of its container or job."
        ),
        (Some(resident), None, _) => {
            format!("It held {resident} of host memory when it was killed.")
        }
        (None, Some(limit), _) => {
            format!("Its container or job is limited to {limit} of host memory.")
        }
        (None, None, Some(requested)) => format!("A request of {requested} of host memory failed."),
        (None, None, None) => "The message is about the host; it gives no sizes.".to_owned(),
    };
    // A recording's figures come from the control group that it was made in.
    let basis = if diagnosis.process().is_some() { Basis::Recorded } else { Basis::Message };
    let mut finding = diagnosis.finding(CAUSE.id, strength, headline, because);
    finding.reclaimable = resident;
    let figures = [("host memory held", resident), ("host limit", limit)];
    let figures = figures.into_iter().filter_map(|(label, bytes)| Some((label, bytes?)));
    finding.evidence.extend(figures.map(|(label, bytes)| Evidence::bytes(label, bytes, basis)));
    finding.evidence.push(Evidence::text("message", diagnosis.message(), Basis::Message));
    if symptom == Symptom::Killed {
        let what = "shows whether the kernel killed it for memory";
        finding.remedies.push(Remedy::line("dmesg -T | grep -iE 'oom|killed process'", what));
    }
    if shared {
        let what =
            "a larger /dev/shm for the container (Kubernetes: an emptyDir with medium: Memory)";
        finding.remedies.push(Remedy::example("docker run --shm-size=8g ...", what));
    }
    if diagnosis.setting("wsl").is_some() {
        let what = "under [wsl2] in %UserProfile%\\.wslconfig, then wsl --shutdown: by default WSL \
                    gets half of the machine's memory";
        finding.remedies.push(Remedy::line("memory=24GB", what));
    }
    finding.remedies.extend([
        Remedy::example(
            "DataLoader(..., num_workers=2, prefetch_factor=2)",
            "fewer workers and less prefetch: each worker holds its own copies",
        ),
        Remedy::example(
            "torch.load(path, map_location=\"cpu\", mmap=True)",
            "do not read an entire checkpoint into host memory in every process",
        ),
    ]);
    let raise = Remedy::advice(more(diagnosis.message(), limit));
    let is_first = limit.is_some() || is_eviction(diagnosis.message());
    let position = if is_first { 0 } else { finding.remedies.len() };
    finding.remedies.insert(position, raise);
    Some(finding)
}

fn is_eviction(message: &str) -> bool {
    message.contains("low on resource")
}

/// Whether the machine itself ran out, as the kernel tells it: no limit would have helped.
fn is_of_machine(message: &str) -> bool {
    message.contains("Out of memory: Killed process") || message.contains("CONSTRAINT_NONE")
}

/// Where there is more to be had.
fn more(message: &str, limit: Option<Bytes>) -> String {
    if let Some(limit) = limit {
        return format!(
            "raise the limit of {limit}, the memory limit of the container, pod or job, where it is set: \
             docker run --memory, a pod's resources.limits.memory, Slurm's --mem"
        );
    }
    let words = if is_eviction(message) {
        "set the pod's resources.requests.memory to what it uses: pods that use more than they \
         requested are evicted first"
    } else if is_of_machine(message) {
        "run fewer jobs on the machine at a time, or limit each: the machine's memory ran out, not a \
         limit"
    } else {
        "raise the memory limit of the container, pod or job (docker run --memory, a pod's \
         resources.limits.memory, Slurm's --mem)"
    };
    words.to_owned()
}

/// What the kernel killed the program for: a limit, or the machine's memory.
fn killed(message: &str, limit: Option<Bytes>) -> String {
    // What these print, only a cgroup's limit leads to; a node that runs out is rarely told this way.
    let of_cgroup = ["Memory cgroup", "oom_kill event", "oom-kill event", "OOMKilled", "OUT_OF_ME"];
    let cgroup = of_cgroup.iter().any(|words| message.contains(words));
    match limit {
        Some(limit) => format!(
            "The kernel killed the program at the limit of {limit} of its container or job: host \
             memory, not GPU memory"
        ),
        None if is_eviction(message) => {
            "The kubelet evicted the pod because its node ran low on host memory, not GPU memory"
                .to_owned()
        }
        None if cgroup => "The kernel killed the program at the memory limit of its container or \
                           job: host memory, not GPU memory"
            .to_owned(),
        None => {
            "The kernel killed the program because host memory ran out, not GPU memory".to_owned()
        }
    }
}
