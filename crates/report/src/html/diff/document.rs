//! The document of the page: web/src/diff/data.ts describes it.

use std::io;

use serde::Serialize;
use whyoom_diff::{Figures, RankComparison, SettingChange};
use whyoom_redact::Paths;

use super::{
    compared::DiffPage,
    timeline::TimelineJson,
    view::{Limits, Strings, ViewJson},
};
use crate::{
    DiffCondition,
    contents::LEFT_OUT,
    diff::{diff_headline, of_rank},
    html::page::Shell,
    write_diff,
};

/// The version of the document. A change that could break a reader raises it.
const VERSION: u32 = 1;
/// As wide as text without a terminal may be.
const TEXT_WIDTH: usize = 100;
/// Ranks that are told in full, those that differ most.
const MOST_RANKS: usize = 64;
/// Changes over all ranks; each view has some, and none more than this.
const MOST_CHANGES: usize = 24_000;
const LEAST_CHANGES: usize = 128;
const CHANGES_OF_ONE: usize = 4000;
/// The same for each way to group them.
const MOST_GROUPS: usize = 6000;
const LEAST_GROUPS: usize = 32;
const GROUPS_OF_ONE: usize = 1000;

#[derive(Serialize)]
pub(super) struct Document<'a> {
    schema: &'static str,
    version: u32,
    whyoom: &'static str,
    title: String,
    simulated: Option<&'a str>,
    contains: String,
    /// What the terminal shows, without colour.
    text: String,
    /// The first line of that.
    answer: String,
    a: &'a str,
    b: &'a str,
    ranks: Vec<RankJson<'a>>,
    only_a: &'a [String],
    only_b: &'a [String],
    conditions: &'a [DiffCondition],
    strings: Strings,
    #[serde(skip)]
    paths: &'a Paths,
}

#[derive(Serialize)]
struct RankJson<'a> {
    rank: Option<u32>,
    name_a: &'a str,
    name_b: &'a str,
    answer: String,
    a: &'a Figures,
    b: &'a Figures,
    unchanged: bool,
    noise_bytes: u64,
    /// The peak first; none for ranks that are not told in full.
    views: Vec<ViewJson>,
    /// Which of them explains the difference of the peaks.
    explained_by: usize,
    settings: &'a [SettingChange],
    timelines: [Option<TimelineJson>; 2],
}

impl<'a> Document<'a> {
    pub(super) fn of(page: &'a DiffPage<'a>) -> io::Result<Self> {
        let comparison = page.comparison;
        let mut text = Vec::new();
        write_diff(comparison, page.conditions, TEXT_WIDTH, &mut text)?;
        let text = anstream::adapter::strip_str(&String::from_utf8_lossy(&text)).to_string();
        let mut strings = Strings::default();
        let limits = limits(&comparison.ranks);
        let ranks = comparison.ranks.iter().enumerate().map(|(index, rank)| {
            let limits = (index < MOST_RANKS).then_some(limits);
            RankJson::of(rank, page, limits, &mut strings)
        });
        Ok(Self {
            schema: "whyoom.diff-page",
            version: VERSION,
            whyoom: env!("CARGO_PKG_VERSION"),
            title: page.paths.shorten(&format!("{} and {}", comparison.a, comparison.b)).into(),
            simulated: page.simulated.as_deref(),
            contains: format!("{}. {LEFT_OUT}.", page.contents().join("; ")),
            text: page.paths.shorten(&text).into(),
            answer: diff_headline(comparison),
            a: &comparison.a,
            b: &comparison.b,
            ranks: ranks.collect(),
            only_a: &comparison.only_a,
            only_b: &comparison.only_b,
            conditions: page.conditions,
            strings,
            paths: &page.paths,
        })
    }

    /// What of it is text.
    pub(super) fn shell(&self) -> Shell<'_> {
        let (title, text, contains) = (&self.title, &self.text, &self.contains);
        Shell { title, text, contains, paths: Some(self.paths) }
    }
}

/// What each view of each rank may tell.
fn limits(ranks: &[RankComparison]) -> Limits {
    let told = ranks.iter().take(MOST_RANKS);
    let views: usize = told.map(|rank| views(rank).len()).sum();
    let share = |most: usize, least: usize| (most / views.max(1)).max(least);
    Limits {
        changes: share(MOST_CHANGES, LEAST_CHANGES).min(CHANGES_OF_ONE),
        groups: share(MOST_GROUPS, LEAST_GROUPS).min(GROUPS_OF_ONE),
    }
}

/// The moments that are compared, in words; the peak first.
fn views(rank: &RankComparison) -> Vec<(String, &whyoom_diff::View)> {
    let mut views = vec![("peak".to_owned(), &rank.peak)];
    let in_phase = |same: &str| format!("peak of {same}");
    views.extend(rank.same_phase.as_ref().map(|same| (in_phase(same.phase), &same.view)));
    views.extend(rank.steady.as_ref().map(|steady| ("steady state".to_owned(), steady)));
    views
}

