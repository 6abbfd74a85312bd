//! How many programs are green, and how many must be.

use std::fmt;

use super::row::Row;

/// So many programs must be green in all four ways.
pub(super) const BAR: usize = 22;

/// How many programs are what.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Sum {
    pub green: usize,
    pub red: usize,
    pub not_tried: usize,
}

impl Sum {
    pub(super) fn of(rows: &[Row<'_>], not_tried: usize) -> Self {
        let green = rows.iter().filter(|row| row.is_green()).count();
        Self { green, red: rows.len() - green, not_tried }
    }
}

impl fmt::Display for Sum {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { green, red, not_tried } = self;
        let all = green + red + not_tried;
        write!(out, "{green} of {all} green in all four ways, {red} red, {not_tried} not tried")
    }
}
