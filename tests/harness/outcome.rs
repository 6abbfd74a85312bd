//! How a check ended.

use std::{collections::BTreeMap, env, fmt, os::unix::fs::MetadataExt};

use serde::{Deserialize, Serialize};

use crate::checkout::shared_data_folder;

/// How a check ended. What was skipped did not hold.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Outcome {
    /// It holds.
    Held(Held),
    /// It does not hold, or could not be made.
    Failed {
        /// The error's words.
        why: String,
    },
    /// It was not made.
    Skipped {
        /// What is missing.
        why: String,
    },
}

/// What a check saw that held.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Held {
    /// In words.
    pub figure: String,
    /// What is summed over the checks of a part.
    pub counts: BTreeMap<String, u64>,
}

impl Held {
    /// Something that held.
    pub fn new(figure: impl Into<String>) -> Self {
        Self { figure: figure.into(), counts: BTreeMap::new() }
    }

    /// With an amount that is summed over a part.
    #[must_use]
    pub fn count(mut self, what: &str, amount: u64) -> Self {
        *self.counts.entry(what.to_owned()).or_default() += amount;
        self
    }
}

/// What a check cannot do without, and not every machine has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Need {
    /// Data from real GPUs beside the checkout.
    SharedData,
    /// To become another user, and to make namespaces.
    Root,
    /// A count of instructions.
    Valgrind,
}

/// Why a check was not made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Skip(pub Need);

impl Need {
    /// An error where it is not there: the check ends as skipped, or as failed where it must be there.
    pub fn met(self) -> Result<(), Skip> {
        if self.is_met() { Ok(()) } else { Err(Skip(self)) }
    }

    fn is_met(self) -> bool {
        match self {
            Self::SharedData => shared_data_folder().is_dir(),
            Self::Root => is_root(),
            Self::Valgrind => {
                std::process::Command::new("valgrind").arg("--version").output().is_ok()
            }
        }
    }

    /// As `WHYOOM_MAY_SKIP` names it.
    fn name(self) -> &'static str {
        match self {
            Self::SharedData => "shared",
            Self::Root => "root",
            Self::Valgrind => "valgrind",
        }
    }

    /// Whether a check may be skipped for want of it. In continuous integration (`CI=true`) everything
    /// must be there, but for what `WHYOOM_MAY_SKIP=shared,root` names.
    fn may_be_missing(self) -> bool {
        let is_ci = env::var("CI").is_ok_and(|ci| ci == "true");
        self.may_be_missing_where(is_ci, &env::var("WHYOOM_MAY_SKIP").unwrap_or_default())
    }

    fn may_be_missing_where(self, is_ci: bool, named: &str) -> bool {
        !is_ci || named.split(',').any(|word| word == self.name())
    }
}

impl fmt::Display for Skip {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self.0 {
            Need::SharedData => "../shared/data is not there",
            Need::Root => "this needs root, to become another user and to make namespaces",
            Need::Valgrind => "valgrind is not installed",
        })
    }
}

impl std::error::Error for Skip {}

impl From<anyhow::Result<Held>> for Outcome {
    fn from(result: anyhow::Result<Held>) -> Self {
        match result {
            Ok(held) => Self::Held(held),
            Err(error) => match error.downcast_ref::<Skip>() {
                Some(skip) if skip.0.may_be_missing() => {
                    Self::Skipped { why: format!("{error:#}") }
                }
                Some(_) => Self::Failed { why: format!("it must be there: {error:#}") },
                None => Self::Failed { why: format!("{error:#}") },
            },
        }
    }
}

/// Whether this process may become another user and make namespaces.
#[must_use]
pub fn is_root() -> bool {
    std::fs::metadata("/proc/self").is_ok_and(|own| own.uid() == 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_skipped_never_holds() {
        let outcome = Outcome::from(Err(Skip(Need::SharedData).into()));
        assert!(!matches!(outcome, Outcome::Held(_)));
        let failed = Outcome::from(Err(anyhow::anyhow!("no")));
        assert_eq!(failed, Outcome::Failed { why: "no".to_owned() });
    }

    #[test]
    fn continuous_integration_skips_only_what_is_named() {
        let need = Need::Root;
        assert!(need.may_be_missing_where(false, ""));
        assert!(!need.may_be_missing_where(true, ""));
        assert!(!need.may_be_missing_where(true, "shared"));
        assert!(need.may_be_missing_where(true, "shared,root"));
    }

    #[test]
    fn amounts_of_one_name_are_summed() {
        let held = Held::new("two").count("calls", 2).count("calls", 3);
        assert_eq!(held.counts["calls"], 5);
    }
}
