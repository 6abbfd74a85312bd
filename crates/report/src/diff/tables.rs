//! Both runs side by side.

use whyoom_diff::{Group, RankComparison};
use whyoom_redact::terminal::{Column, Table};
use whyoom_trace::Bytes;

use super::words::signed;
use crate::text::printable;

/// Rows of a table; the others are in JSON.
const MOST_ROWS: usize = 8;

fn side_by_side(heading: &str) -> Table {
    Table::new([
        Column::words(heading).wraps(),
        Column::numbers("A"),
        Column::numbers("B"),
        Column::numbers("difference"),
    ])
}

fn row(table: &mut Table, name: &str, a: u64, b: u64) {
    let difference = i64::try_from(b).unwrap_or(i64::MAX) - i64::try_from(a).unwrap_or(i64::MAX);
    table.row([printable(name), Bytes(a).to_string(), Bytes(b).to_string(), signed(difference)]);
}

/// Both memory breakdowns: kinds, their sum, and what the allocator holds beyond it.
pub(super) fn breakdown(rank: &RankComparison) -> Table {
    let mut table = side_by_side("kind");
    let mut kinds: Vec<&Group> = rank.peak.by_category.iter().collect();
    kinds.sort_by_key(|kind| std::cmp::Reverse(kind.a.bytes.max(kind.b.bytes)));
    for kind in kinds {
        row(&mut table, &kind.name, kind.a.bytes, kind.b.bytes);
    }
    row(&mut table, "allocated", rank.a.peak, rank.b.peak);
    row(&mut table, "reserved but unallocated", rank.a.unallocated(), rank.b.unallocated());
    row(&mut table, "reserved", rank.a.reserved, rank.b.reserved);
    if let (Some(a), Some(b)) = (rank.a.outside, rank.b.outside) {
        row(&mut table, "outside the allocator", a, b);
    }
    table
}

/// The groups that changed most.
pub(super) fn groups(rows: &[Group]) -> Table {
    let mut table = side_by_side("");
    for group in rows.iter().filter(|group| group.bytes() != 0).take(MOST_ROWS) {
        let name = if group.name.is_empty() { "(the model itself)" } else { &group.name };
        row(&mut table, name, group.a.bytes, group.b.bytes);
    }
    table
}

/// A line for each rank.
pub(super) fn ranks(ranks: &[RankComparison]) -> Table {
    let mut table = side_by_side("rank");
    for rank in ranks {
        let name = rank.rank.map_or_else(|| rank.name_b.clone(), |rank| format!("rank {rank}"));
        row(&mut table, &name, rank.a.peak, rank.b.peak);
    }
    table
}
