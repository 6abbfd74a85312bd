//! A holder that nobody waits for any longer.

use whyoom_memory::Holder;
use whyoom_trace::{Bytes, Standing, Symptom};

use crate::{
    cause::Cause,
    finding::{Basis, Evidence, Finding, Remedy, Strength, capitalized},
    neighbours::{Neighbours, held, pids},
    scene::Scene,
};

pub(super) const CAUSE: Cause = Cause {
    id: "orphan",
    title: "a process that nobody waits for any longer holds the memory",
    explanation: "\
A process keeps its GPU memory until it has really ended. A worker whose parent has gone, a program whose
first thread ended while others live on, one that hangs in the driver: each still holds what it took, and
nobody is left who would stop it.

What it looks like: memory in use on a GPU on which \"nothing runs\"; a launcher was killed and its workers
were not.

What helps: end them. One that waits in the kernel where ordinary signals do not reach it is often ended by
signal 9; one that waits in the driver by no signal: it goes when that call returns, or with a reset of the GPU
or a restart. A process that the driver lists and the system does not know is not called so: it may run in
another container, or be another user's.",
    check,
};

/// A text that says that memory stays in use though its program has ended.
fn told_by_text(scene: &Scene<'_>) -> Finding {
    let mut finding = scene.finding(
        CAUSE.id,
        Strength::Likely,
        "Memory stays in use after its program's end: a process that was left over holds it",
        "When a process has really ended, the driver takes its memory back. A child or worker of it lives on, or \
         a process has the GPU's files open that nvidia-smi does not list.",
    );
    finding.evidence.push(Evidence::text("message", scene.message(), Basis::Message));
    finding.remedies = vec![
        Remedy::line(
            "sudo whyoom who",
            "names every process that has the GPU open, and which was left over",
        ),
        Remedy::line(
            "sudo fuser -v /dev/nvidia*",
            "the same list, without whyoom; end those that are yours",
        ),
    ];
    finding
}

fn check(scene: &Scene<'_>) -> Option<Finding> {
    if scene.symptom() == Some(Symptom::HeldAfterEnd) {
        return Some(told_by_text(scene));
    }
    if !scene.device_ran_out() {
        return None;
    }
    let orphans = Neighbours::of(scene).lost;
    let held = held(&orphans);
    let largest = *orphans.iter().max_by_key(|holder| holder.bytes)?;
    let strength = if enough(scene, held) { Strength::Explains } else { Strength::Contributing };
    let missing = scene.situation.missing()?;
    let headline = match orphans.len() {
        1 => format!(
            "{} holds {} of this GPU, and {}{}",
            capitalized(&scene.name_of(largest)),
            largest.bytes,
            standing(largest.standing),
            age(scene, largest)
        ),
        count => format!(
            "{count} processes that nobody waits for hold {held} of this GPU; the largest is {} with {}",
            scene.name_of(largest),
            largest.bytes
        ),
    };
    let gives = if orphans.len() == 1 { "its end gives" } else { "their end gives" };
    let because = format!("{missing}; {gives} back {held}.");
    let mut finding = scene.finding(CAUSE.id, strength, headline, because);
    finding.gives_back = Some(held);
    for holder in &orphans {
        let label = format!("how {} stands", scene.name_of(holder));
        let text = format!("{}{}", standing(holder.standing), age(scene, holder));
        finding.evidence.push(Evidence::text(label, text, Basis::Recorded));
    }
    finding.remedies = remedies(&orphans);
    Some(finding)
}

/// Whether the request would have been served without them.
fn enough(scene: &Scene<'_>, held: Bytes) -> bool {
    let alone = scene.situation.too_much_alone().unwrap_or(false);
    !alone && scene.situation.lacking().is_some_and(|lacking| held >= lacking)
}

/// How long it had run, in words that follow how it stands.
fn age(scene: &Scene<'_>, holder: &Holder) -> String {
    scene.age_of(holder).map_or(String::new(), |age| format!("; it has run for {age}"))
}

fn standing(standing: Standing) -> &'static str {
    match standing {
        Standing::Orphan => "its parent has ended",
        Standing::ZombieLeader => "its first thread has ended while others live on",
        Standing::Stuck => "it waits in the GPU's driver, where no signal reaches it",
        Standing::Hangs => "it waits in the kernel, where ordinary signals do not reach it",
        _ => "nothing is known against it",
    }
}

fn remedies(orphans: &[&Holder]) -> Vec<Remedy> {
    let stand = |wanted: Standing| -> Vec<&Holder> {
        orphans.iter().copied().filter(|holder| holder.standing == wanted).collect()
    };
    let mut remedies = Vec::new();
    let abandoned = stand(Standing::Orphan);
    if !abandoned.is_empty() {
        let what = "nobody waits for it any longer; only its own user and root may end it";
        remedies.push(end("kill", &abandoned, what));
        let what = "or: ends all of yours whose parent has gone, after asking";
        let line = Remedy::line("whyoom who --kill-orphans", what);
        remedies.push(line.freeing(held(&abandoned)));
    }
    let leaders = stand(Standing::ZombieLeader);
    if !leaders.is_empty() {
        let what = "ends its other threads too, whatever its first one did";
        remedies.push(end("kill -9", &leaders, what));
    }
    let hanging = stand(Standing::Hangs);
    if !hanging.is_empty() {
        let what = "signal 9 ends such a wait where others do not; if it stays, whyoom who says what it \
                    waits for";
        remedies.push(end("kill -9", &hanging, what));
    }
    let stuck = stand(Standing::Stuck);
    if !stuck.is_empty() {
        let what = format!(
            "no signal ends process {}, which waits in the driver: this says where; if that lasts, only a \
             reset of the GPU (nvidia-smi --gpu-reset) or a restart of the machine frees the memory",
            pids(&stuck)
        );
        remedies.push(Remedy::line("whyoom who", what));
    }
    remedies
}

fn end(command: &str, holders: &[&Holder], what: &str) -> Remedy {
    Remedy::line(format!("{command} {}", pids(holders)), what).freeing(held(holders))
}
