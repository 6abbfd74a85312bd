//! A process that the driver does not list has the device open and can compute on it.

use crate::{
    capture::Process,
    report::{Holder, Origin, Suspicion, SuspicionKind},
    scene::{Scene, listed, named, pids},
};

pub(crate) fn check(scene: &Scene<'_>) -> Option<Suspicion> {
    // Whoever has only started the driver looks the same and holds nothing.
    if !scene.unexplained() {
        return None;
    }
    let open = scene.processes(|holder, _| holder.origin == Origin::HasDeviceOpen);
    let (_, first) = open.first()?;
    let numbers = pids(&open);
    let what = if first.open.unified_memory {
        "Programs that compute have it open and monitors have not"
    } else {
        "Monitors do that too and hold nothing"
    };
    let verb = if open.len() == 1 { "has" } else { "have" };
    Some(Suspicion {
        kind: SuspicionKind::Unlisted,
        headline: format!(
            "{} {verb} {} open and the driver lists no memory for it",
            named(&open),
            scene.gpu()
        ),
        because: format!(
            "PID {} {verb} the device's file open{}. {what}; here memory is in use whose \
             holder is not known, and it may be this one. That is a suspicion, not a proof.",
            listed(&numbers),
            if first.open.unified_memory { ", and the one of unified memory" } else { "" }
        ),
        bytes: None,
        command: command(scene, &open),
        pids: numbers,
    })
}

/// Ending those that can compute; a monitor is not ended on a suspicion.
fn command(scene: &Scene<'_>, open: &[(&Holder, &Process)]) -> Option<String> {
    let can_compute = |(_, process): &&(&Holder, &Process)| process.open.unified_memory;
    let computing: Vec<_> = open.iter().filter(can_compute).copied().collect();
    (!computing.is_empty()).then(|| scene.kill("kill", &computing))
}
