//! What one call site has in A and in B.

use serde::Serialize;
use whyoom_memory::{Category, Phase};
use whyoom_trace::ModuleRole;

use crate::names;

/// A sum over blocks of one run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Sums {
    /// What they cost.
    pub bytes: u64,
    /// What was asked for.
    #[serde(rename = "requested_bytes")]
    pub requested: u64,
    /// How many they are.
    pub blocks: u64,
}

impl Sums {
    /// Both together.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self {
            bytes: self.bytes + other.bytes,
            requested: self.requested + other.requested,
            blocks: self.blocks + other.blocks,
        }
    }
}

/// The difference of two amounts.
pub(crate) fn difference(a: u64, b: u64) -> i64 {
    let signed = |bytes: u64| i64::try_from(bytes).unwrap_or(i64::MAX);
    signed(b).saturating_sub(signed(a))
}

/// What one call site of one module has in A and in B. Every block of either is in one change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Change {
    /// The module, without the class of the outermost one where each run has one.
    pub module: Option<String>,
    /// What it is to the module.
    #[serde(with = "names::role")]
    pub role: Option<ModuleRole>,
    /// What it probably is.
    #[serde(with = "names::category")]
    pub category: Category,
    /// What the program was doing.
    #[serde(with = "names::phase")]
    pub phase: Phase,
    /// The call site in A.
    pub site_a: Option<String>,
    /// The call site in B.
    pub site_b: Option<String>,
    /// The library's function that the program called.
    pub callee: Option<String>,
    /// The library's function that allocated.
    pub maker: Option<String>,
    /// In A.
    pub a: Sums,
    /// In B.
    pub b: Sums,
    /// In how many iterations what is live was made, in A and in B.
    pub iterations: (u64, u64),
    /// The functions of the program's own that lead to it.
    #[serde(skip)]
    pub(crate) functions: Vec<String>,
    /// The parts of the module's name.
    #[serde(skip)]
    pub(crate) path: Vec<String>,
}

impl Change {
    /// What B has more, or less.
    #[must_use]
    pub fn bytes(&self) -> i64 {
        difference(self.a.bytes, self.b.bytes)
    }

    /// The functions of the program's own that lead to it, outermost first.
    #[must_use]
    pub fn functions(&self) -> &[String] {
        &self.functions
    }

    /// With A for B.
    pub(crate) fn swapped(self) -> Self {
        Self {
            site_a: self.site_b,
            site_b: self.site_a,
            a: self.b,
            b: self.a,
            iterations: (self.iterations.1, self.iterations.0),
            ..self
        }
    }

    /// The call site, of B where it has one.
    #[must_use]
    pub fn site(&self) -> &str {
        self.site_b.as_deref().or(self.site_a.as_deref()).unwrap_or_default()
    }
}
