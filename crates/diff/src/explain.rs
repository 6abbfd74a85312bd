//! Changes put together until what is left is noise.

use std::collections::{BTreeMap, BTreeSet};

use whyoom_memory::Category;

use crate::{
    change::Change,
    explanation::{Explanation, KindChange, Reason},
    grouping::{MOST as MOST_OF_IT, Place, deepest, goes_one_way, module_name, place},
    known_code::BACKWARD,
    scaling::scaled,
    settings::{Decides, SettingChange},
};

/// Explanations beyond these say nothing that a person reads.
const MOST: usize = 12;
/// What was made in so many iterations and is still there is kept: an iteration hands little to the next but one.
const KEPT: u64 = 3;
/// What a kind must have of a module's change to be told with it.
const WORTH_A_WORD: f64 = 0.1;

/// An argument that changed by as much explains what scales.
const SAME_FACTOR: f64 = 0.02;
/// What one place must have of a kind's change to be named alone.
const NEARLY_ALL: f64 = 0.95;

/// What explanations are made from.
pub(crate) struct Context<'a> {
    /// Differences up to this are none.
    pub(crate) noise: u64,
    pub(crate) settings: &'a [SettingChange],
}

/// Why changes are there: what goes the way of all first, the most first.
pub(crate) fn explain(changes: &[Change], context: &Context<'_>) -> Vec<Explanation> {
    let mut left: Vec<&Change> = changes.iter().filter(|change| change.bytes() != 0).collect();
    let mut found = Vec::new();
    if let Some((those, explanation)) = kept(&left, context) {
        take(&mut left, &those);
        found.push(explanation);
    }
    if let Some((those, explanation)) = modules(changes, &left, context) {
        take(&mut left, &those);
        found.push(explanation);
    }
    // What does not change tells whether something scales, too.
    let taken: BTreeSet<*const Change> =
        left.iter().map(|change| std::ptr::from_ref(*change)).collect();
    let comparable: Vec<&Change> = changes
        .iter()
        .filter(|change| change.bytes() == 0 || taken.contains(&std::ptr::from_ref(*change)))
        .collect();
    if let Some((those, explanation)) = scaled(&comparable) {
        take(&mut left, &those);
        found.push(explanation);
    }
    while found.len() < MOST
        && let Some((those, explanation)) =
            whole_module(&left, context).or_else(|| of_one_kind(&left, context))
    {
        take(&mut left, &those);
        found.push(explanation);
    }
    found.retain(|explanation| explanation.bytes.unsigned_abs() > context.noise);
    let net: i64 = changes.iter().map(Change::bytes).sum();
    found.sort_by_key(|one| {
        let opposite = net != 0 && (one.bytes > 0) != (net > 0);
        (opposite, std::cmp::Reverse(one.bytes.unsigned_abs()))
    });
    found.iter_mut().for_each(|one| one.because = because(one, context));
    found
}

type Found<'a> = (Vec<&'a Change>, Explanation);

fn take(left: &mut Vec<&Change>, those: &[&Change]) {
    let taken: BTreeSet<*const Change> =
        those.iter().map(|change| std::ptr::from_ref(*change)).collect();
    left.retain(|change| !taken.contains(&std::ptr::from_ref(*change)));
}

/// What each iteration leaves behind, in one of both runs.
fn kept<'a>(left: &[&'a Change], context: &Context<'_>) -> Option<Found<'a>> {
    let grows = |change: &&Change| {
        let (few, many) = (
            change.iterations.0.min(change.iterations.1),
            change.iterations.0.max(change.iterations.1),
        );
        many >= KEPT && few < KEPT && (change.iterations.1 == many) == (change.bytes() > 0)
    };
    let those: Vec<&Change> = left.iter().copied().filter(grows).collect();
    let bytes: i64 = those.iter().map(|change| change.bytes()).sum();
    if bytes.unsigned_abs() <= context.noise {
        return None;
    }
    let iterations =
        those.iter().map(|change| change.iterations.0.max(change.iterations.1)).max()?;
    let bytes_per_iteration = bytes.unsigned_abs() / iterations.max(1);
    Some(grouped(Reason::Kept { bytes_per_iteration, iterations }, those))
}

/// Modules that one run has and the other has not.
fn modules<'a>(
    changes: &'a [Change],
    left: &[&'a Change],
    context: &Context<'_>,
) -> Option<Found<'a>> {
    let (mut in_a, mut in_b) = (BTreeSet::new(), BTreeSet::new());
    for change in changes.iter().filter(|change| change.module.is_some()) {
        let prefixes = (0..=change.path.len()).map(|length| &change.path[..length]);
        for prefix in prefixes {
            if change.a.blocks > 0 {
                in_a.insert(prefix);
            }
            if change.b.blocks > 0 {
                in_b.insert(prefix);
            }
        }
    }
    if in_a.is_empty() || in_b.is_empty() {
        return None;
    }
    let only = |of: &BTreeSet<&'a [String]>, other: &BTreeSet<&'a [String]>| {
        let is_top = |path: &&[String]| {
            !other.contains(*path)
                && path.split_last().is_some_and(|(_, parent)| other.contains(parent))
        };
        of.iter().copied().filter(is_top).collect::<Vec<_>>()
    };
    let tops: BTreeSet<&[String]> =
        only(&in_b, &in_a).into_iter().chain(only(&in_a, &in_b)).collect();
    // Memory in one phase only is no module: one has parameters, or is a member of a list.
    let inside = |change: &&Change| {
        (0..=change.path.len()).any(|length| tops.contains(&change.path[..length]))
    };
    let those: Vec<&Change> =
        left.iter().copied().filter(|change| change.module.is_some()).filter(inside).collect();
    let has_parameters = those.iter().any(|change| change.category == Category::Parameters);
    let bytes: i64 = those.iter().map(|change| change.bytes()).sum();
    if !has_parameters || bytes.unsigned_abs() <= context.noise {
        return None;
    }
    let (those, mut explanation) = grouped(Reason::Modules { count: tops.len() }, those);
    if let (Some(only), 1) = (tops.first(), tops.len()) {
        explanation.module = Some(only.join("."));
    }
    Some((those, explanation))
}

