//! The smallest description that covers most of what changed.

use std::collections::{BTreeMap, BTreeSet};

use crate::{change::Change, module_path::pattern};

/// What a description must cover of what it stands for.
pub(crate) const MOST: f64 = 0.8;

/// A place in the model, or in the program where no modules are known: parts of its name.
pub(crate) type Place = Vec<String>;

/// Where a change is: its module with lists as one or, without modules, the functions that lead there.
pub(crate) fn place(change: &Change) -> Place {
    match &change.module {
        Some(_) => pattern(&change.path),
        None => change.functions.iter().cloned().chain([change.site().to_owned()]).collect(),
    }
}

/// The deepest place that has such a share of what changed. Sums of opposite changes at one place and of one kind cancel
/// first, where `gross` is wanted; otherwise all of them do.
pub(crate) fn deepest(changes: &[&Change], share: f64, gross: bool) -> Place {
    let cells = cells(changes);
    let weigh = |cells: &[(&Place, i64)]| match gross {
        true => cells.iter().map(|(_, bytes)| bytes.unsigned_abs()).sum::<u64>(),
        false => cells.iter().map(|(_, bytes)| *bytes).sum::<i64>().unsigned_abs(),
    };
    let mut inside: Vec<(&Place, i64)> =
        cells.iter().map(|((place, _), bytes)| (place, *bytes)).collect();
    let all = weigh(&inside);
    let mut at: Place = Vec::new();
    loop {
        let mut below = BTreeMap::<&String, Vec<(&Place, i64)>>::new();
        for (place, bytes) in inside {
            if let Some(part) = place.get(at.len()) {
                below.entry(part).or_default().push((place, bytes));
            }
        }
        let heaviest = below.into_iter().max_by_key(|(_, cells)| weigh(cells));
        match heaviest {
            Some((part, cells)) if weigh(&cells) as f64 >= share * all as f64 && all > 0 => {
                at.push(part.clone());
                inside = cells;
            }
            _ => return at,
        }
    }
}

/// What changed at each place, by kind.
fn cells(changes: &[&Change]) -> BTreeMap<(Place, whyoom_memory::Category), i64> {
    let mut cells = BTreeMap::new();
    for change in changes {
        *cells.entry((place(change), change.category)).or_insert(0) += change.bytes();
    }
    cells
}

/// Whether most of what changed goes one way.
pub(crate) fn goes_one_way(changes: &[&Change]) -> bool {
    let cells = cells(changes);
    let gross: u64 = cells.values().map(|bytes| bytes.unsigned_abs()).sum();
    let net = cells.values().sum::<i64>().unsigned_abs();
    gross > 0 && net as f64 >= MOST * gross as f64
}

/// A module's name for people, and how many members of lists it has: all that changed lies in it.
pub(crate) fn module_name(place: &Place, changes: &[&Change]) -> (Option<String>, usize) {
    if changes.is_empty() || changes.iter().any(|change| change.module.is_none()) {
        return (None, 0);
    }
    let depth = place.len();
    let exact: BTreeSet<&[String]> =
        changes.iter().filter_map(|change| change.path.get(..depth)).collect();
    let lists = place.iter().any(|part| part == "*");
    match exact.first() {
        Some(only) if exact.len() == 1 => (Some(only.join(".")), 1),
        _ => (Some(place.join(".")), if lists { exact.len() } else { 1 }),
    }
}
