//! One moment of both runs, side by side.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::{
    change::{Change, Sums, difference},
    explain::{Context, explain},
    explanation::Explanation,
    matching::changes,
    module_path::pattern,
    profile::MemoryAt,
};

/// A sum over changes that have something in common.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Group {
    /// What they have in common.
    pub name: String,
    /// In A.
    pub a: Sums,
    /// In B.
    pub b: Sums,
}

impl Group {
    /// What B has more, or less.
    #[must_use]
    pub fn bytes(&self) -> i64 {
        difference(self.a.bytes, self.b.bytes)
    }
}

/// One moment of both runs.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct View {
    /// What A had allocated.
    #[serde(rename = "a_bytes")]
    pub a: u64,
    /// What B had allocated.
    #[serde(rename = "b_bytes")]
    pub b: u64,
    /// Why they differ: first what goes the way of the whole, the most first.
    pub explanations: Vec<Explanation>,
    /// By kind, the largest difference first.
    pub by_category: Vec<Group>,
    /// By phase.
    pub by_phase: Vec<Group>,
    /// By module, where modules are known; members of a list are one.
    pub by_module: Vec<Group>,
    /// By call site.
    pub by_site: Vec<Group>,
    /// Every call site of every module, the largest difference first.
    pub changes: Vec<Change>,
}

impl View {
    pub(crate) fn of(a: &MemoryAt, b: &MemoryAt, context: &Context<'_>) -> Self {
        let mut changes = changes(a, b);
        let explanations = explain(&changes, context);
        changes.sort_by_key(|change| std::cmp::Reverse(change.bytes().unsigned_abs()));
        let module =
            |change: &Change| change.module.as_ref().map(|_| pattern(&change.path).join("."));
        Self {
            a: a.allocated,
            b: b.allocated,
            explanations,
            by_category: groups(&changes, |change| Some(change.category.name().to_owned())),
            by_phase: groups(&changes, |change| Some(change.phase.name().to_owned())),
            by_module: groups(&changes, module),
            by_site: groups(&changes, |change| Some(change.site().to_owned())),
            changes,
        }
    }

    /// What B has more, or less.
    #[must_use]
    pub fn bytes(&self) -> i64 {
        difference(self.a, self.b)
    }
}

fn groups(changes: &[Change], name: impl Fn(&Change) -> Option<String>) -> Vec<Group> {
    let mut groups = BTreeMap::<String, (Sums, Sums)>::new();
    for change in changes {
        let Some(name) = name(change) else { continue };
        let (a, b) = groups.entry(name).or_default();
        (*a, *b) = (a.plus(change.a), b.plus(change.b));
    }
    let mut groups: Vec<Group> =
        groups.into_iter().map(|(name, (a, b))| Group { name, a, b }).collect();
    groups.sort_by_key(|group| std::cmp::Reverse(group.bytes().unsigned_abs()));
    groups
}
