//! Memory is in use and its holders are not listed, seen from a container: the driver leaves out
//! processes that have no number in the caller's namespace.

use whyoom_trace::Bytes;

use crate::{
    report::{Suspicion, SuspicionKind},
    residual,
    scene::Scene,
};

pub(crate) fn check(scene: &Scene<'_>) -> Option<Suspicion> {
    let apart = scene.capture.observer.in_first_namespace() == Some(false);
    (apart && residual::is_suspicious(scene.device)).then(|| {
        let listed = scene.device.processes.as_ref().map_or(0, Vec::len);
        Suspicion {
            kind: SuspicionKind::Hidden,
            headline: format!(
                "{} of {} are in use by processes that cannot be seen from in here",
                Bytes(scene.residual),
                scene.gpu()
            ),
            because: format!(
                "{} are in use, {listed} listed processes account for {}, and this is a container with \
                 process numbers of its own: the driver silently leaves out processes that have no \
                 number here. No command in here frees it. Run whyoom who on the machine itself, or in \
                 a container that shares its numbers (docker run --pid=host; hostPID: true in a pod).",
                Bytes(scene.taken()),
                Bytes(scene.taken()).minus(Bytes(scene.residual))
            ),
            bytes: Some(scene.residual),
            command: None,
            pids: Vec::new(),
        }
    })
}