/// A module of which most kinds changed, where it has most of all that changed.
fn whole_module<'a>(left: &[&'a Change], context: &Context<'_>) -> Option<Found<'a>> {
    let at = deepest(left, MOST_OF_IT, true);
    let those = within(left, &at);
    let is_module = !at.is_empty() && those.iter().all(|change| change.module.is_some());
    if !is_module || !goes_one_way(&those) {
        return None;
    }
    let found = grouped(reason(&those), those);
    let bytes = found.1.bytes.unsigned_abs();
    let told = |bytes_of: i64| bytes_of.unsigned_abs() as f64 >= WORTH_A_WORD * bytes as f64;
    let kinds = found.1.categories.iter().filter(|kind| told(kind.bytes)).count();
    (kinds > 1 && bytes > context.noise).then_some(found)
}

/// The kind that changed most, where most of that is.
fn of_one_kind<'a>(left: &[&'a Change], context: &Context<'_>) -> Option<Found<'a>> {
    let mut kinds = BTreeMap::<Category, Vec<&'a Change>>::new();
    for change in left {
        kinds.entry(change.category).or_default().push(change);
    }
    let net = |those: &[&Change]| those.iter().map(|change| change.bytes()).sum::<i64>();
    let (_, those) = kinds.into_iter().max_by_key(|(_, those)| net(those).unsigned_abs())?;
    if net(&those).unsigned_abs() <= context.noise {
        return None;
    }
    let at = deepest(&those, NEARLY_ALL, false);
    let inside = within(&those, &at);
    // Without modules only a call site is a name for people; functions on the way to several are none.
    let is_named = inside.iter().all(|change| change.module.is_some() || place(change) == at);
    let those = if is_named { inside } else { those };
    Some(grouped(reason(&those), those))
}

fn within<'a>(changes: &[&'a Change], at: &Place) -> Vec<&'a Change> {
    changes.iter().copied().filter(|change| place(change).starts_with(at)).collect()
}

fn reason(those: &[&Change]) -> Reason {
    let bytes = |side: fn(&Change) -> u64| those.iter().map(|change| side(change)).sum::<u64>();
    match (bytes(|change| change.a.bytes), bytes(|change| change.b.bytes)) {
        (0, _) => Reason::Appeared,
        (_, 0) => Reason::Vanished,
        (a, b) if b >= a => Reason::Grew,
        _ => Reason::Shrank,
    }
}

fn grouped(reason: Reason, those: Vec<&Change>) -> Found<'_> {
    let (module, members) = module_name(&deepest(&those, NEARLY_ALL, false), &those);
    let mut explanation = Explanation::of(reason, module, &those);
    explanation.members = members;
    (those, explanation)
}

/// What differs beside memory and decides about this.
fn because(explanation: &Explanation, context: &Context<'_>) -> Option<String> {
    let &KindChange { category, .. } = explanation.categories.first()?;
    let of_library = explanation.sites.first().is_some_and(|site| site.callee.is_some())
        || [Category::Workspaces, Category::Temporaries].contains(&category);
    let explains = |setting: &&SettingChange| match setting.decides {
        // A backward pass needs memory: that of one run explains what it has more.
        Decides::Kinds(_)
            if setting.name == BACKWARD && setting.b.is_some() != (explanation.bytes > 0) =>
        {
            false
        }
        Decides::Kinds(kinds) => kinds.contains(&category),
        Decides::Library => of_library,
        Decides::Reserved | Decides::Unknown | Decides::Work => false,
    };
    let found = match explanation.reason {
        Reason::Scaled { factor, .. } => argument_of(factor, context),
        Reason::Kept { .. } => None,
        _ => context.settings.iter().find(explains),
    };
    found.map(|setting| setting.name.clone())
}

/// The argument that changed by a factor, or else the only one that changed.
fn argument_of<'a>(factor: f64, context: &Context<'a>) -> Option<&'a SettingChange> {
    let arguments = || context.settings.iter().filter(|one| one.decides == Decides::Work);
    let by_factor = |one: &&SettingChange| {
        one.factor().is_some_and(|other| (other / factor - 1.0).abs() <= SAME_FACTOR)
    };
    let only = || arguments().next().filter(|_| arguments().count() == 1);
    arguments().find(by_factor).or_else(only)
}
