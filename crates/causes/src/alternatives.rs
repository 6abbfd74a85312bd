//! The other cause that rounded figures leave open: "A or B".
//!
//! A message prints its figures rounded, and reads them a moment apart. Where one of them moved by a hundredth would
//! give another verdict, both are named.

use whyoom_memory::Incident;
use whyoom_trace::Bytes;

use crate::{
    catalogue,
    cause::Cause,
    diagnoses::in_force,
    diagnosis::Diagnosis,
    finding::{Finding, Strength},
    findings::findings,
};

/// By which part of itself a figure may be off.
const PART: u64 = 100;

/// Of a long list of processes the first are moved.
const MOVED_HOLDERS: usize = 4;

/// The cause that most of the moved figures give instead of the primary one.
pub(crate) fn alternative(diagnosis: &Diagnosis<'_>, primary: &Finding) -> Option<&'static Cause> {
    let incident = diagnosis.incident.filter(|_| diagnosis.is_message())?;
    let mut others: Vec<(&'static str, usize)> = Vec::new();
    for moved in moved(incident) {
        let Some(other) = cause_of(diagnosis, &moved).filter(|other| *other != primary.cause)
        else {
            continue;
        };
        match others.iter_mut().find(|(cause, _)| *cause == other) {
            Some((_, times)) => *times += 1,
            None => others.push((other, 1)),
        }
    }
    // Of equals the first.
    let most = others.iter().map(|(_, times)| *times).max()?;
    let (cause, _) = others.into_iter().find(|(_, times)| *times == most)?;
    catalogue::find(cause)
}

/// The same failure with one figure a little larger or smaller.
fn moved(incident: &Incident) -> impl Iterator<Item = Incident> {
    let around = |bytes: Bytes| {
        let slack = Bytes(bytes.0 / PART);
        [bytes.minus(slack), bytes.plus(slack)]
    };
    let counters = incident.counters.iter().flat_map(move |(counter, bytes)| {
        around(*bytes).map(|bytes| {
            let mut moved = incident.clone();
            moved.counters.insert(*counter, bytes);
            moved
        })
    });
    let holders =
        incident.holders.iter().enumerate().take(MOVED_HOLDERS).flat_map(move |(index, holder)| {
            around(holder.bytes).map(|bytes| {
                let mut moved = incident.clone();
                moved.holders[index].bytes = bytes;
                moved
            })
        });
    counters.chain(holders)
}

/// The cause that is named of a moved failure, where anything explains it.
fn cause_of(diagnosis: &Diagnosis<'_>, moved: &Incident) -> Option<&'static str> {
    let moved = Diagnosis {
        incident: Some(moved),
        observed: in_force(diagnosis, moved),
        growth: diagnosis.growth.clone(),
        ..*diagnosis
    };
    let found = findings(&moved);
    found.first().filter(|first| first.strength > Strength::Fallback).map(|first| first.cause)
}
