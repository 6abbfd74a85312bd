//! CallSites in the program by number, worked out once for each stack.

use std::collections::HashMap;

use foldhash::fast::RandomState;
use whyoom_trace::{StackId, Tables};

use crate::call_site::call_site;

/// No call site has been looked for yet.
const UNKNOWN: u32 = u32::MAX;

/// The places of the stacks that were asked for.
#[derive(Debug, Default)]
pub(crate) struct CallSites {
    /// By the stack's id: ids are dense.
    of_stack: Vec<u32>,
    by_name: HashMap<String, u32, RandomState>,
    /// The stack by which each was met first.
    first: Vec<StackId>,
}

impl CallSites {
    /// The number of a stack's call site.
    pub(super) fn of(&mut self, stack: StackId, tables: &Tables) -> u32 {
        let index = stack.0 as usize;
        if index >= self.of_stack.len() {
            self.of_stack.resize(index + 1, UNKNOWN);
        }
        if self.of_stack[index] == UNKNOWN {
            let next = self.first.len() as u32;
            let number = *self.by_name.entry(call_site(tables, stack)).or_insert(next);
            if number == next {
                self.first.push(stack);
            }
            self.of_stack[index] = number;
        }
        self.of_stack[index]
    }

    /// How many there are.
    pub(super) fn len(&self) -> usize {
        self.first.len()
    }

    /// The names by number, each with a stack that leads there.
    pub(super) fn names(&self) -> Vec<(&str, StackId)> {
        let mut names: Vec<(&str, StackId)> = self.first.iter().map(|&stack| ("", stack)).collect();
        for (name, &number) in &self.by_name {
            names[number as usize].0 = name;
        }
        names
    }
}
