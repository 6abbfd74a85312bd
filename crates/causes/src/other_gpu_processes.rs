//! The other processes that were seen to hold memory, each counted by the one cause that speaks of it.

use whyoom_memory::{Holder, Space};
use whyoom_trace::{Bytes, DeviceId, ProcessId, ProcessState};

use crate::{diagnosis::Diagnosis, observed::CONTEXT_ALLOWANCE};

/// A peak below this share of the process's largest says that a device is not used.
const UNUSED: f64 = 0.01;
/// Fewer holders of a context are no crowd.
const CROWD: usize = 2;

/// The other processes that were seen to hold memory of a device.
#[derive(Debug, Default)]
pub(crate) struct OtherGpuProcesses<'a> {
    /// Processes of the run that work on another device.
    pub(crate) strays: Vec<(&'a Holder, ProcessId)>,
    /// Those that nobody waits for.
    pub(crate) lost: Vec<&'a Holder>,
    /// Those that the driver lists and the system does not know.
    pub(crate) ghosts: Vec<&'a Holder>,
    /// Those that have little more than a context, where they are several.
    pub(crate) contexts: Vec<&'a Holder>,
    /// All others: they work here.
    pub(crate) at_work: Vec<&'a Holder>,
}

impl<'a> OtherGpuProcesses<'a> {
    /// Those of a diagnosis.
    pub(crate) fn of(diagnosis: &'a Diagnosis<'_>) -> Self {
        let mut found = Self::default();
        let largest_context = largest_context(diagnosis);
        for holder in &diagnosis.observed.others {
            let stray = diagnosis
                .process_of(holder)
                .filter(|process| works_elsewhere(diagnosis, *process, diagnosis.device));
            match (holder.standing, stray) {
                (ProcessState::Ghost, _) => found.ghosts.push(holder),
                (
                    ProcessState::Orphan
                    | ProcessState::ZombieLeader
                    | ProcessState::Stuck
                    | ProcessState::Hangs,
                    _,
                ) => found.lost.push(holder),
                (_, Some(process)) => found.strays.push((holder, process)),
                _ if holder.bytes <= largest_context => found.contexts.push(holder),
                _ => found.at_work.push(holder),
            }
        }
        if found.contexts.len() < CROWD {
            found.at_work.append(&mut found.contexts);
        }
        found
    }

    /// Whether one kind alone held what was missing.
    pub(crate) fn one_kind_is_enough(&self, shortfall: Bytes) -> bool {
        held(&self.at_work).max(self.largest_of_others()) >= shortfall
    }

    /// Whether a kind other than those at work did, or those that nobody saw.
    pub(crate) fn others_are_enough(&self, unseen: Bytes, shortfall: Bytes) -> bool {
        let unseen = unseen.plus(held(&self.ghosts));
        self.largest_of_others().max(unseen) >= shortfall
    }

    /// What the kind that holds most has, without those at work.
    pub(crate) fn largest_of_others(&self) -> Bytes {
        let strays = self.strays.iter().map(|(holder, _)| holder.bytes).sum();
        let kinds = [&self.lost, &self.ghosts, &self.contexts];
        kinds.into_iter().map(|kind| held(kind)).max().unwrap_or_default().max(strays)
    }
}

/// What some hold together.
pub(crate) fn held(holders: &[&Holder]) -> Bytes {
    holders.iter().map(|holder| holder.bytes).sum()
}

/// The numbers of some, with blanks between.
pub(crate) fn pids(holders: &[&Holder]) -> String {
    let pids: Vec<String> = holders.iter().map(|holder| holder.pid.to_string()).collect();
    pids.join(" ")
}

/// What a holder may have at most of which only a context is known: half as much again as this process's
/// context takes, since one that touched CUDA may hold a little beside it. A message tells of no contexts.
fn largest_context(diagnosis: &Diagnosis<'_>) -> Bytes {
    let size = diagnosis.context_size();
    match diagnosis.was_recorded() {
        true => size.map_or(CONTEXT_ALLOWANCE, |size| size.plus(Bytes(size.0 / 2))),
        false => Bytes::ZERO,
    }
}

/// Whether a process took next to nothing on this device ever, while it works on another.
pub(crate) fn works_elsewhere(
    diagnosis: &Diagnosis<'_>,
    process: ProcessId,
    device: DeviceId,
) -> bool {
    let peak = |space: &Space| space.peak().0.allocated;
    let here = diagnosis.model.space(process, device).map_or(Bytes::ZERO, peak);
    let spaces = diagnosis.model.devices_of(process);
    let spaces = spaces.filter(|(on, _)| *on != device && *on != DeviceId::HOST);
    let elsewhere = spaces.map(|(_, space)| peak(space)).max().unwrap_or_default();
    elsewhere > Bytes::ZERO && here.share_of(elsewhere) < UNUSED
}

/// Another recorded process whose cache could have given back what was missing, and how much that is.
pub(crate) fn idle_cache_beside(diagnosis: &Diagnosis<'_>) -> Option<(ProcessId, Bytes)> {
    let shortfall = diagnosis.observed.shortfall().filter(|_| diagnosis.device_ran_out())?;
    let caches = &diagnosis.incident?.idle_caches;
    let largest = caches.iter().copied().max_by_key(|(_, idle)| *idle)?;
    let alone = diagnosis.observed.too_much_alone().unwrap_or(false);
    Some(largest).filter(|(_, idle)| *idle >= shortfall && !alone)
}
