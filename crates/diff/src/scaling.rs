//! What changes with the batch, the length of sequences, or the precision, and what does not.

use std::collections::BTreeMap;

use whyoom_memory::Category;

use crate::{
    change::{Change, Sums},
    explanation::{Explanation, Reason},
};

/// Factors nearer to one are no scaling.
const LEAST: f64 = 0.02;
/// Factors this near to each other are the same.
const SAME: f64 = 0.02;
/// Numbers of half the size take exactly half: a layer of twice the width takes about twice.
const EXACT: f64 = 0.002;
/// What of all that changed must change by the factor.
const SHARE: f64 = 0.4;
/// Of so many blocks, one may be missing.
const MANY: u64 = 5;
/// What PyTorch does not split off a large block.
const REST: f64 = 1_048_576.0;
/// How many factors lie between one and two.
const STEPS: f64 = 64.0;
/// What does not depend on the batch may change by this share of itself.
const FIXED: f64 = 0.01;

/// Whether a kind of memory depends on the batch.
fn depends_on_batch(category: Category) -> bool {
    !matches!(category, Category::Parameters | Category::OptimizerState | Category::Workspaces)
}

/// B by A, of a block as both have it in about as many: some may have been freed when the peak came.
fn factor(change: &Change) -> Option<f64> {
    let mean = |sums: Sums| sums.requested as f64 / sums.blocks as f64;
    let (a, b) = (change.a, change.b);
    let comparable = a.requested > 0
        && b.requested > 0
        && a.blocks.abs_diff(b.blocks) * MANY <= a.blocks.max(b.blocks);
    comparable.then(|| mean(b) / mean(a))
}

/// Whether a change is by a factor, as far as can be told: a recording tells what blocks cost, and PyTorch leaves up to a
/// MiB behind a large one.
fn is_by(change: &Change, by: f64) -> bool {
    let Some(factor) = factor(change) else { return false };
    let mean = |sums: Sums| sums.requested as f64 / sums.blocks as f64;
    let rest = |sums: Sums| match sums.requested == sums.bytes && mean(sums) > REST {
        true => REST,
        false => 0.0,
    };
    let (a, b) = (change.a, change.b);
    let possible = by * (mean(a) - rest(a)) <= mean(b) && mean(b) - rest(b) <= by * mean(a);
    is_near(factor, by) || possible
}

fn is_near(factor: f64, other: f64) -> bool {
    (factor / other - 1.0).abs() <= SAME
}

/// The changes that one factor explains, and the explanation.
pub(crate) fn scaled<'a>(changes: &[&'a Change]) -> Option<(Vec<&'a Change>, Explanation)> {
    precision(changes).or_else(|| batch(changes))
}

/// Parameters are half or twice as large, one by one.
fn precision<'a>(changes: &[&'a Change]) -> Option<(Vec<&'a Change>, Explanation)> {
    let parameters = || changes.iter().filter(|change| change.category == Category::Parameters);
    let sum = |side: fn(&Change) -> u64| parameters().map(|change| side(change)).sum::<u64>();
    let (a, b) = (sum(|change| change.a.requested), sum(|change| change.b.requested));
    if a == 0 || b == 0 {
        return None;
    }
    let is = |factor: f64, by: f64| (factor / by - 1.0).abs() <= EXACT;
    let by = [0.5, 2.0].into_iter().find(|by| is(b as f64 / a as f64, *by))?;
    let has_factor = |change: &Change| factor(change).is_some_and(|factor| is(factor, by));
    let of_parameters: u64 =
        parameters().filter(|change| has_factor(change)).map(|change| change.a.requested).sum();
    if (of_parameters as f64) < 0.8 * a as f64 {
        return None;
    }
    let those: Vec<&Change> = changes.iter().copied().filter(|change| has_factor(change)).collect();
    let explanation = Explanation::of(Reason::Precision { factor: by }, None, &those);
    Some((those, explanation))
}

fn batch<'a>(changes: &[&'a Change]) -> Option<(Vec<&'a Change>, Explanation)> {
    if changes_what_is_fixed(changes) {
        return None;
    }
    let candidates: Vec<(&Change, f64)> = changes
        .iter()
        .filter(|change| depends_on_batch(change.category))
        .filter_map(|change| Some((*change, factor(change)?)))
        .filter(|(_, factor)| (factor - 1.0).abs() > LEAST)
        .collect();
    let by = most_common(&candidates)?;
    let square = by * by;
    let weigh = |near: f64| {
        let those = candidates.iter().filter(|(change, _)| is_by(change, near));
        those.map(|(change, _)| change.bytes().unsigned_abs()).sum::<u64>()
    };
    let all: u64 = changes.iter().map(|change| change.bytes().unsigned_abs()).sum();
    let (linear, squared) = (weigh(by), weigh(square));
    if ((linear + squared) as f64) < SHARE * all as f64 || candidates.len() < 2 {
        return None;
    }
    // Sums of what depends on it and what does not lie between.
    let (low, high) = (square.min(1.0) * (1.0 - SAME), square.max(1.0) * (1.0 + SAME));
    let goes_along = |factor: f64| (low..=high).contains(&factor) && (factor > 1.0) == (by > 1.0);
    let those: Vec<&Change> =
        candidates.iter().filter(|(_, factor)| goes_along(*factor)).map(|(one, _)| *one).collect();
    let squared = squared * 20 > linear;
    let explanation = Explanation::of(Reason::Scaled { factor: by, squared }, None, &those);
    Some((those, explanation))
}

/// Whether parameters or optimizer state changed.
fn changes_what_is_fixed(changes: &[&Change]) -> bool {
    let fixed = || {
        let kinds = [Category::Parameters, Category::OptimizerState];
        changes.iter().filter(move |change| kinds.contains(&change.category))
    };
    // What was asked for: what a block costs depends on what lay beside it.
    let changed: u64 = fixed().map(|change| change.a.requested.abs_diff(change.b.requested)).sum();
    let all: u64 = fixed().map(|change| change.a.requested.max(change.b.requested)).sum();
    changed as f64 > FIXED * all as f64
}

/// The factor that most bytes change by. Of two that one is the square of the other of, the smaller change.
fn most_common(candidates: &[(&Change, f64)]) -> Option<f64> {
    let mut bins = BTreeMap::<i64, (u64, f64)>::new();
    for (change, factor) in candidates.iter().filter(|(_, factor)| *factor > 0.0) {
        let bin = bins.entry((factor.log2() * STEPS).round() as i64).or_insert((0, *factor));
        bin.0 += change.bytes().unsigned_abs();
    }
    let (_, (most, factor)) = bins.iter().max_by_key(|(_, (weight, _))| *weight)?;
    let root = factor.sqrt();
    let of_root = bins.values().find(|(_, other)| is_near(*other, root));
    match of_root {
        Some((weight, _)) if *weight * 20 > *most => Some(root),
        _ => Some(*factor),
    }
}
