//! Which call sites of two runs are the same: first those that agree in everything but lines, then ever less.

use std::collections::{BTreeMap, BTreeSet};

use whyoom_memory::Category;

use crate::{
    alignment::{Similar, align},
    change::{Change, Sums},
    module_path,
    profile::{MemoryAt, Row},
};

/// Between the parts of a key.
const BETWEEN: char = '\u{1f}';

/// Rows of one side that are one call site.
#[derive(Debug, Clone)]
struct Unit<'a> {
    /// The largest.
    row: &'a Row,
    path: Vec<String>,
    sums: Sums,
    iterations: u64,
}

impl Unit<'_> {
    /// Lines, outermost first: those of one function are in the order of the file.
    fn lines(&self) -> impl Iterator<Item = u32> {
        self.row.own.iter().map(|frame| frame.line)
    }

    fn functions(&self) -> impl Iterator<Item = &str> {
        self.row.own.iter().map(|frame| frame.function.as_str())
    }
}

impl Similar for Unit<'_> {
    fn similarity(&self, other: &Self) -> u32 {
        match (self.sums.blocks == other.sums.blocks, self.sums.requested == other.sums.requested) {
            (true, true) => 4,
            (true, false) => 2,
            _ => 1,
        }
    }
}

/// What two units must have in common; nothing where that tells nothing.
type KeyOf = fn(&Unit<'_>) -> Option<String>;

/// From exact to loose. Lines are in none of them.
const PASSES: [KeyOf; 6] =
    [in_same_functions, in_same_function, of_same_module, of_same_list, elsewhere, of_same_size];

fn join<'a>(parts: impl IntoIterator<Item = &'a str>) -> String {
    parts.into_iter().flat_map(|part| part.chars().chain([BETWEEN])).collect()
}

fn kind(unit: &Unit<'_>) -> String {
    let role = unit.row.role.filter(|role| role.is_kind()).map_or("", |role| role.name());
    // What is made once and what each iteration makes are two things, in one function too.
    let when = if unit.row.before_loop { "once" } else { "" };
    join([unit.row.category.name(), role, when])
}

fn module(unit: &Unit<'_>) -> String {
    let known = if unit.row.module.is_some() { "module" } else { "" };
    join([known].into_iter().chain(unit.path.iter().map(String::as_str)))
}

/// The module, the kind, all functions that lead there, and what they called.
fn in_same_functions(unit: &Unit<'_>) -> Option<String> {
    let callee = unit.row.callee.as_deref().unwrap_or_default();
    let site = if unit.row.own.is_empty() { unit.row.site.as_str() } else { "" };
    let functions = join(unit.functions());
    Some(kind(unit) + &module(unit) + &functions + &join([callee, site]))
}

/// The module, the kind, and the innermost function: others may have been put around it.
fn in_same_function(unit: &Unit<'_>) -> Option<String> {
    let callee = unit.row.callee.as_deref().unwrap_or_default();
    let function = unit.functions().last()?;
    Some(kind(unit) + &module(unit) + &join([function, callee]))
}

/// The module and the kind.
fn of_same_module(unit: &Unit<'_>) -> Option<String> {
    unit.row.module.as_ref().map(|_| kind(unit) + &module(unit))
}

/// The place in a list of modules may be another.
fn of_same_list(unit: &Unit<'_>) -> Option<String> {
    unit.row.module.as_ref()?;
    let pattern = module_path::pattern(&unit.path);
    Some(kind(unit) + &join(pattern.iter().map(String::as_str)))
}

/// A function that was moved, or whose module has another name.
fn elsewhere(unit: &Unit<'_>) -> Option<String> {
    let callee = unit.row.callee.as_deref().unwrap_or_default();
    let function = unit.functions().last().filter(|function| !is_common(function));
    Some(unit.row.category.name().to_owned() + &join([function?, callee]))
}

/// Names that every other class has.
fn is_common(function: &str) -> bool {
    ["forward", "__init__", "<module>", "main", "step", "__call__"].contains(&function)
}

/// Everything has another name, and as much is allocated.
fn of_same_size(unit: &Unit<'_>) -> Option<String> {
    let Sums { requested, blocks, .. } = unit.sums;
    Some(format!("{}{BETWEEN}{requested}{BETWEEN}{blocks}", unit.row.category.name()))
}

/// What each call site has in both. The sum of all differences is that of the two sums.
pub(crate) fn changes(a: &MemoryAt, b: &MemoryAt) -> Vec<Change> {
    // Whichever comes first, the same belong together.
    if size(a) > size(b) {
        return changes(b, a).into_iter().map(Change::swapped).collect();
    }
    // Of one model in each run the class says nothing; a loss beside it is no model.
    let [of_a, of_b] = [a, b].map(model_root);
    let (of_a, of_b) = if of_a.is_some() && of_b.is_some() { (of_a, of_b) } else { (None, None) };
    let (mut left, mut right) = (units(&a.rows, of_a), units(&b.rows, of_b));
    let mut changes = Vec::new();
    for key_of in PASSES {
        (left, right) = pass(left, right, key_of, &mut changes);
    }
    changes.extend(left.iter().map(|unit| change(Some(unit), None)));
    changes.extend(right.iter().map(|unit| change(None, Some(unit))));
    changes
}

fn size(side: &MemoryAt) -> (u64, u64, usize) {
    (side.allocated, side.requested, side.rows.len())
}

