//! Which rows the table has: chosen, filtered, sorted, and as a tree where that is wanted.

use std::collections::{HashMap, HashSet};

use whyoom_node::{NodeReport, Workload};

use super::{entry::Entry, order::Order};

/// Deeper branches are drawn no deeper: a line has to have room for the command.
const MAX_DEPTH: usize = 10;

/// A row of the table, by its place in the report.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Row {
    /// The device's place in the report.
    pub(crate) device: usize,
    /// The holder's place in the device.
    pub(crate) holder: usize,
    /// In a tree, for each ancestor and at last itself, whether it is the last child of its parent.
    pub(crate) branch: Vec<bool>,
}

/// How rows are chosen.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Arrangement {
    pub(crate) order: Order,
    pub(crate) reversed: bool,
    /// Words that a row must all contain.
    pub(crate) filter: String,
    pub(crate) tree: bool,
    /// Only this device, by its number.
    pub(crate) device: Option<u32>,
}

/// The rows of a report, in order.
pub(crate) fn rows(report: &NodeReport, arrangement: &Arrangement) -> Vec<Row> {
    let mut rows = matching(report, arrangement);
    rows.sort_by(|a, b| {
        match (entry(report, a), entry(report, b)) {
            (Some(a), Some(b)) if arrangement.reversed => arrangement.order.compare(&b, &a),
            (Some(a), Some(b)) => arrangement.order.compare(&a, &b),
            // Rows come from this very report.
            _ => std::cmp::Ordering::Equal,
        }
    });
    if arrangement.tree { as_tree(report, &rows) } else { rows }
}

/// What a row shows.
pub(crate) fn entry<'a>(report: &'a NodeReport, row: &Row) -> Option<Entry<'a>> {
    let device = report.devices.get(row.device)?;
    Some(Entry { device, holder: device.holders.get(row.holder)? })
}

fn matching(report: &NodeReport, arrangement: &Arrangement) -> Vec<Row> {
    let words: Vec<String> = arrangement.filter.split_whitespace().map(str::to_lowercase).collect();
    let mut rows = Vec::new();
    for (place, device) in report.devices.iter().enumerate() {
        if arrangement.device.is_some_and(|chosen| chosen != device.device.index) {
            continue;
        }
        for (number, holder) in device.holders.iter().enumerate() {
            if matches(&Entry { device, holder }, &words) {
                rows.push(Row { device: place, holder: number, branch: Vec::new() });
            }
        }
    }
    rows
}

fn matches(entry: &Entry<'_>, words: &[String]) -> bool {
    if words.is_empty() {
        return true;
    }
    let holder = entry.holder;
    let text = |part: &Option<String>| part.clone().unwrap_or_default();
    let workload = match &holder.workload {
        Some(Workload::Container { id }) => format!("container {id}"),
        Some(Workload::Pod { uid, .. }) => format!("pod {uid}"),
        Some(Workload::Slurm { job }) => format!("slurm job {job}"),
        None => String::new(),
    };
    let line = format!(
        "{} {} {} {} {} {workload}",
        holder.pid,
        text(&holder.user),
        text(&holder.command),
        text(&holder.name),
        entry.standing().word(),
    )
    .to_lowercase();
    words.iter().all(|word| line.contains(word))
}

/// Children below their parents, siblings in the order of the rows. A process on several devices keeps
/// its rows together. Reports can be wrong in any way, so circles of parents are cut.
fn as_tree(report: &NodeReport, rows: &[Row]) -> Vec<Row> {
    let mut family = Family::default();
    for row in rows {
        if let Some(entry) = entry(report, row) {
            family.add(entry.holder.pid, entry.holder.parent, row);
        }
    }
    let mut out = Vec::with_capacity(rows.len());
    let mut seen = HashSet::new();
    for pid in family.roots().into_iter().chain(family.pids.clone()) {
        family.write(pid, &mut seen, &mut out);
    }
    out
}

#[derive(Default)]
struct Family {
    pids: Vec<u32>,
    rows: HashMap<u32, Vec<Row>>,
    parents: HashMap<u32, u32>,
    children: HashMap<u32, Vec<u32>>,
}

impl Family {
    fn add(&mut self, pid: u32, parent: Option<u32>, row: &Row) {
        let rows = self.rows.entry(pid).or_default();
        if rows.is_empty() {
            self.pids.push(pid);
            if let Some(parent) = parent.filter(|parent| *parent != pid) {
                self.parents.insert(pid, parent);
                self.children.entry(parent).or_default().push(pid);
            }
        }
        rows.push(row.clone());
    }

    /// Those whose parent holds nothing, or is not shown.
    fn roots(&self) -> Vec<u32> {
        let parent_is_shown =
            |pid: &u32| self.parents.get(pid).is_some_and(|parent| self.rows.contains_key(parent));
        self.pids.iter().copied().filter(|pid| !parent_is_shown(pid)).collect()
    }

    fn write(&self, root: u32, seen: &mut HashSet<u32>, out: &mut Vec<Row>) {
        let mut waiting = vec![(root, Vec::new())];
        while let Some((pid, branch)) = waiting.pop() {
            if !seen.insert(pid) {
                continue;
            }
            for row in self.rows.get(&pid).into_iter().flatten() {
                out.push(Row { branch: branch.clone(), ..row.clone() });
            }
            let children = self.children.get(&pid).map_or(&[][..], Vec::as_slice);
            let last = children.len().saturating_sub(1);
            for (place, child) in children.iter().enumerate().rev() {
                let mut below = branch.clone();
                below.truncate(MAX_DEPTH - 1);
                below.push(place == last);
                waiting.push((*child, below));
            }
        }
    }
}
