//! A process that the driver does not list has the device open and can compute on it.

use crate::{
    capture::Process,
    report::{Holder, Origin, Suspicion, SuspicionKind},
    scene::{CheckContext, named, numbered, pids},
};

pub(crate) fn check(scene: &CheckContext<'_>) -> Option<Suspicion> {
    // Whoever has only started the driver looks the same and holds nothing.
    if !scene.unexplained() {
        return None;
    }
    let open = scene.processes(|holder, _| holder.origin == Origin::HasDeviceOpen);
    let (_, first) = open.first()?;
    let numbers = pids(&open);
    let what = if first.open.unified_memory {
        "Compute programs have it open and monitors do not"
    } else {
        "Monitors do that too and hold nothing"
    };
    let (verb, them, these) = match open.len() {
        1 => ("has", "it", "this process"),
        _ => ("have", "them", "these processes"),
    };
    Some(Suspicion {
        kind: SuspicionKind::Unlisted,
        headline: format!(
            "{} {verb} {} open but the driver lists no memory for {them}",
            named(&open),
            scene.gpu()
        ),
        because: format!(
            "{} {verb} the device file open{}. {what}; memory is in use here whose holder is \
             unknown, and it may belong to {these}. This is a suspicion, not a proof.",
            numbered(&numbers),
            if first.open.unified_memory { ", and the one of unified memory" } else { "" }
        ),
        bytes: None,
        command: command(scene, &open),
        pids: numbers,
    })
}

/// Ending those that can compute; a monitor is not ended on a suspicion.
fn command(scene: &CheckContext<'_>, open: &[(&Holder, &Process)]) -> Option<String> {
    let can_compute = |(_, process): &&(&Holder, &Process)| process.open.unified_memory;
    let computing: Vec<_> = open.iter().filter(can_compute).copied().collect();
    (!computing.is_empty()).then(|| scene.kill("kill", &computing))
}
