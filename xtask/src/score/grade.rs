//! How right an answer was.

use super::{answer::Answer, case::Case, trial::Tried, truth::Truth};

/// The bytes may be so far off.
pub(super) const BYTES_BAR: f64 = 0.05;

/// What was right and what was not.
#[derive(Debug, Default, Clone, PartialEq)]
pub(super) struct Grade {
    /// Whether the primary cause is the true one.
    pub(super) cause: bool,
    /// How far the bytes are off, as a share, where they are known.
    pub(super) bytes_off: Option<f64>,
    /// What must be advised and was not.
    pub(super) missing: Vec<String>,
    /// What was advised and must not be.
    pub(super) wrong: Vec<String>,
    /// Other causes that are true and were not told of.
    pub(super) untold: Vec<String>,
}

impl Grade {
    /// Of one case.
    pub(super) fn of(case: &Case, tried: &Tried) -> Self {
        let Tried { answer, truth, .. } = tried;
        let filled = |texts: &[String]| texts.iter().map(|text| truth.fill(text)).collect();
        let (must, never): (Vec<String>, Vec<String>) = (filled(&case.remedy), filled(&case.never));
        let advised = |text: &String| answer.remedies.iter().any(|advice| advice.says(text));
        let anywhere = |text: &String| answer.all_advice().any(|advice| advice.says(text));
        let mut wrong: Vec<String> = never.into_iter().filter(anywhere).collect();
        wrong.extend(applied_already(case, answer));
        Self {
            cause: answer.cause == case.cause,
            bytes_off: bytes_off(case, answer, truth),
            missing: must.into_iter().filter(|text| !advised(text)).collect(),
            wrong,
            untold: case
                .also()
                .iter()
                .filter(|also| !answer.also.contains(also))
                .cloned()
                .collect(),
        }
    }

    /// Whether all of it was right.
    pub(super) fn is_right(&self) -> bool {
        let advice = self.missing.is_empty() && self.wrong.is_empty();
        self.cause && self.bytes_are_right() && advice && self.untold.is_empty()
    }

    /// Whether the bytes are, as far as they are known.
    pub(super) fn bytes_are_right(&self) -> bool {
        self.bytes_off.is_none_or(|off| off <= BYTES_BAR)
    }
}

/// How far the bytes are off; all of the way where none were named.
fn bytes_off(case: &Case, answer: &Answer, truth: &Truth) -> Option<f64> {
    let told = case.expected_bytes().ok().flatten();
    let expected = told.or(truth.bytes()).filter(|bytes| *bytes > 0)? as f64;
    let named = answer.bytes.unwrap_or_default() as f64;
    Some((named - expected).abs() / expected)
}

/// Settings that are advised though the program had them.
fn applied_already<'a>(case: &'a Case, answer: &'a Answer) -> impl Iterator<Item = String> + 'a {
    let lines = answer.all_advice().filter_map(|advice| advice.paste.as_deref());
    lines
        .filter(|line| {
            let setting = line.strip_prefix("export ").and_then(|rest| rest.split_once('='));
            setting
                .is_some_and(|(name, value)| case.environment.get(name).is_some_and(|v| v == value))
        })
        .map(str::to_owned)
}
