//! How many programs are green, and how many must be.

use std::fmt;

use super::row::Row;

/// So many programs must be green.
pub(super) const BAR: usize = 22;

/// How many programs are what.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Sum {
    pub green: usize,
    /// Of those, how many run with the pool too.
    pub pooled: usize,
    pub red: usize,
    pub not_tried: usize,
}

impl Sum {
    pub(super) fn of(rows: &[Row<'_>], not_tried: usize) -> Self {
        let green = rows.iter().filter(|row| row.is_green()).count();
        let pooled = rows.iter().filter(|row| row.is_green() && row.is_pooled()).count();
        Self { green, pooled, red: rows.len() - green, not_tried }
    }
}

impl fmt::Display for Sum {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { green, pooled, red, not_tried } = self;
        let all = green + red + not_tried;
        write!(
            out,
            "{green} of {all} green in lab, fit and run ({pooled} of them with the pool too), {red} red, \
             {not_tried} not tried"
        )
    }
}
