//! How one program went in all ways.

use std::fmt;

use super::{
    cell::Cell,
    table::Program,
    way::{WAYS, Way},
};

/// A program in all ways, in the order of [`WAYS`].
#[derive(Debug)]
pub(super) struct Row<'a> {
    pub program: &'a Program,
    pub cells: Vec<(Way, Cell)>,
}

impl<'a> Row<'a> {
    /// Tries a program in each way.
    pub(super) fn of(program: &'a Program, tried: impl Fn(Way) -> Cell) -> Self {
        Self { program, cells: WAYS.map(|way| (way, tried(way))).into() }
    }

    /// Only where every way was tried and is green.
    pub(super) fn is_green(&self) -> bool {
        self.cells.len() == WAYS.len() && self.cells.iter().all(|(_, cell)| cell.is_green())
    }
}

impl fmt::Display for Row<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{:<16}", self.program.name)?;
        for (_, cell) in &self.cells {
            write!(out, " {cell:<10}")?;
        }
        for (way, cell) in &self.cells {
            write!(out, "\n  {:<4} {}", way.name(), cell.words())?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stacks::table::read;

    fn green() -> Cell {
        Cell::Green { seconds: 1.0, said: String::new() }
    }

    #[test]
    fn one_way_that_is_red_or_missing_makes_a_program_not_green() {
        let program = read().unwrap().programs.swap_remove(0);
        assert!(Row::of(&program, |_| green()).is_green());
        let red = Cell::Red { seconds: 1.0, why: String::new() };
        let last = |way| if way == Way::Pool { red.clone() } else { green() };
        assert!(!Row::of(&program, last).is_green());
        let cells = vec![(Way::Lab, green())];
        assert!(!Row { program: &program, cells }.is_green(), "ways are missing");
    }
}
