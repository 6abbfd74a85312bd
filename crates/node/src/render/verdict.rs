//! The first line of a device.

use std::borrow::Cow;

use whyoom_redact::visible;
use whyoom_trace::Bytes;

use super::holders;
use crate::report::{DeviceReport, SuspicionKind};

/// Users beyond these are summed up.
const USERS: usize = 3;

/// The answer in one line: free of total, by whom it is used, what is suspicious.
pub(crate) fn who_verdict(device: &DeviceReport) -> String {
    let memory = device.device.memory;
    let (free, total) = (Bytes(memory.free), Bytes(memory.total));
    let mut line = format!("{free} of {total} free; {}.", by_whom(device));
    for (heading, suspicious) in [("Suspicious", true), ("Also", false)] {
        let kinds = kinds(device, suspicious);
        if !kinds.is_empty() {
            line += &format!(" {heading}: {}.", kinds.join(", "));
        }
    }
    line
}

/// Each kind once, with the memory that it explains.
fn kinds(device: &DeviceReport, suspicious: bool) -> Vec<String> {
    let mut sums: Vec<(SuspicionKind, u64)> = Vec::new();
    for suspicion in device.suspicions.iter().filter(|one| is_suspicious(one.kind) == suspicious) {
        let bytes = suspicion.bytes.unwrap_or(0);
        match sums.iter_mut().find(|(kind, _)| *kind == suspicion.kind) {
            Some((_, sum)) => *sum = sum.saturating_add(bytes),
            None => sums.push((suspicion.kind, bytes)),
        }
    }
    let word = |(kind, bytes): (SuspicionKind, u64)| match bytes {
        0 => kind_name(kind).to_owned(),
        bytes => format!("{} ({})", kind_name(kind), Bytes(bytes)),
    };
    sums.into_iter().map(word).collect()
}

/// Whether something is probably wrong; the rest is how the machine is meant to be.
pub(crate) fn is_suspicious(kind: SuspicionKind) -> bool {
    use SuspicionKind::{LostCapacity, MpsServer, OtherTenant};
    !matches!(kind, MpsServer | OtherTenant | LostCapacity)
}

/// The word for a kind, the same as in JSON.
pub(crate) fn kind_name(kind: SuspicionKind) -> &'static str {
    match kind {
        SuspicionKind::Orphan => "orphan",
        SuspicionKind::ZombieLeader => "zombie-leader",
        SuspicionKind::Stuck => "stuck",
        SuspicionKind::Ghost => "ghost",
        SuspicionKind::Hidden => "hidden",
        SuspicionKind::MpsServer => "mps-server",
        SuspicionKind::Unlisted => "unlisted",
        SuspicionKind::OtherTenant => "other-tenant",
        SuspicionKind::LostCapacity => "lost-capacity",
        SuspicionKind::Residual => "residual",
    }
}

/// Who uses it, by user, the most first.
fn by_whom(device: &DeviceReport) -> String {
    let mut users: Vec<(Cow<'_, str>, u64)> = Vec::new();
    for holder in device.holders.iter().filter(|holder| holder.bytes != Some(0)) {
        let (user, bytes) = (name(holders::user(holder)), holder.bytes.unwrap_or(0));
        match users.iter_mut().find(|(known, _)| *known == user) {
            Some((_, sum)) => *sum = sum.saturating_add(bytes),
            None => users.push((user, bytes)),
        }
    }
    users.sort_by_key(|(_, bytes)| std::cmp::Reverse(*bytes));
    let Some((first, most)) = users.first() else { return by_nobody(device) };
    // Where the driver tells no amounts (WDDM), names are all there is.
    if *most == 0 {
        let names: Vec<&str> = users.iter().take(USERS).map(|(user, _)| user.as_ref()).collect();
        return format!("used by {}", names.join(", "));
    }
    let mut parts = vec![format!("{first} holds {}", Bytes(*most))];
    let others = users.iter().skip(1).filter(|(_, bytes)| *bytes > 0);
    parts.extend(
        others.clone().take(USERS - 1).map(|(user, sum)| format!("{user} {}", Bytes(*sum))),
    );
    let rest: Bytes = others.skip(USERS - 1).map(|(_, bytes)| Bytes(*bytes)).sum();
    if rest > Bytes::ZERO {
        parts.push(format!("others {rest}"));
    }
    visible(&parts.join(", ")).into_owned()
}

/// A name that reads as one in a sentence: a user may be called nobody, or be known by a number only.
fn name(user: &str) -> Cow<'_, str> {
    let is_number = user.bytes().all(|one| one.is_ascii_digit());
    if user == "nobody" || is_number { format!("user {user}").into() } else { user.into() }
}

fn by_nobody(device: &DeviceReport) -> String {
    match (device.residual, &device.device.processes) {
        (0, _) => "no process holds memory".to_owned(),
        (bytes, Some(_)) => format!("{} in use, and no process is listed", Bytes(bytes)),
        (bytes, None) => format!("{} in use; the driver lists no processes here", Bytes(bytes)),
    }
}
