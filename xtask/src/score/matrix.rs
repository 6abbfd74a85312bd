//! Which cause was taken for which.

use std::collections::BTreeMap;

use super::row::Row;

/// How often each cause was given each answer.
pub(super) struct Matrix {
    /// Every cause that is true or was named, in the catalogue's order.
    pub(super) causes: Vec<String>,
    counts: BTreeMap<(String, String), usize>,
}

impl Matrix {
    /// Of those cases.
    pub(super) fn of(rows: &[Row]) -> Self {
        let mut counts = BTreeMap::new();
        for row in rows {
            let pair = (row.case.cause.clone(), row.cause().to_owned());
            *counts.entry(pair).or_default() += 1;
        }
        let is_met = |cause: &str| counts.keys().any(|(a, b)| a == cause || b == cause);
        let known = whyoom_causes::CATALOGUE.iter().map(|cause| cause.id);
        let causes = known.chain(["(failed)"]).filter(|cause| is_met(cause)).map(str::to_owned);
        Self { causes: causes.collect(), counts }
    }

    /// How often what is `truth` was called `said`.
    pub(super) fn count(&self, truth: &str, said: &str) -> usize {
        self.counts.get(&(truth.to_owned(), said.to_owned())).copied().unwrap_or_default()
    }

    /// A line for each cause: how many were right, and what the others were taken for.
    pub(super) fn text(&self) -> String {
        let mut lines =
            vec![format!("{:<18} {:>5} {:>5}  taken for", "true cause", "cases", "right")];
        for truth in &self.causes {
            let row: Vec<_> =
                self.causes.iter().map(|said| (said, self.count(truth, said))).collect();
            let all: usize = row.iter().map(|(_, count)| count).sum();
            let others = row.iter().filter(|(said, count)| *said != truth && *count > 0);
            let others: Vec<_> = others.map(|(said, count)| format!("{said} {count}")).collect();
            let right = self.count(truth, truth);
            lines.push(format!("{truth:<18} {all:>5} {right:>5}  {}", others.join(", ")));
        }
        lines.join("\n") + "\n"
    }
}