/// The class of the only outermost module, or else of the only one that has parameters.
fn model_root(side: &MemoryAt) -> Option<&str> {
    let names = |wanted: fn(&&Row) -> bool| -> BTreeSet<&str> {
        let modules = side.rows.iter().filter(wanted).filter_map(|row| row.module.as_deref());
        modules.map(module_path::root).collect()
    };
    let all = names(|_| true);
    let with_parameters = names(|row| row.category == Category::Parameters);
    [all, with_parameters].into_iter().find(|roots| roots.len() == 1)?.pop_first()
}

/// Rows that agree in all that is compared, in one: several native stacks may lead to one line.
fn units<'a>(rows: &'a [Row], model: Option<&str>) -> Vec<Unit<'a>> {
    let mut units = BTreeMap::<String, Unit<'a>>::new();
    for row in rows {
        let path = row.module.as_deref().map(|name| module_path::path(name, model));
        let sums = Sums { bytes: row.bytes, requested: row.requested, blocks: row.blocks };
        let unit = Unit { row, path: path.unwrap_or_default(), sums, iterations: row.iterations };
        let lines: String = unit.lines().map(|line| format!("{line}{BETWEEN}")).collect();
        let files = join(row.own.iter().map(|frame| frame.file.as_str()));
        let key = in_same_functions(&unit).unwrap_or_default() + &files + &lines;
        match units.get_mut(&key) {
            Some(known) => {
                known.sums = known.sums.plus(sums);
                known.iterations = known.iterations.max(row.iterations);
                if row.bytes > known.row.bytes {
                    known.row = row;
                }
            }
            None => drop(units.insert(key, unit)),
        }
    }
    units.into_values().collect()
}

/// Units by a key, and those that have none.
fn by_key<'a>(
    units: Vec<Unit<'a>>,
    key_of: KeyOf,
) -> (BTreeMap<String, Vec<Unit<'a>>>, Vec<Unit<'a>>) {
    let (mut groups, mut rest) = (BTreeMap::<String, Vec<Unit<'a>>>::new(), Vec::new());
    for unit in units {
        match key_of(&unit) {
            Some(key) => groups.entry(key).or_default().push(unit),
            None => rest.push(unit),
        }
    }
    (groups, rest)
}

/// Pairs those that have a key in common; the others come back.
fn pass<'a>(
    left: Vec<Unit<'a>>,
    right: Vec<Unit<'a>>,
    key_of: KeyOf,
    changes: &mut Vec<Change>,
) -> (Vec<Unit<'a>>, Vec<Unit<'a>>) {
    let (left, mut left_over) = by_key(left, key_of);
    let (mut right, mut right_over) = by_key(right, key_of);
    for (key, mut a) in left {
        let Some(mut b) = right.remove(&key) else {
            left_over.extend(a);
            continue;
        };
        a.sort_by(|one, other| one.lines().cmp(other.lines()));
        b.sort_by(|one, other| one.lines().cmp(other.lines()));
        let Some(pairs) = align(&a, &b) else {
            changes.push(change(merged(&a).as_ref(), merged(&b).as_ref()));
            continue;
        };
        changes.extend(pairs.iter().map(|&(i, j)| change(Some(&a[i]), Some(&b[j]))));
        let (in_a, in_b): (BTreeSet<_>, BTreeSet<_>) = pairs.into_iter().unzip();
        let others = |units: Vec<Unit<'a>>, paired: &BTreeSet<usize>| {
            let indexed = units.into_iter().enumerate();
            indexed.filter(|(at, _)| !paired.contains(at)).map(|(_, unit)| unit).collect::<Vec<_>>()
        };
        left_over.extend(others(a, &in_a));
        right_over.extend(others(b, &in_b));
    }
    right_over.extend(right.into_values().flatten());
    (left_over, right_over)
}

/// Very many units as one: the largest, with the sums of all.
fn merged<'a>(units: &[Unit<'a>]) -> Option<Unit<'a>> {
    let mut largest = units.iter().max_by_key(|unit| unit.sums.bytes)?.clone();
    largest.sums = units.iter().fold(Sums::default(), |sums, unit| sums.plus(unit.sums));
    largest.iterations = units.iter().map(|unit| unit.iterations).max().unwrap_or_default();
    Some(largest)
}

#[expect(clippy::expect_used, reason = "a change is of one run at least")]
fn change(a: Option<&Unit<'_>>, b: Option<&Unit<'_>>) -> Change {
    let unit = b.or(a).expect("one of both is there");
    let site = |unit: Option<&Unit<'_>>| unit.map(|unit| unit.row.site.clone());
    let sums = |unit: Option<&Unit<'_>>| unit.map_or(Sums::default(), |unit| unit.sums);
    let iterations = |unit: Option<&Unit<'_>>| unit.map_or(0, |unit| unit.iterations);
    Change {
        module: unit.row.module.as_ref().map(|_| unit.path.join(".")),
        role: unit.row.role,
        category: unit.row.category,
        phase: unit.row.phase,
        site_a: site(a),
        site_b: site(b),
        callee: unit.row.callee.clone(),
        maker: unit.row.maker.clone(),
        a: sums(a),
        b: sums(b),
        iterations: (iterations(a), iterations(b)),
        functions: unit.functions().map(str::to_owned).collect(),
        path: unit.path.clone(),
    }
}