impl<'a> RankJson<'a> {
    fn of(
        rank: &'a RankComparison,
        page: &DiffPage<'_>,
        limits: Option<Limits>,
        strings: &mut Strings,
    ) -> Self {
        let [a, b] = page.timelines;
        let told = limits.map(|limits| {
            let views = views(rank).into_iter();
            views.map(|(moment, view)| ViewJson::of(moment, view, rank, limits, strings)).collect()
        });
        let timelines = [(a, &rank.name_a), (b, &rank.name_b)];
        Self {
            rank: rank.rank,
            name_a: &rank.name_a,
            name_b: &rank.name_b,
            answer: of_rank(rank),
            a: &rank.a,
            b: &rank.b,
            unchanged: rank.unchanged,
            noise_bytes: rank.noise,
            views: told.unwrap_or_default(),
            explained_by: usize::from(rank.same_phase.is_some()),
            settings: &rank.settings,
            timelines: timelines
                .map(|(timelines, name)| limits.and_then(|_| TimelineJson::of(timelines, name))),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};
    use whyoom_diff::{Profile, compare};

    use super::*;
    use crate::write_diff_json;

    /// A rank with so many call sites, of so many bytes each.
    fn rank(rank: u32, sites: usize, bytes: u64) -> Value {
        let row = |site: usize| {
            json!({
                "module": format!("GPT.layers.{site}"), "role": null, "category": "activations",
                "phase": "forward", "site": format!("train.py:{site} f"),
                "own": [{"function": "main", "file": "train.py", "line": site}],
                "callee": null, "maker": null, "checkpoint": false, "iterations": 1,
                "bytes": bytes, "requested": bytes, "blocks": 1,
            })
        };
        let all = bytes * sites as u64;
        let rows: Vec<Value> = (0..sites).map(row).collect();
        json!({
            "process": format!("rank {rank}"), "rank": rank, "device": "GPU 0",
            "peak": {"allocated": all, "requested": all, "reserved": all, "rows": rows},
            "phases": {}, "steady": null, "steady_at": "iteration", "peak_phase": "forward",
            "peak_reserved": all, "outside": null, "iterations": 1, "settings": {}, "versions": {},
            "gpu": null, "capacity": null, "code": [], "library_lines": {},
        })
    }

    fn profile(name: &str, ranks: &[Value]) -> Profile {
        serde_json::from_value(json!({"name": name, "ranks": ranks})).expect("a profile")
    }

    /// The document of the page, and that of `--json`.
    fn documents(a: &Profile, b: &Profile) -> (Value, Value) {
        let comparison = compare(a, b);
        let page = DiffPage {
            comparison: &comparison,
            conditions: &[],
            timelines: [&[], &[]],
            simulated: None,
            paths: Paths::default(),
        };
        let document = Document::of(&page).expect("memory");
        let mut json = Vec::new();
        write_diff_json(&comparison, &[], &mut json).expect("memory");
        let json = serde_json::from_slice(&json).expect("JSON");
        (serde_json::to_value(&document).expect("JSON"), json)
    }

    #[test]
    fn figures_are_those_of_the_json_document() {
        let (a, b) = (profile("a", &[rank(0, 3, 1 << 20)]), profile("b", &[rank(0, 3, 3 << 20)]));
        let (page, json) = documents(&a, &b);
        assert_eq!(page["answer"], json["answer"]);
        let (shown, told) = (&page["ranks"][0], &json["ranks"][0]);
        for key in ["a", "b", "unchanged", "noise_bytes", "settings", "rank"] {
            assert_eq!(shown[key], told[key], "{key}");
        }
        let view = &shown["views"][0];
        assert_eq!(view["b_bytes"], told["peak"]["b_bytes"]);
        let group = &view["by_kind"]["groups"][0];
        assert_eq!(page["strings"][group[0].as_u64().expect("a number") as usize], "activations");
        assert_eq!(group[1], json!([3 << 20, 3, 9 << 20, 3]));
        assert_eq!(view["explanations"][0]["bytes"], told["peak"]["explanations"][0]["bytes"]);
    }

    #[test]
    fn very_many_changes_are_summed_up() {
        let sites = CHANGES_OF_ONE + 10;
        let (a, b) = (profile("a", &[rank(0, sites, 512)]), profile("b", &[rank(0, sites, 1024)]));
        let (page, _) = documents(&a, &b);
        let view = &page["ranks"][0]["views"][0];
        assert_eq!(view["changes"].as_array().map(Vec::len), Some(CHANGES_OF_ONE));
        assert_eq!(view["left_out"], json!({"count": 10, "sums": [5120, 10, 10240, 10]}));
        let groups = &view["by_site"];
        assert_eq!(groups["groups"].as_array().map(Vec::len), Some(GROUPS_OF_ONE));
        assert_eq!(groups["left_out"]["count"], sites - GROUPS_OF_ONE);
    }

    #[test]
    fn of_very_many_ranks_the_worst_are_told_in_full() {
        let ranks = |bytes: u64| -> Vec<Value> {
            (0..MOST_RANKS as u32 + 2).map(|one| rank(one, 1, bytes * u64::from(one + 1))).collect()
        };
        let (a, b) = (profile("a", &ranks(1 << 20)), profile("b", &ranks(2 << 20)));
        let (page, json) = documents(&a, &b);
        let (shown, told) = (page["ranks"].as_array(), json["ranks"].as_array());
        let (shown, told) = (shown.expect("ranks"), told.expect("ranks"));
        assert_eq!(shown.len(), told.len());
        let in_full = |rank: &&Value| rank["views"] != json!([]);
        assert_eq!(shown.iter().take_while(in_full).count(), MOST_RANKS);
        assert_eq!(shown.last().map(|rank| &rank["b"]), told.last().map(|rank| &rank["b"]));
    }
}
