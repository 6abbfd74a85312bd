//! A holder that nobody waits for any longer.

use whyoom_memory::Holder;
use whyoom_trace::{Bytes, ProcessState, Symptom};

use crate::{
    cause::Cause,
    diagnosis::Diagnosis,
    end_processes::{Signal, end_processes},
    finding::{Basis, Evidence, Finding, Remedy, Strength, capitalized},
    other_gpu_processes::{OtherGpuProcesses, held, pids},
};

pub(super) const CAUSE: Cause = Cause {
    id: "orphan",
    title: "an orphaned process holds the memory",
    explanation: "\
A process keeps its GPU memory until it has fully exited. A worker whose parent is gone, a program
whose main thread has exited while other threads run, one that hangs in the driver: each still holds
what it allocated, and nothing is left to stop it.

Symptoms: memory in use on a GPU on which \"nothing runs\"; a launcher was killed and its workers
were not.

What helps: stop them. A process in an uninterruptible wait in the kernel often exits on signal 9.
One that waits in the driver reacts to no signal: it exits when that call returns, or with a GPU
reset or a restart of the machine. A process that the driver lists but the system does not know is
not reported as an orphan: it may run in another container, or belong to another user.",
    check,
};

/// A text that says that memory stays in use though its program has ended.
fn reported_in_text(diagnosis: &Diagnosis<'_>) -> Finding {
    let mut finding = diagnosis.finding(
        CAUSE.id,
        Strength::Likely,
        "Memory stays in use after its program exited: a leftover process holds it",
        "When a process has fully exited, the driver frees its memory. A child or worker of it is \
         still running, or a process that nvidia-smi does not list has the GPU's device files \
         open.",
    );
    finding.evidence.push(Evidence::text("message", diagnosis.message(), Basis::Message));
    finding.remedies = vec![
        Remedy::line(
            "sudo whyoom who",
            "lists every process that has the GPU open, and which of them are leftovers",
        ),
        Remedy::line(
            "sudo fuser -v /dev/nvidia*",
            "the same list, without whyoom; stop those that are yours",
        ),
    ];
    finding
}

fn check(diagnosis: &Diagnosis<'_>) -> Option<Finding> {
    if diagnosis.symptom() == Some(Symptom::HeldAfterEnd) {
        return Some(reported_in_text(diagnosis));
    }
    if !diagnosis.device_ran_out() {
        return None;
    }
    let orphans = OtherGpuProcesses::of(diagnosis).lost;
    let held = held(&orphans);
    let largest = *orphans.iter().max_by_key(|holder| holder.bytes)?;
    let strength =
        if enough(diagnosis, held) { Strength::Explains } else { Strength::Contributing };
    let missing = diagnosis.observed.missing()?;
    let headline = match orphans.len() {
        1 => format!(
            "{} holds {} of this GPU, and {}{}",
            capitalized(&diagnosis.name_of(largest)),
            largest.bytes,
            standing(largest.standing),
            age(diagnosis, largest)
        ),
        count => format!(
            "{count} orphaned processes hold {held} of this GPU; the largest is {} with {}",
            diagnosis.name_of(largest),
            largest.bytes
        ),
    };
    let gives = if orphans.len() == 1 { "stopping it frees" } else { "stopping them frees" };
    let because = format!("{missing}; {gives} {held}.");
    let mut finding = diagnosis.finding(CAUSE.id, strength, headline, because);
    finding.reclaimable = Some(held);
    for holder in &orphans {
        let label = format!("state of {}", diagnosis.name_of(holder));
        let text = format!("{}{}", standing(holder.standing), age(diagnosis, holder));
        finding.evidence.push(Evidence::text(label, text, Basis::Recorded));
    }
    finding.remedies = remedies(diagnosis, &orphans);
    Some(finding)
}

/// Whether the request would have been served without them.
fn enough(diagnosis: &Diagnosis<'_>, held: Bytes) -> bool {
    let alone = diagnosis.observed.too_much_alone().unwrap_or(false);
    !alone && diagnosis.observed.shortfall().is_some_and(|shortfall| held >= shortfall)
}

/// How long it had run, in words that follow how it stands.
fn age(diagnosis: &Diagnosis<'_>, holder: &Holder) -> String {
    diagnosis.age_of(holder).map_or(String::new(), |age| format!("; running for {age}"))
}

fn standing(standing: ProcessState) -> &'static str {
    match standing {
        ProcessState::Orphan => "its parent has exited",
        ProcessState::ZombieLeader => "its main thread has exited while others run",
        ProcessState::Stuck => "it waits in the GPU driver and reacts to no signal",
        ProcessState::Hangs => "it is in an uninterruptible wait in the kernel",
        _ => "no problem is known",
    }
}

fn remedies(diagnosis: &Diagnosis<'_>, orphans: &[&Holder]) -> Vec<Remedy> {
    let stand = |wanted: ProcessState| -> Vec<&Holder> {
        orphans.iter().copied().filter(|holder| holder.standing == wanted).collect()
    };
    let mut remedies = Vec::new();
    let abandoned = stand(ProcessState::Orphan);
    if !abandoned.is_empty() {
        let what = "it is orphaned; only its own user and root may stop it";
        remedies.push(end_processes(diagnosis.origin, Signal::Term, &abandoned, what));
        let what = "or: stops all of your orphaned processes, after asking";
        let line = Remedy::line("whyoom who --kill-orphans", what);
        remedies.push(line.freeing(held(&abandoned)));
    }
    let leaders = stand(ProcessState::ZombieLeader);
    if !leaders.is_empty() {
        let what = "stops its other threads as well";
        remedies.push(end_processes(diagnosis.origin, Signal::Kill, &leaders, what));
    }
    let hanging = stand(ProcessState::Hangs);
    if !hanging.is_empty() {
        let what = "signal 9 may end such a wait when other signals do not; if the process stays, \
                    whyoom who shows what it waits for";
        remedies.push(end_processes(diagnosis.origin, Signal::Kill, &hanging, what));
    }
    let stuck = stand(ProcessState::Stuck);
    if !stuck.is_empty() {
        let what = format!(
            "no signal stops process {}, which waits in the driver: this shows where; if it does \
             not return, only a GPU reset (nvidia-smi --gpu-reset) or a restart of the machine \
             frees the memory",
            pids(&stuck)
        );
        remedies.push(Remedy::line("whyoom who", what));
    }
    remedies
}
