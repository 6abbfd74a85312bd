//! Memory in use that nothing explains.

use whyoom_trace::Bytes;

use crate::{
    products::is_memory_shared,
    report::{Suspicion, SuspicionKind},
    residual,
    scene::{CheckContext, numbered},
};

pub(crate) fn check(scene: &CheckContext<'_>) -> Option<Suspicion> {
    // In a container the likely explanation has a check of its own.
    let apart = scene.capture.viewer.in_first_namespace() == Some(false);
    (!apart && residual::is_suspicious(scene.device)).then(|| Suspicion {
        kind: SuspicionKind::Residual,
        headline: format!(
            "{} of {} is in use and no listed process accounts for it",
            Bytes(scene.residual),
            scene.gpu()
        ),
        because: because(scene),
        bytes: Some(scene.residual),
        command: None,
        pids: scene.capture.library_users.clone(),
    })
}

fn because(scene: &CheckContext<'_>) -> String {
    let memory = scene.device.memory;
    let sum = Bytes(scene.taken()).minus(Bytes(scene.residual));
    let kept = memory.reserved.map_or_else(
        || "an unknown part of it reserved by the driver".to_owned(),
        |reserved| format!("{} of it reserved by the driver", Bytes(reserved)),
    );
    let listed = match scene.device.processes.as_deref() {
        Some([]) => "no process is listed".to_owned(),
        Some([_]) => format!("1 listed process holds {sum}"),
        Some(several) => format!("{} listed processes hold {sum}", several.len()),
        None => "the driver lists no processes on this device".to_owned(),
    };
    format!(
        "{} is in use, {kept}, and {listed}. Up to {} more than listed is normal: page tables and \
         what the driver reserves for each client. {}",
        Bytes(memory.used),
        Bytes(residual::normal(scene.device)),
        suspects(scene)
    )
}

/// Where to look next; nothing of it is proved.
fn suspects(scene: &CheckContext<'_>) -> String {
    let users = &scene.capture.library_users;
    let denied = scene.capture.unread.files_denied;
    if is_memory_shared(&scene.device.name) {
        "On this product pages may stay on the GPU after a process has exited: that is not a leak."
            .into()
    } else if scene.capture.viewer.under_windows {
        "Windows programs use the GPU too and are not visible from here.".into()
    } else if !users.is_empty() {
        let (have, are) = if users.len() == 1 { ("has", "is") } else { ("have", "are") };
        format!(
            "{} {have} the driver's library loaded but {are} not listed: check first.",
            numbered(users)
        )
    } else if denied > 0 {
        let processes = if denied == 1 { "process" } else { "processes" };
        format!("this user may not inspect {denied} {processes}: sudo whyoom who sees more.")
    } else {
        "No visible process has the device open; a virtual machine, the driver itself or a kernel \
         module may hold it. A GPU reset frees it if nothing uses it."
            .into()
    }
}
