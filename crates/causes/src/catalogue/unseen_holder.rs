//! Memory is in use that no process accounts for.

use whyoom_memory::Holder;
use whyoom_trace::Bytes;

use crate::{
    cause::Cause,
    diagnosis::Diagnosis,
    finding::{Basis, Evidence, Finding, Remedy, Strength},
    other_gpu_processes::{OtherGpuProcesses, held, pids},
};

pub(super) const CAUSE: Cause = Cause {
    id: "unseen-holder",
    title: "memory is in use that no visible process accounts for",
    explanation: "\
The device has far more in use than this process and all visible processes hold together. Something
that is not visible from here holds the rest.

Why it happens: the run is in a container and the holder is not, or vice versa; the driver lists
processes only to users with the required permission; an MPS server holds the memory of its clients;
the GPU is divided into MIG slices; a process has exited while another one keeps its files open:
then the driver lists a PID that the system does not know.

What helps: look from the host, as root. Only then consider restarting anything.",
    check,
};

/// What the driver keeps for itself and its clients and counts as nobody's: a few hundred MiB where that was
/// measured; a message's figures may hide more.
const NORMAL: Bytes = Bytes(512 << 20);
const NORMAL_IN_MESSAGE: Bytes = Bytes(1 << 30);
/// A smaller share of the device is no riddle either.
const LEAST_SHARE: f64 = 0.05;

fn check(diagnosis: &Diagnosis<'_>) -> Option<Finding> {
    let observed = &diagnosis.observed;
    // A message names this process's use only where it asked who uses the GPU.
    let asked = diagnosis.was_recorded() || observed.process_used.is_some();
    let listed = observed.processes_listed && asked || diagnosis.nobody_was_listed();
    if !diagnosis.device_ran_out() || !listed {
        return None;
    }
    let (shortfall, capacity) = (observed.shortfall()?, observed.capacity?);
    let ghosts = OtherGpuProcesses::of(diagnosis).ghosts;
    let normal = if diagnosis.was_recorded() { NORMAL } else { NORMAL_IN_MESSAGE };
    let nobodys = diagnosis.unseen()?;
    let nobodys = if nobodys < normal { Bytes::ZERO } else { nobodys };
    let unseen = nobodys.plus(held(&ghosts));
    if unseen < shortfall || unseen.share_of(capacity) < LEAST_SHARE {
        return None;
    }
    let alone = observed.too_much_alone().unwrap_or(false);
    let strength = if alone { Strength::Contributing } else { Strength::Explains };
    let because = format!(
        "{}; of the {} in use, {}.",
        observed.missing()?,
        capacity.minus(observed.free?),
        accounted(diagnosis)
    );
    let mut finding = diagnosis.finding(CAUSE.id, strength, headline(unseen, &ghosts), because);
    finding.reclaimable = Some(unseen);
    if nobodys > Bytes::ZERO {
        let label = "in use by no visible process";
        finding.evidence.push(Evidence::bytes(label, nobodys, Basis::Computed));
    }
    finding.remedies = remedies(&ghosts);
    Some(finding)
}

fn headline(unseen: Bytes, ghosts: &[&Holder]) -> String {
    match ghosts {
        [] => format!("{unseen} of this GPU is held by a process that is not visible from here"),
        [ghost] if ghost.bytes == unseen => format!(
            "Process {} holds {unseen} of this GPU, but is not visible from here",
            ghost.pid
        ),
        [ghost, ..] => format!(
            "{unseen} of this GPU is held by processes that are not visible from here, {} of it by \
             process {}",
            ghost.bytes, ghost.pid
        ),
    }
}

/// Who has the rest.
fn accounted(diagnosis: &Diagnosis<'_>) -> String {
    let observed = &diagnosis.observed;
    let visible = observed.others.len() - OtherGpuProcesses::of(diagnosis).ghosts.len();
    let others = match visible {
        0 => "and no other process is listed".to_owned(),
        1 => "one other process accounts for part of the rest".to_owned(),
        count => format!("{count} other processes account for part of the rest"),
    };
    match observed.process_used {
        Some(own) => format!("this process has {own}, {others}"),
        None => format!("this process has part of it, {others}"),
    }
}

fn remedies(ghosts: &[&Holder]) -> Vec<Remedy> {
    let mut remedies = vec![Remedy::line(
        "sudo whyoom who",
        "on the host, outside any container (or in one started with --pid=host): it lists every \
         process that has the GPU open, MPS and MIG",
    )];
    if !ghosts.is_empty() {
        let what = format!(
            "on the host: shows which processes have the GPU's device files open. Process {} runs \
             outside this container, or has exited while another one keeps its files open",
            pids(ghosts)
        );
        remedies.push(Remedy::line("sudo fuser -v /dev/nvidia*", what));
    }
    remedies
}
