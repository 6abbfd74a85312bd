//! What a page is of.

use std::collections::BTreeSet;

use jiff::civil::Date;

use crate::report::words::grouped;

/// Clusters that are named.
const NAMED: usize = 3;

/// What the report is of.
pub(crate) struct About {
    pub(crate) clusters: BTreeSet<String>,
    /// The days that were asked for.
    pub(crate) from: Option<Date>,
    pub(crate) to: Option<Date>,
    /// The day it was made.
    pub(crate) made: Date,
}

impl About {
    pub(super) fn subject(&self) -> String {
        let mut named: Vec<String> = self.clusters.iter().take(NAMED).cloned().collect();
        match self.clusters.len() {
            0 => return "all nodes".to_owned(),
            all if all > NAMED => named.push(format!("{} others", grouped((all - NAMED) as u64))),
            _ => {}
        }
        format!("cluster {}", named.join(", "))
    }

    /// The days that were asked for.
    pub(super) fn days(&self) -> String {
        match (self.from, self.to) {
            (None, None) => "All days of the archive".to_owned(),
            (Some(from), None) => format!("Days from {from} on"),
            (None, Some(to)) => format!("Days up to {to}"),
            (Some(from), Some(to)) => format!("Days from {from} to {to}"),
        }
    }
}
