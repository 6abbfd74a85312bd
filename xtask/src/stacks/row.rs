//! How one program went in all ways.

use std::fmt;

use anyhow::Result;

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
    pub(super) fn of(program: &'a Program, tried: impl Fn(Way) -> Result<Cell>) -> Result<Self> {
        let cells = WAYS.into_iter().map(|way| Ok((way, tried(way)?)));
        Ok(Self { program, cells: cells.collect::<Result<_>>()? })
    }

    /// Only where it was tried in the lab, under `fit` and under `run`, and all of them are green.
    pub(super) fn is_green(&self) -> bool {
        [Way::Lab, Way::Fit, Way::Run].iter().all(|way| self.is_green_in(*way))
    }

    /// Whether the pool served it.
    pub(super) fn is_pooled(&self) -> bool {
        self.is_green_in(Way::Pool)
    }

    fn is_green_in(&self, way: Way) -> bool {
        self.cells.iter().any(|(tried, cell)| *tried == way && cell.is_green())
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
        assert!(Row::of(&program, |_| Ok(green())).unwrap().is_green());
        let red = Cell::Red { seconds: 1.0, why: String::new() };
        for way in WAYS {
            let cell = |tried| if tried == way { red.clone() } else { green() };
            let row = Row::of(&program, |tried| Ok(cell(tried))).unwrap();
            assert_eq!((row.is_green(), row.is_pooled()), (way == Way::Pool, way != Way::Pool));
        }
        let cells = vec![(Way::Lab, green())];
        assert!(!Row { program: &program, cells }.is_green(), "ways are missing");
    }
}
