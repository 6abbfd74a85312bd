//! Memory is in use and its holders are not listed, seen from a container: the driver leaves out
//! processes that have no number in the caller's namespace.

use whyoom_trace::Bytes;

use crate::{
    report::{Suspicion, SuspicionKind},
    residual,
    scene::CheckContext,
};

pub(crate) fn check(scene: &CheckContext<'_>) -> Option<Suspicion> {
    let apart = scene.capture.viewer.in_first_namespace() == Some(false);
    (apart && residual::is_suspicious(scene.device)).then(|| {
        let sum = Bytes(scene.taken()).minus(Bytes(scene.residual));
        let listed = match scene.device.processes.as_ref().map_or(0, Vec::len) {
            0 => "no process is listed".to_owned(),
            1 => format!("1 listed process accounts for {sum}"),
            several => format!("{several} listed processes account for {sum}"),
        };
        Suspicion {
            kind: SuspicionKind::Hidden,
            headline: format!(
                "{} of {} is in use by processes that are not visible from here",
                Bytes(scene.residual),
                scene.gpu()
            ),
            because: format!(
                "{} is in use, {listed}, and this is a container with its own PID namespace: the \
                 driver silently omits processes that have no PID here. No command in here frees it. \
                 Run whyoom who on the machine itself, or in a container that shares its PID \
                 namespace (docker run --pid=host; hostPID: true in a pod).",
                Bytes(scene.taken())
            ),
            bytes: Some(scene.residual),
            command: None,
            pids: Vec::new(),
        }
    })
}
