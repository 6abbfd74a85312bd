//! What the page of a comparison is made from.

use whyoom_diff::Comparison;
use whyoom_redact::Paths;

use super::timeline::RunTimeline;
use crate::DiffCondition;

/// Everything that the page of a comparison shows.
pub struct DiffPage<'a> {
    /// What was found.
    pub comparison: &'a Comparison,
    /// Conditions of `--fail-if`.
    pub conditions: &'a [DiffCondition],
    /// Memory over time in A and in B, as far as their sources tell it.
    pub timelines: [&'a [RunTimeline]; 2],
    /// Where a GPU was simulated, a sentence that says so.
    pub simulated: Option<String>,
    /// Which folders are left out of paths.
    pub paths: Paths,
}

impl DiffPage<'_> {
    /// What who opens it sees of the runs, in words.
    #[must_use]
    pub fn contents(&self) -> Vec<String> {
        let mut found = vec!["names of the inputs".to_owned()];
        let ranks = &self.comparison.ranks;
        let settings = ranks.iter().map(|rank| rank.settings.len()).max().unwrap_or_default();
        if settings > 0 {
            let many = if settings == 1 { "" } else { "s" };
            found.push(format!("{settings} differing setting{many}"));
        }
        found.push("functions, source files and lines".to_owned());
        found
    }
}
