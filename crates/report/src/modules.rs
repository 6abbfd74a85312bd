//! What was live by module of the model: a tree of their names.

use std::{
    collections::{BTreeMap, BTreeSet},
    io::{self, Write},
};

use serde::Serialize;
use whyoom_memory::{Category, LiveSum, ModuleSum, Usage, module_sums};
use whyoom_trace::{Bytes, Tables};

use whyoom_redact::visible;

use crate::style::{self, styled};

/// A module with less than one in so many of all that is live is not shown on its own.
const LEAST: u64 = 50;
/// Columns of the table. What is of another kind is in the total alone.
const COLUMNS: [(Category, &str); 5] = [
    (Category::Parameters, "parameters"),
    (Category::Gradients, "gradients"),
    (Category::OptimizerState, "optimizer"),
    (Category::Activations, "activations"),
    (Category::Temporaries, "temporaries"),
];

/// A module and those inside it. Those of a list are one: `layers.*`.
#[derive(Default)]
struct Node<'a> {
    kinds: BTreeMap<Category, Bytes>,
    inside: BTreeMap<&'a str, Node<'a>>,
    /// The modules that it stands for.
    names: BTreeSet<&'a str>,
}

impl<'a> Node<'a> {
    fn add(&mut self, sum: &ModuleSum<'a>) {
        let mut node = self;
        node.count(sum);
        let mut end = 0;
        for part in sum.name.split('.') {
            end += part.len() + usize::from(end > 0);
            let is_index = part.bytes().all(|byte| byte.is_ascii_digit());
            node = node.inside.entry(if is_index { "*" } else { part }).or_default();
            node.names.insert(&sum.name[..end]);
            node.count(sum);
        }
    }

    fn count(&mut self, sum: &ModuleSum<'_>) {
        for (&kind, (usage, _)) in &sum.kinds {
            let bytes = self.kinds.entry(kind).or_default();
            *bytes = bytes.plus(usage.bytes);
        }
    }

    fn of(&self, kind: Category) -> Bytes {
        self.kinds.get(&kind).copied().unwrap_or_default()
    }

    fn bytes(&self) -> Bytes {
        self.kinds.values().copied().sum()
    }
}

/// A row of the table.
struct Row<'a> {
    depth: usize,
    name: String,
    node: &'a Node<'a>,
}

fn rows<'a>(node: &'a Node<'a>, depth: usize, least: Bytes, rows: &mut Vec<Row<'a>>) {
    let mut inside: Vec<_> = node.inside.iter().filter(|(_, one)| one.bytes() >= least).collect();
    inside.sort_by_key(|(_, one)| std::cmp::Reverse(one.bytes()));
    for (name, one) in inside {
        let (mut name, mut one) = ((*name).to_owned(), one);
        // A list has nothing itself: it is read together with its elements.
        while let Some((next, only)) = one.inside.first_key_value()
            && one.inside.len() == 1
            && only.bytes() == one.bytes()
        {
            (name, one) = (format!("{name}.{next}"), only);
        }
        if one.names.len() > 1 {
            name = format!("{name} ({})", one.names.len());
        }
        rows.push(Row { depth, name, node: one });
        self::rows(one, depth + 1, least, rows);
    }
}

/// Writes the modules that hold most, at most so many; nothing where no module is known.
///
/// # Errors
/// When `out` cannot be written to.
pub(crate) fn write(
    tables: &Tables,
    (moment, live): (&str, &[LiveSum]),
    most: usize,
    out: &mut dyn Write,
) -> io::Result<()> {
    let sums = module_sums(tables, live);
    if sums.is_empty() {
        return Ok(());
    }
    let mut tree = Node::default();
    sums.iter().for_each(|sum| tree.add(sum));
    let all: Bytes = live.iter().map(|sum| sum.usage.bytes).sum();
    let mut found = Vec::new();
    rows(&tree, 0, Bytes(all.0 / LEAST), &mut found);
    let heading = format!("Memory by module {moment}: {} of {all}", tree.bytes());
    writeln!(out, "\n{}", styled(style::HEADING, heading))?;
    write!(out, "  {:>11}", "total")?;
    COLUMNS.iter().try_for_each(|(_, title)| write!(out, " {title:>11}"))?;
    writeln!(out, "  module")?;
    for row in found.iter().take(most) {
        write!(out, "  {:>11}", row.node.bytes().to_string())?;
        for (kind, _) in COLUMNS {
            let bytes = row.node.of(kind);
            let text = if bytes == Bytes::ZERO { "–".to_owned() } else { bytes.to_string() };
            write!(out, " {text:>11}")?;
        }
        writeln!(out, "  {:indent$}{}", "", visible(&row.name), indent = 2 * row.depth)?;
    }
    Ok(())
}

/// The modules at the top of the tree that hold most, those of a list as one.
#[must_use]
pub fn largest_modules(tables: &Tables, live: &[LiveSum], most: usize) -> Vec<(String, Bytes)> {
    let sums = module_sums(tables, live);
    let mut tree = Node::default();
    sums.iter().for_each(|sum| tree.add(sum));
    let mut found = Vec::new();
    rows(&tree, 0, Bytes(tree.bytes().0 / LEAST), &mut found);
    let mut inside: Vec<_> = found.into_iter().filter(|row| row.depth == 1).collect();
    inside.sort_by_key(|row| std::cmp::Reverse(row.node.bytes()));
    inside.into_iter().take(most).map(|row| (row.name, row.node.bytes())).collect()
}

/// One module itself, without those inside it, for programs.
#[derive(Serialize)]
pub(crate) struct ModuleJson<'a> {
    name: &'a str,
    bytes: u64,
    kinds: BTreeMap<&'static str, AmountJson>,
}

#[derive(Serialize)]
struct AmountJson {
    bytes: u64,
    requested_bytes: u64,
}

/// All modules that hold anything, in order of name.
pub(crate) fn modules_json<'a>(tables: &'a Tables, sums: &[LiveSum]) -> Vec<ModuleJson<'a>> {
    module_sums(tables, sums).iter().map(ModuleJson::of).collect()
}

impl<'a> ModuleJson<'a> {
    fn of(sum: &ModuleSum<'a>) -> Self {
        let amount = |&(usage, requested): &(Usage, Bytes)| AmountJson {
            bytes: usage.bytes.0,
            requested_bytes: requested.0,
        };
        let kinds = sum.kinds.iter().map(|(kind, amounts)| (kind.name(), amount(amounts)));
        Self { name: sum.name, bytes: sum.usage().bytes.0, kinds: kinds.collect() }
    }
}
