//! What is live of each module.

use std::collections::BTreeMap;

use whyoom_trace::{Bytes, Tables};

use crate::{block::Usage, category::Category, live::LiveSum};

/// What is live of one module itself, without those inside it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModuleSum<'a> {
    /// The class of the outermost module, and behind it the qualified name: `GPT.layers.3.mlp`.
    pub name: &'a str,
    /// How much it is of each kind, and how much of that was asked for.
    pub kinds: BTreeMap<Category, (Usage, Bytes)>,
}

impl ModuleSum<'_> {
    /// All of it.
    #[must_use]
    pub fn usage(&self) -> Usage {
        self.kinds.values().fold(Usage::default(), |sum, &(usage, _)| sum.plus(usage))
    }
}

/// Sums by module, in order of name. What belongs to none is left out.
#[must_use]
pub fn module_sums<'a>(tables: &'a Tables, sums: &[LiveSum]) -> Vec<ModuleSum<'a>> {
    let mut modules = BTreeMap::<&str, BTreeMap<Category, (Usage, Bytes)>>::new();
    for sum in sums {
        if let Some(module) = tables.module(sum.module_stack()) {
            let kinds = modules.entry(module.name).or_default();
            let (usage, requested) = kinds.entry(sum.category).or_default();
            *usage = usage.plus(sum.usage);
            *requested = requested.plus(sum.requested);
        }
    }
    modules.into_iter().map(|(name, kinds)| ModuleSum { name, kinds }).collect()
}
