//! Other users' processes hold much of the device.

use std::collections::BTreeSet;

use whyoom_trace::Bytes;

use crate::{
    report::{Holder, Suspicion, SuspicionKind},
    scene::{Scene, named, pids, sum},
};

/// The share of the device from which on it is said: 1/20, for less does not decide whether a program
/// fits.
const SHARE: u64 = 20;

pub(crate) fn check(scene: &Scene<'_>) -> Option<Suspicion> {
    let own = scene.capture.observer.uid?;
    let others = scene.processes(|holder, process| {
        process.uid.is_some_and(|uid| uid != own) && holder.bytes.is_some()
    });
    let bytes = sum(others.iter().map(|(holder, _)| *holder))?;
    let users: BTreeSet<&str> =
        others.iter().filter_map(|(holder, _): &(&Holder, _)| holder.user.as_deref()).collect();
    let users = users.into_iter().collect::<Vec<_>>().join(", ");
    (bytes >= scene.device.memory.total / SHARE).then(|| Suspicion {
        kind: SuspicionKind::OtherTenant,
        headline: format!("{users} holds {} of {}", Bytes(bytes), scene.gpu()),
        because: format!(
            "{} of {} are held by {}, which is not this user's. No command of this user's frees it: \
             ask {users}, or whoever shares out the machine.",
            Bytes(bytes),
            Bytes(scene.device.memory.total),
            named(&others)
        ),
        bytes: Some(bytes),
        command: None,
        pids: pids(&others),
    })
}
