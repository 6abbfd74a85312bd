//! Memory in use that nothing explains.

use whyoom_trace::Bytes;

use crate::{
    report::{Suspicion, SuspicionKind},
    residual,
    scene::{Scene, listed},
};

/// Products whose memory is also the machine's: pages stay with the GPU after a process has ended.
const SHARED_MEMORY: &[&str] = &["GH200", "GB200", "GB300", "GB10"];

pub(crate) fn check(scene: &Scene<'_>) -> Option<Suspicion> {
    // In a container the likely explanation has a check of its own.
    let apart = scene.capture.observer.in_first_namespace() == Some(false);
    (!apart && residual::is_suspicious(scene.device)).then(|| Suspicion {
        kind: SuspicionKind::Residual,
        headline: format!(
            "{} of {} are in use and no listed process accounts for them",
            Bytes(scene.residual),
            scene.gpu()
        ),
        because: because(scene),
        bytes: Some(scene.residual),
        command: None,
        pids: scene.capture.library_users.clone(),
    })
}

fn because(scene: &Scene<'_>) -> String {
    let memory = scene.device.memory;
    let sum = Bytes(scene.taken()).minus(Bytes(scene.residual));
    let kept = memory.reserved.map_or_else(
        || "an unknown part of it kept by the driver".to_owned(),
        |reserved| format!("{} of it kept by the driver", Bytes(reserved)),
    );
    let listed = match &scene.device.processes {
        Some(processes) => format!("{} listed processes hold {sum}", processes.len()),
        None => "the driver lists no processes on this device".to_owned(),
    };
    format!(
        "{} are in use, {kept}, and {listed}. Up to {} beside the lists is normal: page tables and \
         what the driver keeps for each client. {}",
        Bytes(memory.used),
        Bytes(residual::normal(scene.device)),
        suspects(scene)
    )
}

/// Where to look next; nothing of it is proved.
fn suspects(scene: &Scene<'_>) -> String {
    let users = &scene.capture.library_users;
    let denied = scene.capture.unread.files_denied;
    if SHARED_MEMORY.iter().any(|product| scene.device.name.contains(product)) {
        "On this product pages may stay with the GPU after a process has ended: that is no leak."
            .into()
    } else if scene.capture.observer.under_windows {
        "Programs of Windows use the GPU too and cannot be seen from here.".into()
    } else if !users.is_empty() {
        format!(
            "PIDs {} have the driver's library loaded and are not listed: look there.",
            listed(users)
        )
    } else if denied > 0 {
        format!(
            "{denied} processes may not be looked into by this user: sudo whyoom who sees more."
        )
    } else {
        "No process that can be seen has the device open; a virtual machine, a driver that \
         keeps memory, or a kernel module may. A reset of the GPU frees it where nobody uses it."
            .into()
    }
}
