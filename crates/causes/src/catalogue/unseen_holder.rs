//! Memory is in use that no process accounts for.

use whyoom_memory::Holder;
use whyoom_trace::Bytes;

use crate::{
    cause::Cause,
    finding::{Basis, Evidence, Finding, Remedy, Strength},
    neighbours::{Neighbours, held, pids},
    scene::Scene,
};

pub(super) const CAUSE: Cause = Cause {
    id: "unseen-holder",
    title: "memory is in use that no process in sight accounts for",
    explanation: "\
What the device has in use is far more than this process and all those that could be seen hold together.
Somebody holds the rest who cannot be seen from here.

Why it happens: the run is in a container and the holder is not, or the other way round; the driver lists
processes only to those who may see them; an MPS server holds the memory of its clients; the GPU is cut into
MIG slices; a process has ended while somebody keeps its files open: then the driver lists a number that the
system does not know.

What helps: look from the host, as root. Only then is it worth restarting anything.",
    check,
};

/// What the driver keeps for itself and its clients and counts as nobody's: some hundred MiB where that was
/// measured; a message's figures may hide more.
const NORMAL: Bytes = Bytes(512 << 20);
const NORMAL_IN_MESSAGE: Bytes = Bytes(1 << 30);
/// A smaller share of the device is no riddle either.
const LEAST_SHARE: f64 = 0.05;

fn check(scene: &Scene<'_>) -> Option<Finding> {
    let situation = &scene.situation;
    // A message names this process's use only where it asked who uses the GPU.
    let asked = scene.was_recorded() || situation.process_used.is_some();
    let listed = situation.processes_listed && asked || scene.nobody_was_listed();
    if !scene.device_ran_out() || !listed {
        return None;
    }
    let (lacking, capacity) = (situation.lacking()?, situation.capacity?);
    let ghosts = Neighbours::of(scene).ghosts;
    let normal = if scene.was_recorded() { NORMAL } else { NORMAL_IN_MESSAGE };
    let nobodys = scene.unseen()?;
    let nobodys = if nobodys < normal { Bytes::ZERO } else { nobodys };
    let unseen = nobodys.plus(held(&ghosts));
    if unseen < lacking || unseen.share_of(capacity) < LEAST_SHARE {
        return None;
    }
    let alone = situation.too_much_alone().unwrap_or(false);
    let strength = if alone { Strength::Contributing } else { Strength::Explains };
    let because = format!(
        "{}; of the {} in use, {}.",
        situation.missing()?,
        capacity.minus(situation.free?),
        accounted(scene)
    );
    let mut finding = scene.finding(CAUSE.id, strength, headline(unseen, &ghosts), because);
    finding.gives_back = Some(unseen);
    if nobodys > Bytes::ZERO {
        let label = "in use and accounted to nobody";
        finding.evidence.push(Evidence::bytes(label, nobodys, Basis::Computed));
    }
    finding.remedies = remedies(&ghosts);
    Some(finding)
}

fn headline(unseen: Bytes, ghosts: &[&Holder]) -> String {
    match ghosts {
        [] => format!("{unseen} of this GPU is held by somebody who cannot be seen from here"),
        [ghost] if ghost.bytes == unseen => format!(
            "Process {} holds {unseen} of this GPU, and no such process can be seen from here",
            ghost.pid
        ),
        [ghost, ..] => format!(
            "{unseen} of this GPU is held by somebody who cannot be seen from here, {} of it by process {}",
            ghost.bytes, ghost.pid
        ),
    }
}

/// Who has the rest.
fn accounted(scene: &Scene<'_>) -> String {
    let situation = &scene.situation;
    let visible = situation.others.len() - Neighbours::of(scene).ghosts.len();
    let others = match visible {
        0 => "and nobody else is listed".to_owned(),
        1 => "one other process accounts for a part".to_owned(),
        count => format!("{count} other processes account for a part"),
    };
    match situation.process_used {
        Some(own) => format!("this process has {own}, {others}"),
        None => format!("this process has a part, {others}"),
    }
}

fn remedies(ghosts: &[&Holder]) -> Vec<Remedy> {
    let mut remedies = vec![Remedy::line(
        "sudo whyoom who",
        "on the host, outside any container (or in one that was started with --pid=host): it lists every \
         process that has the GPU open, MPS and MIG",
    )];
    if !ghosts.is_empty() {
        let what = format!(
            "on the host: who has the GPU's files open. Process {} runs outside this container, or has \
             ended while another keeps its files open",
            pids(ghosts)
        );
        remedies.push(Remedy::line("sudo fuser -v /dev/nvidia*", what));
    }
    remedies
}
