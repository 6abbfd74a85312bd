//! The driver names a process that cannot be seen here.

use crate::{
    capture::{Absent, Viewer},
    report::{Holder, Origin, Suspicion, SuspicionKind},
    scene::{CheckContext, holding, numbered, sum},
};

pub(crate) fn check(scene: &CheckContext<'_>) -> Option<Suspicion> {
    let unseen = |holder: &&Holder| holder.origin == Origin::Ghost;
    let pids: Vec<u32> = scene.holders.iter().filter(unseen).map(|holder| holder.pid).collect();
    let first = *pids.first()?;
    let bytes = sum(scene.holders.iter().filter(unseen));
    let absent = scene.capture.absent.iter().find(|absent| absent.pid == first);
    let reason = reason(absent, &scene.capture.viewer);
    let (verb, state) = if pids.len() == 1 { ("holds", "is") } else { ("hold", "are") };
    let place = match reason {
        Reason::HiddenFromUser => format!("{state} hidden from this user"),
        Reason::OtherNamespace => format!("{state} not in this container"),
        Reason::Gone => "no longer exist".to_owned() + if pids.len() == 1 { "s" } else { "" },
    };
    Some(Suspicion {
        kind: SuspicionKind::Ghost,
        headline: format!(
            "{} {verb} {} according to the driver, but {place}",
            numbered(&pids),
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

fn reason(absent: Option<&Absent>, viewer: &Viewer) -> Reason {
    match absent.and_then(|absent| absent.exists) {
        Some(true) => Reason::HiddenFromUser,
        None if viewer.processes_hidden => Reason::HiddenFromUser,
        // Older drivers tell the machine's own numbers to a container.
        _ if viewer.in_first_namespace() == Some(false) => Reason::OtherNamespace,
        _ => Reason::Gone,
    }
}

fn because(scene: &CheckContext<'_>, reason: Reason, absent: Option<&Absent>) -> String {
    let asked = match absent.and_then(|absent| absent.exists) {
        Some(false) => " and the kernel does not know this PID",
        _ => "",
    };
    match reason {
        Reason::HiddenFromUser => {
            "the kernel knows the PID but /proc does not show it: it belongs \
                                   to another user, and /proc is mounted with hidepid. No command \
                                   of this user frees it; root sees it (sudo whyoom who)."
                .to_owned()
        }
        Reason::OtherNamespace => "this is a container with its own PID namespace, and the PID is \
                                   probably the machine's. No command in here frees it: look from \
                                   the machine itself, or from a container that shares its PID \
                                   namespace (docker run --pid=host)."
            .to_owned(),
        Reason::Gone => format!(
            "there is no /proc entry for it{}. The driver frees the memory of a process that has \
             fully exited, so something still has its files open: a child that inherited them, or \
             a process that received them (sudo fuser -v /dev/nvidia* lists them).{} No signal can \
             be sent to a PID that does not exist; if nothing else uses the GPU, sudo nvidia-smi \
             --gpu-reset -i {} frees it.",
            asked,
            suspects(scene),
            scene.device.index
        ),
    }
}

/// Ending whoever may have inherited the files.
fn command(scene: &CheckContext<'_>, reason: Reason) -> Option<String> {
    let open = scene.processes(|holder, process| {
        holder.origin == Origin::HasDeviceOpen && process.open.unified_memory
    });
    (matches!(reason, Reason::Gone) && !open.is_empty()).then(|| scene.kill("kill", &open))
}

/// Who may have inherited the files.
fn suspects(scene: &CheckContext<'_>) -> String {
    let open = |holder: &&Holder| holder.origin == Origin::HasDeviceOpen;
    let pids: Vec<u32> = scene.holders.iter().filter(open).map(|holder| holder.pid).collect();
    if pids.is_empty() {
        return String::new();
    }
    let (have, are, them) =
        if pids.len() == 1 { ("has", "is", "it") } else { ("have", "are", "them") };
    format!(" {} {have} the device open and {are} not listed: stop {them} first.", numbered(&pids))
}
