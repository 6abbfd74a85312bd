//! One moment of both runs, as the page shows it.

use std::collections::HashMap;

use serde::Serialize;
use whyoom_diff::{Change, Group, RankComparison, Sums, View};

use crate::diff::clause;

/// Texts, each once.
#[derive(Default, Serialize)]
#[serde(transparent)]
pub(super) struct Strings {
    all: Vec<String>,
    #[serde(skip)]
    known: HashMap<String, i64>,
}

impl Strings {
    /// The number of a text.
    pub(super) fn of(&mut self, text: &str) -> i64 {
        if let Some(&number) = self.known.get(text) {
            return number;
        }
        let number = i64::try_from(self.all.len()).unwrap_or(-1);
        self.all.push(text.to_owned());
        self.known.insert(text.to_owned(), number);
        number
    }

    /// The same; -1 for none.
    fn any(&mut self, text: Option<&str>) -> i64 {
        text.map_or(-1, |text| self.of(text))
    }
}

/// How much of a view is told.
#[derive(Clone, Copy)]
pub(super) struct Limits {
    pub(super) changes: usize,
    /// Of each way to group.
    pub(super) groups: usize,
}

#[derive(Serialize)]
pub(super) struct ViewJson {
    /// Which moment it is, in words.
    moment: String,
    a_bytes: u64,
    b_bytes: u64,
    explanations: Vec<ExplanationJson>,
    by_module: GroupsJson,
    by_site: GroupsJson,
    by_kind: GroupsJson,
    by_phase: GroupsJson,
    /// Those that hold most in either run.
    changes: Vec<ChangeJson>,
    /// The sums of all others.
    left_out: LeftOutJson,
}

#[derive(Serialize)]
struct ExplanationJson {
    bytes: i64,
    text: String,
}

#[derive(Serialize)]
struct GroupsJson {
    /// Name, then bytes and blocks in A and in B; the largest difference first.
    groups: Vec<(i64, Both)>,
    left_out: LeftOutJson,
}

/// Bytes and blocks in A, and in B.
type Both = (u64, u64, u64, u64);

#[derive(Serialize)]
struct LeftOutJson {
    count: usize,
    sums: Both,
}

/// Module, kind, phase, call site and library function (of strings), functions, and amounts.
type ChangeJson = (i64, i64, i64, i64, i64, Vec<i64>, Both);

fn both(a: Sums, b: Sums) -> Both {
    (a.bytes, a.blocks, b.bytes, b.blocks)
}

fn left_out(rest: impl ExactSizeIterator<Item = Both>) -> LeftOutJson {
    let count = rest.len();
    let plus = |x: Both, y: Both| (x.0 + y.0, x.1 + y.1, x.2 + y.2, x.3 + y.3);
    LeftOutJson { count, sums: rest.fold(Both::default(), plus) }
}

impl ViewJson {
    pub(super) fn of(
        moment: String,
        view: &View,
        rank: &RankComparison,
        limits: Limits,
        strings: &mut Strings,
    ) -> Self {
        let explanations = view.explanations.iter().map(|explanation| ExplanationJson {
            bytes: explanation.bytes,
            text: clause(explanation, rank),
        });
        let mut changes: Vec<&Change> = view.changes.iter().collect();
        changes.sort_by_key(|change| std::cmp::Reverse(change.a.bytes.max(change.b.bytes)));
        let rest = changes.split_off(limits.changes.min(changes.len()));
        let mut grouped = |groups: &[Group]| groups_json(groups, limits.groups, strings);
        Self {
            moment,
            a_bytes: view.a,
            b_bytes: view.b,
            explanations: explanations.collect(),
            by_module: grouped(&view.by_module),
            by_site: grouped(&view.by_site),
            by_kind: grouped(&view.by_category),
            by_phase: grouped(&view.by_phase),
            changes: changes.iter().map(|change| change_json(change, strings)).collect(),
            left_out: left_out(rest.iter().map(|change| both(change.a, change.b))),
        }
    }
}

fn groups_json(groups: &[Group], most: usize, strings: &mut Strings) -> GroupsJson {
    let (told, rest) = groups.split_at(most.min(groups.len()));
    let groups = told.iter().map(|group| (strings.of(&group.name), both(group.a, group.b)));
    let groups = groups.collect();
    GroupsJson { groups, left_out: left_out(rest.iter().map(|group| both(group.a, group.b))) }
}

fn change_json(change: &Change, strings: &mut Strings) -> ChangeJson {
    let functions = change.functions().iter().map(|function| strings.of(function)).collect();
    (
        strings.any(change.module.as_deref()),
        strings.of(change.category.name()),
        strings.of(change.phase.name()),
        strings.of(change.site()),
        strings.any(change.callee.as_deref()),
        functions,
        both(change.a, change.b),
    )
}
