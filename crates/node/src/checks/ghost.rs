//! The driver names a process that cannot be seen here.

use crate::{
    capture::{Absent, Observer},
    report::{Holder, Origin, Suspicion, SuspicionKind},
    scene::{Scene, holding, listed, sum},
};

pub(crate) fn check(scene: &Scene<'_>) -> Option<Suspicion> {
    let unseen = |holder: &&Holder| holder.origin == Origin::Ghost;
    let pids: Vec<u32> = scene.holders.iter().filter(unseen).map(|holder| holder.pid).collect();
    let first = *pids.first()?;
    let bytes = sum(scene.holders.iter().filter(unseen));
    let absent = scene.capture.absent.iter().find(|absent| absent.pid == first);
    let reason = reason(absent, &scene.capture.observer);
    let what = if pids.len() == 1 { "PID" } else { "PIDs" };
    let (verb, state) = if pids.len() == 1 { ("holds", "is") } else { ("hold", "are") };
    let place = match reason {
        Reason::HiddenFromUser => format!("{state} hidden from this user"),
        Reason::OtherNamespace => format!("{state} not in this container"),
        Reason::Gone => "no longer exist".to_owned() + if pids.len() == 1 { "s" } else { "" },
    };
    Some(Suspicion {
        kind: SuspicionKind::Ghost,
        headline: format!(
            "{what} {} {verb} {}, the driver says, and {place}",
            listed(&pids),
            holding(bytes)
        ),
        because: because(scene, reason, absent),
        bytes,
        command: command(scene, reason),
        pids,
    })
}

/// Why a process cannot be seen.
#[derive(Clone, Copy)]
enum Reason {
    HiddenFromUser,
    OtherNamespace,
    Gone,
}

fn reason(absent: Option<&Absent>, observer: &Observer) -> Reason {
    match absent.and_then(|absent| absent.exists) {
        Some(true) => Reason::HiddenFromUser,
        None if observer.processes_hidden => Reason::HiddenFromUser,
        // Older drivers tell the machine's own numbers to a container.
        _ if observer.in_first_namespace() == Some(false) => Reason::OtherNamespace,
        _ => Reason::Gone,
    }
}

fn because(scene: &Scene<'_>, reason: Reason, absent: Option<&Absent>) -> String {
    let asked = match absent.and_then(|absent| absent.exists) {
        Some(false) => " and the kernel does not know the number",
        _ => "",
    };
    match reason {
        Reason::HiddenFromUser => "the kernel knows the number and /proc does not show it: it is another \
            user's, and /proc is mounted with hidepid. No command of this user's frees it; root sees it \
            (sudo whyoom who)."
            .to_owned(),
        Reason::OtherNamespace => "this is a container with process numbers of its own, and the number is \
            probably the machine's. No command in here frees it: look from the machine itself, or from a \
            container that shares its numbers (docker run --pid=host)."
            .to_owned(),
        Reason::Gone => format!(
            "there is no /proc entry for it{}. The driver frees the \
             memory of a process that has really ended, so something still has its files open: a child \
             that inherited them, or a process that they were passed to (sudo fuser -v /dev/nvidia* lists \
             them).{} No signal can be sent to a \
             number that nobody has; where nobody else is on the GPU, sudo nvidia-smi --gpu-reset -i {} \
             frees it.",
            asked,
            suspects(scene),
            scene.device.index
        ),
    }
}

/// Ending whoever may have inherited the files.
fn command(scene: &Scene<'_>, reason: Reason) -> Option<String> {
    let open = scene.processes(|holder, process| {
        holder.origin == Origin::HasDeviceOpen && process.open.unified_memory
    });
    (matches!(reason, Reason::Gone) && !open.is_empty()).then(|| scene.kill("kill", &open))
}

/// Who may have inherited the files.
fn suspects(scene: &Scene<'_>) -> String {
    let open = |holder: &&Holder| holder.origin == Origin::HasDeviceOpen;
    let pids: Vec<u32> = scene.holders.iter().filter(open).map(|holder| holder.pid).collect();
    if pids.is_empty() {
        return String::new();
    }
    format!(" PIDs {} have the device open and are not listed: end those first.", listed(&pids))
}
