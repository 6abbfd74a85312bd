//! A holder that nobody waits for any longer.

use whyoom_memory::Holder;
use whyoom_trace::{Bytes, Standing};

use crate::{
    cause::Cause,
    finding::{Basis, Evidence, Finding, Remedy, Strength},
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

What helps: end them. A process in uninterruptible sleep cannot be ended by anyone: it goes when the driver
call that it waits in returns, or with a reset of the GPU or a restart. A process that the driver lists and
the system does not know is not called so: it may run in another container, or be another user's.",
    check,
};

fn check(scene: &Scene<'_>) -> Option<Finding> {
    if !scene.device_ran_out() {
        return None;
    }
    let (orphans, held) = orphans(scene);
    let largest = *orphans.iter().max_by_key(|holder| holder.bytes)?;
    let strength = if enough(scene) { Strength::Explains } else { Strength::Contributing };
    let missing = scene.situation.missing()?;
    let headline = match orphans.len() {
        1 => format!(
            "{} holds {} of this GPU, and {}",
            scene.name_of(largest),
            largest.bytes,
            standing(largest.standing)
        ),
        count => format!(
            "{count} processes that nobody waits for hold {held} of this GPU; the largest is {} with {}",
            scene.name_of(largest),
            largest.bytes
        ),
    };
    let because = format!("{missing}; they would give back {held}.");
    let mut finding = scene.finding(CAUSE.id, strength, headline, because);
    finding.gives_back = Some(held);
    for holder in &orphans {
        let label = format!("how {} stands", scene.name_of(holder));
        finding.evidence.push(Evidence::text(label, standing(holder.standing), Basis::Recorded));
    }
    finding.remedies = remedies(&orphans, held);
    Some(finding)
}

/// The holders that nobody waits for, and what they hold.
fn orphans<'a>(scene: &'a Scene<'_>) -> (Vec<&'a Holder>, Bytes) {
    // One that the system does not know may run in another container, or be another user's.
    let is_orphan = |holder: &&Holder| {
        !matches!(holder.standing, Standing::Untold | Standing::Runs | Standing::Ghost)
    };
    let orphans: Vec<&Holder> = scene.situation.others.iter().filter(is_orphan).collect();
    let held = orphans.iter().map(|holder| holder.bytes).sum();
    (orphans, held)
}

/// Whether the request would have been served without them.
pub(super) fn enough(scene: &Scene<'_>) -> bool {
    let (orphans, held) = orphans(scene);
    let alone = scene.situation.too_much_alone().unwrap_or(false);
    !orphans.is_empty()
        && !alone
        && scene.situation.lacking().is_some_and(|lacking| held >= lacking)
}

fn standing(standing: Standing) -> &'static str {
    match standing {
        Standing::Orphan => "its parent has ended",
        Standing::ZombieLeader => "its first thread has ended while others live on",
        Standing::Stuck => "it is in uninterruptible sleep",
        _ => "nothing is known against it",
    }
}

fn remedies(orphans: &[&Holder], held: Bytes) -> Vec<Remedy> {
    let stands = |wanted: Standing| orphans.iter().find(|holder| holder.standing == wanted);
    let mut remedies = Vec::new();
    if stands(Standing::Orphan).is_some() {
        let what = "ends those of yours whose parent has gone, after asking";
        remedies.push(Remedy::line("whyoom who --kill-orphans", what).freeing(held));
    }
    if let Some(leader) = stands(Standing::ZombieLeader) {
        let what = "ends its other threads too, whatever its first one did";
        remedies.push(Remedy::line(format!("kill -9 {}", leader.pid), what).freeing(leader.bytes));
    }
    if stands(Standing::Stuck).is_some() {
        let what = "nothing ends a process in uninterruptible sleep: see what it waits for; then a \
                    reset of the GPU (nvidia-smi --gpu-reset) or a restart of the machine";
        remedies.push(Remedy::line("whyoom who", what));
    }
    remedies
}
