//! What Python itself told of who keeps tensors alive, matched with the blocks that grow.

use std::collections::HashMap;

use whyoom_memory::{Growth, Model};
use whyoom_trace::{Address, Bytes, Tables};

use crate::{
    catalogue::{GROWTH, order_by_referrer},
    finding::{Basis, Evidence, Finding},
    referrer::{Referrer, RetentionKind},
    verdict::Verdict,
};

/// How many referrers are listed.
const LISTED: usize = 4;
/// A referrer of less than this share of the growth is not listed: variables of the iteration under way.
const WORTH_NAMING: f64 = 0.02;

/// Adds to growth's finding who keeps the blocks that grew, by their addresses, and puts the remedy for that
/// first. What lies at no address that Python told is not claimed to be anybody's.
pub fn name_referrers(
    verdict: &mut Verdict,
    model: &Model,
    tables: &Tables,
    referrers: &[Referrer],
) {
    for finding in verdict.findings_mut() {
        if finding.cause == GROWTH {
            name_in(finding, model, tables, referrers);
        }
    }
}

fn name_in(finding: &mut Finding, model: &Model, tables: &Tables, referrers: &[Referrer]) {
    let process = tables.process_name(finding.process);
    let of_process = |referrer: &&Referrer| process.ends_with(&format!("(PID {})", referrer.pid));
    let own: Vec<&Referrer> = referrers.iter().filter(of_process).collect();
    let incidents = model.incidents().iter().filter(|incident| {
        (incident.process, incident.device) == (finding.process, finding.device)
    });
    let at_end = model.growth(finding.process, finding.device);
    let growths = incidents.filter_map(|incident| incident.growth.as_ref()).chain(&at_end);
    // Python was asked at one of the failures, or at the end: the one that it knows most blocks of.
    let matched = growths.map(|growth| matches(growth, &own));
    let Some(mut matched) = matched.max_by_key(|found| sum_of(found)) else { return };
    if matched.is_empty() {
        return;
    }
    let worth =
        |bytes: Bytes| finding.reclaimable.is_none_or(|all| bytes.share_of(all) >= WORTH_NAMING);
    let lines: Vec<Evidence> = matched
        .iter()
        .filter(|(_, _, bytes)| worth(*bytes))
        .take(LISTED)
        .map(|(referrer, tensors, bytes)| {
            let told = format!("{tensors} tensor{}, {bytes}", if *tensors == 1 { "" } else { "s" });
            Evidence::text(referrer.describe(), told, Basis::Recorded)
        })
        .collect();
    finding.evidence.extend(lines);
    // A variable of a library is nothing that its user can change.
    matched.retain(|(referrer, ..)| !referrer.is_of_library());
    if let Some((referrer, ..)) = matched.first() {
        order_by_referrer(finding, largest_way(&matched), &referrer.name);
    }
}

/// The referrers that have any of the blocks that grew, with how many and how much, the most first.
fn matches<'a>(growth: &Growth, referrers: &[&'a Referrer]) -> Vec<(&'a Referrer, u64, Bytes)> {
    let grown: HashMap<Address, Bytes> = growth.blocks.iter().copied().collect();
    let mut found: Vec<_> = referrers
        .iter()
        .map(|referrer| {
            let own = referrer.blocks.iter().filter_map(|(address, _)| grown.get(address));
            (*referrer, own.clone().count() as u64, own.copied().sum::<Bytes>())
        })
        .filter(|(_, tensors, _)| *tensors > 0)
        .collect();
    found.sort_by_key(|(_, _, bytes)| std::cmp::Reverse(*bytes));
    found
}

fn sum_of(matched: &[(&Referrer, u64, Bytes)]) -> Bytes {
    matched.iter().map(|(_, _, bytes)| *bytes).sum()
}

fn largest_way(matched: &[(&Referrer, u64, Bytes)]) -> RetentionKind {
    let sum = |way: RetentionKind| -> Bytes {
        matched
            .iter()
            .filter(|(referrer, ..)| referrer.way() == way)
            .map(|(_, _, bytes)| *bytes)
            .sum()
    };
    let ways = [RetentionKind::Variable, RetentionKind::Container, RetentionKind::Exceptions];
    ways.into_iter().max_by_key(|way| sum(*way)).unwrap_or(RetentionKind::Variable)
}
