//! Settings, versions, GPUs and known code that differ, and what each of them explains.

use std::collections::BTreeSet;

use serde::Serialize;
use whyoom_memory::Category;

use crate::{known_code::kinds_of, library_lines::moved, profile::RankProfile};

/// What a setting decides about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Decides {
    /// What the allocator holds, not what is allocated.
    Reserved,
    /// Memory of these kinds.
    Kinds(&'static [Category]),
    /// Memory that a library makes.
    Library,
    /// Nothing that is known.
    Unknown,
}

/// Something that differs beside memory.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SettingChange {
    /// Its name.
    pub name: String,
    /// In A.
    pub a: Option<String>,
    /// In B.
    pub b: Option<String>,
    /// Whether it explains a difference of memory.
    pub explains: bool,
    #[serde(skip)]
    pub(crate) decides: Decides,
}

/// Files of torch.optim that are no optimizer.
const NO_OPTIMIZER: [&str; 4] = ["optimizer", "lr_scheduler", "swa_utils", "__init__"];

/// What a setting of this name decides about.
fn decides(name: &str) -> Decides {
    let allocator = [
        "ALLOC_CONF",
        "MEMORY_CACHING",
        "expandable",
        "split",
        "garbage",
        "roundup",
        "gc",
        "pinned",
    ];
    match name {
        _ if name.contains("WORKSPACE") => Decides::Kinds(&[Category::Workspaces]),
        _ if allocator.iter().any(|part| name.contains(part)) => Decides::Reserved,
        _ if name.starts_with("NCCL_") || name.starts_with("CUDA_MODULE") => Decides::Unknown,
        _ => Decides::Unknown,
    }
}

/// Everything that differs beside memory.
pub(crate) fn differences(a: &RankProfile, b: &RankProfile) -> Vec<SettingChange> {
    let mut changes = Vec::new();
    let mut note = |name: &str, was: Option<&String>, is: Option<&String>, decides| {
        if was != is {
            let (a, b) = (was.cloned(), is.cloned());
            changes.push(SettingChange { name: name.to_owned(), a, b, explains: false, decides });
        }
    };
    let names: BTreeSet<&String> = a.settings.keys().chain(b.settings.keys()).collect();
    // What only one source can tell is no difference of the runs.
    let comparable = !a.settings.is_empty() && !b.settings.is_empty();
    for name in names {
        let environment = name.chars().all(|letter| letter.is_ascii_uppercase() || letter == '_');
        let (was, is) = (a.settings.get(name), b.settings.get(name));
        if environment || comparable && was.is_some() && is.is_some() {
            note(name, was, is, decides(name));
        }
    }
    for (library, was) in &a.versions {
        let is = b.versions.get(library);
        if is.is_some() {
            note(&format!("{library} (version)"), Some(was), is, Decides::Library);
        }
    }
    if a.gpu.is_some() && b.gpu.is_some() {
        note("GPU", a.gpu.as_ref(), b.gpu.as_ref(), Decides::Unknown);
    }
    for (package, function, was, is) in moved(&a.library_lines, &b.library_lines) {
        if !a.versions.contains_key(&package) || !b.versions.contains_key(&package) {
            let lies_at = |line| format!("{function} at line {line}");
            note(
                &format!("{package} (version)"),
                Some(&lies_at(was)),
                Some(&lies_at(is)),
                Decides::Library,
            );
        }
    }
    code_differences(a, b, &mut note);
    changes
}

/// Known code and optimizers that are on the stacks of one run only.
fn code_differences(
    a: &RankProfile,
    b: &RankProfile,
    note: &mut dyn FnMut(&str, Option<&String>, Option<&String>, Decides),
) {
    let used = "used".to_owned();
    for name in a.code.symmetric_difference(&b.code) {
        let has = |rank: &RankProfile| rank.code.contains(name).then_some(&used).cloned();
        note(name, has(a).as_ref(), has(b).as_ref(), Decides::Kinds(kinds_of(name)));
    }
    let (was, is) = (optimizers(a), optimizers(b));
    if was.is_some() && is.is_some() {
        note(
            "optimizer",
            was.as_ref(),
            is.as_ref(),
            Decides::Kinds(&[Category::OptimizerState, Category::Temporaries]),
        );
    }
}

fn files(rank: &RankProfile) -> impl Iterator<Item = &str> {
    let functions = rank.library_lines.values().flat_map(|functions| functions.keys());
    functions.filter_map(|name| name.split(' ').next())
}

/// The optimizers whose code is on stacks: `adamw, sgd`.
fn optimizers(rank: &RankProfile) -> Option<String> {
    let name = |file: &str| {
        let name = file.strip_prefix("torch/optim/")?.strip_suffix(".py")?;
        let is_one = !name.contains('/') && !name.starts_with('_') && !NO_OPTIMIZER.contains(&name);
        is_one.then(|| name.to_owned())
    };
    let names: BTreeSet<String> = files(rank).filter_map(name).collect();
    (!names.is_empty()).then(|| names.into_iter().collect::<Vec<_>>().join(", "))
}
