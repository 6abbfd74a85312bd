//! Other users' processes hold much of the device.

use std::collections::BTreeSet;

use whyoom_trace::Bytes;

use crate::{
    report::{Holder, Suspicion, SuspicionKind},
    scene::{CheckContext, named, pids, sum},
};

/// The share of the device from which on it is said: 1/20, for less does not decide whether a program
/// fits.
const SHARE: u64 = 20;

pub(crate) fn check(scene: &CheckContext<'_>) -> Option<Suspicion> {
    let own = scene.capture.viewer.uid?;
    let others = scene.processes(|holder, process| {
        // Of an orphan another check tells, with the command that ends it.
        process.uid.is_some_and(|uid| uid != own)
            && holder.bytes.is_some()
            && holder.orphan.is_none()
    });
    let bytes = sum(others.iter().map(|(holder, _)| *holder))?;
    let users: BTreeSet<&str> =
        others.iter().filter_map(|(holder, _): &(&Holder, _)| holder.user.as_deref()).collect();
    let holds = if users.len() == 1 { "holds" } else { "hold" };
    let users = in_words(&users);
    (bytes >= scene.device.memory.total / SHARE).then(|| Suspicion {
        kind: SuspicionKind::OtherTenant,
        headline: format!("{users} {holds} {} of {}", Bytes(bytes), scene.gpu()),
        because: format!(
            "{} of {} is held by {}. {}",
            Bytes(bytes),
            Bytes(scene.device.memory.total),
            named(&others),
            who_can(own, &users, others.len())
        ),
        bytes: Some(bytes),
        command: None,
        pids: pids(&others),
    })
}

/// `user bob`, `users ann and bob`: a user may be called nobody, or be known by a number only.
fn in_words(users: &BTreeSet<&str>) -> String {
    let mut names: Vec<&str> = users.iter().copied().collect();
    match (names.pop(), names.as_slice()) {
        (None, _) => "another user".to_owned(),
        (Some(only), []) => format!("user {only}"),
        (Some(last), rest) => format!("users {} and {last}", rest.join(", ")),
    }
}

/// Who may end other users' processes.
fn who_can(own: u32, users: &str, processes: usize) -> String {
    let them = if processes == 1 { "it" } else { "them" };
    match own {
        0 => format!(
            "No command is printed: you are root and can stop {them}, but ask {users} first."
        ),
        _ => format!(
            "No command of this user frees it. Only {users} or an administrator can stop {them}."
        ),
    }
}
