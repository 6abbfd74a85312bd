//! What is live of each module.

use std::collections::BTreeMap;

use whyoom_trace::Tables;

use crate::{block::Usage, category::Category, live::LiveSum};

/// What is live of one module itself, without those inside it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModuleSum<'a> {
    /// The class of the outermost module, and behind it the qualified name: `GPT.layers.3.mlp`.
    pub name: &'a str,
    /// How much it is of each kind.
    pub kinds: BTreeMap<Category, Usage>,
}

impl ModuleSum<'_> {
    /// All of it.
    #[must_use]
    pub fn usage(&self) -> Usage {
        self.kinds.values().fold(Usage::default(), |sum, &usage| sum.plus(usage))
    }
}

/// Sums by module, in order of name. What belongs to none is left out.
#[must_use]
pub fn module_sums<'a>(tables: &'a Tables, sums: &[LiveSum]) -> Vec<ModuleSum<'a>> {
    let mut modules = BTreeMap::<&str, BTreeMap<Category, Usage>>::new();
    for sum in sums {
        if let Some(module) = tables.module(sum.module_stack()) {
            let usage = modules.entry(module.name).or_default().entry(sum.category).or_default();
            *usage = usage.plus(sum.usage);
        }
    }
    modules.into_iter().map(|(name, kinds)| ModuleSum { name, kinds }).collect()
}
