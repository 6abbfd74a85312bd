//! What Python itself told of who keeps tensors alive, matched with the blocks that grow.

use std::collections::HashMap;

use whyoom_memory::{Growth, Model};
use whyoom_trace::{Address, Bytes, Tables};

use crate::{
    catalogue::{GROWTH, order_by_keeper},
    finding::{Basis, Evidence, Finding},
    verdict::Verdict,
};

/// How many keepers are listed.
const LISTED: usize = 4;
/// A keeper of less than this share of the growth is not listed: variables of the iteration under way.
const WORTH_NAMING: f64 = 0.02;

/// A name in a Python program under which tensors were kept when it was asked.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Keeper {
    /// The process, by its number.
    pub pid: u32,
    /// What the name stands for: a `variable`, an `attribute`, a `list`, `dict` or other container, or a
    /// `traceback`, whose frames keep their variables.
    pub kind: String,
    /// The name.
    pub name: String,
    /// The function that it is a variable of; nothing for a module's.
    pub function: Option<String>,
    /// The file of that function or module.
    pub file: Option<String>,
    /// The line at which the function was.
    pub line: Option<u32>,
    /// Whether the tensors are what the graphs behind the kept ones save for backward.
    pub graph: bool,
    /// The blocks: where each lies, and its size.
    pub blocks: Vec<(Address, Bytes)>,
}

/// What a way of keeping calls for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Way {
    /// A running sum, or another single variable.
    Variable,
    /// A list or another container.
    Container,
    /// Exceptions that are kept.
    Exceptions,
}

/// Adds to growth's finding who keeps the blocks that grew, by their addresses, and puts the remedy for that
/// first. What lies at no address that Python told is not claimed to be anybody's.
pub fn name_keepers(verdict: &mut Verdict, model: &Model, tables: &Tables, keepers: &[Keeper]) {
    for finding in std::iter::once(&mut verdict.primary).chain(&mut verdict.contributing) {
        if finding.cause == GROWTH {
            name_in(finding, model, tables, keepers);
        }
    }
}

fn name_in(finding: &mut Finding, model: &Model, tables: &Tables, keepers: &[Keeper]) {
    let process = tables.process_name(finding.process);
    let of_process = |keeper: &&Keeper| process.ends_with(&format!("(PID {})", keeper.pid));
    let own: Vec<&Keeper> = keepers.iter().filter(of_process).collect();
    let incidents = model.incidents().iter().filter(|incident| {
        (incident.process, incident.device) == (finding.process, finding.device)
    });
    let at_end = model.growth(finding.process, finding.device);
    let growths = incidents.filter_map(|incident| incident.growth.as_ref()).chain(&at_end);
    // Python was asked at one of the failures, or at the end: the one that it knows most blocks of.
    let matched = growths.map(|growth| matches(growth, &own));
    let Some(matched) = matched.max_by_key(|found| sum_of(found)) else { return };
    if matched.is_empty() {
        return;
    }
    let worth =
        |bytes: Bytes| finding.gives_back.is_none_or(|all| bytes.share_of(all) >= WORTH_NAMING);
    let lines: Vec<Evidence> = matched
        .iter()
        .filter(|(_, _, bytes)| worth(*bytes))
        .take(LISTED)
        .map(|(keeper, tensors, bytes)| {
            let told = format!("{tensors} tensor{}, {bytes}", if *tensors == 1 { "" } else { "s" });
            Evidence::text(keeper.describe(), told, Basis::Recorded)
        })
        .collect();
    finding.evidence.extend(lines);
    order_by_keeper(finding, largest_way(&matched), &matched[0].0.name);
}

/// The keepers that have any of the blocks that grew, with how many and how much, the most first.
fn matches<'a>(growth: &Growth, keepers: &[&'a Keeper]) -> Vec<(&'a Keeper, u64, Bytes)> {
    let grown: HashMap<Address, Bytes> = growth.blocks.iter().copied().collect();
    let mut found: Vec<_> = keepers
        .iter()
        .map(|keeper| {
            let own = keeper.blocks.iter().filter_map(|(address, _)| grown.get(address));
            (*keeper, own.clone().count() as u64, own.copied().sum::<Bytes>())
        })
        .filter(|(_, tensors, _)| *tensors > 0)
        .collect();
    found.sort_by_key(|(_, _, bytes)| std::cmp::Reverse(*bytes));
    found
}

fn sum_of(matched: &[(&Keeper, u64, Bytes)]) -> Bytes {
    matched.iter().map(|(_, _, bytes)| *bytes).sum()
}

fn largest_way(matched: &[(&Keeper, u64, Bytes)]) -> Way {
    let sum = |way: Way| -> Bytes {
        matched.iter().filter(|(keeper, ..)| keeper.way() == way).map(|(_, _, bytes)| *bytes).sum()
    };
    let ways = [Way::Variable, Way::Container, Way::Exceptions];
    ways.into_iter().max_by_key(|way| sum(*way)).unwrap_or(Way::Variable)
}

impl Keeper {
    fn way(&self) -> Way {
        match self.kind.as_str() {
            "traceback" => Way::Exceptions,
            "variable" | "attribute" => Way::Variable,
            _ => Way::Container,
        }
    }

    /// How a person would say it: `kept by the list "outputs" of main (train.py:12)`.
    fn describe(&self) -> String {
        let file = self.file.as_deref().map(|file| file.rsplit(['/', '\\']).next().unwrap_or(file));
        let place = match (file, self.line) {
            (Some(file), Some(line)) => format!(" ({file}:{line})"),
            (Some(file), None) => format!(" ({file})"),
            _ => String::new(),
        };
        let function = self.function.as_deref().map_or(String::new(), |name| format!(" of {name}"));
        let (kind, name) = (&self.kind, &self.name);
        let graph = if self.graph { "the graph behind " } else { "" };
        match self.way() {
            Way::Exceptions => {
                let frames =
                    if self.graph { "the graph behind variables" } else { "the variables" };
                format!("kept by exceptions in \"{name}\": {frames}{function}{place}")
            }
            Way::Variable | Way::Container => {
                format!("kept by {graph}the {kind} \"{name}\"{function}{place}")
            }
        }
    }
}
