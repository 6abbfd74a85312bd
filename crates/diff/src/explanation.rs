//! Why two runs differ: changes that belong together.

use std::collections::BTreeMap;

use serde::Serialize;
use whyoom_memory::Category;

use crate::{
    change::{Change, Sums},
    names,
};

/// Sites of an explanation that are kept.
const MOST_SITES: usize = 5;

/// What happened to memory that belongs together.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "what", rename_all = "kebab-case")]
pub enum Reason {
    /// Each iteration leaves something behind, in one of both runs.
    Kept {
        /// How much each leaves.
        #[serde(rename = "per_iteration_bytes")]
        bytes_per_iteration: u64,
        /// How many did.
        iterations: u64,
    },
    /// Modules that only one of both has.
    Modules {
        /// How many.
        count: usize,
    },
    /// Everything that depends on the batch or the length changes by one factor.
    Scaled {
        /// B by A.
        factor: f64,
        /// Whether some of it changes by the square: the length of sequences changed.
        squared: bool,
    },
    /// Everything changes by two, what does not depend on the batch too.
    Precision {
        /// B by A.
        factor: f64,
    },
    /// Only B has it.
    Appeared,
    /// Only A has it.
    Vanished,
    /// B has more of it.
    Grew,
    /// B has less of it.
    Shrank,
}

/// A kind's part of an explanation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct KindChange {
    /// The kind.
    #[serde(with = "names::category")]
    pub category: Category,
    /// What B has more, or less.
    pub bytes: i64,
}

/// A call site's part of an explanation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SiteChange {
    /// The call site, of B where it has one.
    pub site: String,
    /// The library's function that was called there.
    pub callee: Option<String>,
    /// Whether A has it, and B.
    pub in_both: (bool, bool),
    /// What B has more, or less.
    pub bytes: i64,
}

/// Changes that belong together.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Explanation {
    /// What happened.
    pub reason: Reason,
    /// The module that has all of them, where it is known; a list of modules is `layers.*`.
    pub module: Option<String>,
    /// How many members of the list.
    pub members: usize,
    /// Kinds, with what B has more or less of each, the most first.
    pub categories: Vec<KindChange>,
    /// What B has more, or less.
    pub bytes: i64,
    /// In A.
    pub a: Sums,
    /// In B.
    pub b: Sums,
    /// Call sites, the most first.
    pub sites: Vec<SiteChange>,
    /// The setting, version or code that differs and explains it.
    pub because: Option<String>,
}

impl Explanation {
    /// The sum over changes.
    pub(crate) fn of(reason: Reason, module: Option<String>, changes: &[&Change]) -> Self {
        let sum = |side: fn(&Change) -> Sums| {
            changes.iter().fold(Sums::default(), |sums, change| sums.plus(side(change)))
        };
        Self {
            reason,
            module,
            members: 0,
            categories: categories(changes),
            bytes: changes.iter().map(|change| change.bytes()).sum(),
            a: sum(|change| change.a),
            b: sum(|change| change.b),
            sites: sites(changes),
            because: None,
        }
    }

    /// The kind that most of it is.
    #[must_use]
    pub fn category(&self) -> &str {
        self.categories.first().map_or("", |kind| kind.category.name())
    }
}

fn categories(changes: &[&Change]) -> Vec<KindChange> {
    let mut sums = BTreeMap::<Category, i64>::new();
    for change in changes {
        *sums.entry(change.category).or_default() += change.bytes();
    }
    let mut kinds: Vec<KindChange> =
        sums.into_iter().map(|(category, bytes)| KindChange { category, bytes }).collect();
    kinds.sort_by_key(|kind| std::cmp::Reverse(kind.bytes.unsigned_abs()));
    kinds
}

/// Sites with what is named before what is not, the most first.
fn sites(changes: &[&Change]) -> Vec<SiteChange> {
    let mut sums = BTreeMap::<&str, SiteChange>::new();
    for change in changes {
        let site = change.site();
        let sum = sums.entry(site).or_insert_with(|| SiteChange {
            site: site.to_owned(),
            callee: change.callee.clone(),
            in_both: (false, false),
            bytes: 0,
        });
        sum.bytes += change.bytes();
        sum.in_both.0 |= change.site_a.is_some();
        sum.in_both.1 |= change.site_b.is_some();
    }
    let mut sums: Vec<SiteChange> = sums.into_values().collect();
    sums.sort_by_key(|site| std::cmp::Reverse(site.bytes.unsigned_abs()));
    sums.truncate(MOST_SITES);
    sums
}
