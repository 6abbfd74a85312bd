//! What each line of the program holds, every time that it allocates.
//!
//! A line outside any module that holds more each time leaks, whatever else the run does meanwhile: no
//! iterations need to be known for that.

use serde::{Deserialize, Serialize};
use whyoom_trace::{Bytes, StackId};

use crate::{
    by_stack::ByStack,
    iterations::{Boundaries, Boundary},
};

/// Lines beyond these are not followed: a program has fewer of its own.
const MANY_LINES: usize = 2048;
/// Levels kept of each.
const LEVELS: usize = 128;

/// The stacks outside any module that allocate, and what each held whenever it did.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct Lines {
    /// Where each stack's levels are. Zero is nowhere.
    positions: ByStack<u32>,
    levels: Vec<Boundaries>,
}

impl Lines {
    /// Takes an allocation of a stack that holds so much of what was in use at that boundary.
    pub(crate) fn allocation(&mut self, stack: StackId, boundary: Boundary, holds: Bytes) {
        let position = self.positions.get_mut(stack);
        if *position == 0 {
            if self.levels.len() >= MANY_LINES {
                return;
            }
            self.levels.push(Boundaries::of_at_most(LEVELS));
            *position = self.levels.len() as u32;
        }
        self.levels[*position as usize - 1].note(Boundary { allocated: holds, ..boundary });
    }

    /// The levels of a stack, if it was followed.
    pub(crate) fn levels(&self, stack: StackId) -> Option<&Boundaries> {
        let position = self.positions.get(stack);
        self.levels.get((position as usize).checked_sub(1)?)
    }
}
