//! Memory is in use that no process accounts for.

use crate::{
    cause::Cause,
    finding::{Basis, Evidence, Finding, Remedy, Strength},
    scene::Scene,
    situation::CONTEXT_ALLOWANCE,
};

pub(super) const CAUSE: Cause = Cause {
    id: "unseen-holder",
    title: "memory is in use that no process in sight accounts for",
    explanation: "\
What the device has in use is far more than this process and all those that could be seen hold together.
Somebody holds the rest who cannot be seen from here.

Why it happens: the run is in a container and the holder is not, or the other way round; the driver lists
processes only to those who may see them; an MPS server holds the memory of its clients; the GPU is cut into
MIG slices; a process is just being torn down.

What helps: look from the host, as root. Only then is it worth restarting anything.",
    check,
};

fn check(scene: &Scene<'_>) -> Option<Finding> {
    let situation = &scene.situation;
    if !scene.device_ran_out() || !scene.was_recorded() || !situation.processes_listed {
        return None;
    }
    let (lacking, capacity) = (situation.lacking()?, situation.capacity?);
    let unseen = situation.unexplained()?.minus(CONTEXT_ALLOWANCE);
    if unseen < lacking || unseen.share_of(capacity) < 0.05 {
        return None;
    }
    let mut finding = scene.finding(
        CAUSE.id,
        Strength::Explains,
        format!("About {unseen} of this GPU is held by somebody who cannot be seen from here"),
        format!(
            "{}; of the {} in use, this process and {} others account for the rest.",
            situation.missing()?,
            capacity.minus(situation.free?),
            situation.others.len()
        ),
    );
    finding.gives_back = Some(unseen);
    let label = "held by nobody in sight, less 1 GiB for the driver";
    finding.evidence.push(Evidence::bytes(label, unseen, Basis::Computed));
    finding.remedies = vec![Remedy::line(
        "sudo whyoom who",
        "on the host, outside any container: it lists every process that has the GPU open, MPS and MIG",
    )];
    Some(finding)
}
