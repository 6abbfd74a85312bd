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
    /// How much work there is: an argument of the program.
    Work,
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

impl SettingChange {
    /// B by A, of two numbers.
    pub(crate) fn factor(&self) -> Option<f64> {
        let number = |text: &Option<String>| text.as_ref()?.parse::<f64>().ok();
        Some(number(&self.b)? / number(&self.a)?).filter(|factor| factor.is_finite())
    }
}

/// Files of torch.optim that are no optimizer.
const NO_OPTIMIZER: [&str; 4] = ["optimizer", "lr_scheduler", "swa_utils", "__init__"];

/// Parts of the names of settings of allocators.
const OF_ALLOCATOR: [&str; 8] =
    ["ALLOC_CONF", "MEMORY_CACHING", "expandable", "split", "garbage", "roundup", "gc", "pinned"];

/// What a setting of this name decides about.
fn decides(name: &str) -> Decides {
    match name {
        _ if name.contains("WORKSPACE") => Decides::Kinds(&[Category::Workspaces]),
        _ if OF_ALLOCATOR.iter().any(|part| name.contains(part)) => Decides::Reserved,
        _ => Decides::Unknown,
    }
}

/// Everything that differs beside memory.
pub(crate) fn differences(a: &RankProfile, b: &RankProfile) -> Vec<SettingChange> {
    let mut found = Differences(Vec::new());
    found.arguments(a, b);
    found.settings(a, b);
    found.versions(a, b);
    found.code(a, b);
    if a.gpu.is_some() && b.gpu.is_some() {
        found.note("GPU", (a.gpu.as_ref(), b.gpu.as_ref()), Decides::Unknown);
    }
    found.0
}

/// What was found so far.
struct Differences(Vec<SettingChange>);

impl Differences {
    fn note(&mut self, name: &str, (a, b): (Option<&String>, Option<&String>), decides: Decides) {
        if a != b {
            let (name, a, b) = (name.to_owned(), a.cloned(), b.cloned());
            self.0.push(SettingChange { name, a, b, explains: false, decides });
        }
    }

    /// What the programs were started with.
    fn arguments(&mut self, a: &RankProfile, b: &RankProfile) {
        let names: BTreeSet<&String> = a.arguments.keys().chain(b.arguments.keys()).collect();
        for name in names {
            self.note(name, (a.arguments.get(name), b.arguments.get(name)), Decides::Work);
        }
    }

    /// Variables of the environment, and the allocator's own settings where both sources tell them.
    fn settings(&mut self, a: &RankProfile, b: &RankProfile) {
        let names: BTreeSet<&String> = a.settings.keys().chain(b.settings.keys()).collect();
        for name in names {
            let is_variable =
                name.chars().all(|letter| letter.is_ascii_uppercase() || letter == '_');
            let both = (a.settings.get(name), b.settings.get(name));
            if is_variable || both.0.is_some() && both.1.is_some() {
                // An empty variable is none.
                let told =
                    |value: Option<&String>| value.filter(|value| !value.is_empty()).cloned();
                let (a, b) = (told(both.0), told(both.1));
                self.note(name, (a.as_ref(), b.as_ref()), decides(name));
            }
        }
    }

    /// Versions as they were told, or else as the lines of functions show them.
    fn versions(&mut self, a: &RankProfile, b: &RankProfile) {
        for (library, version) in &a.versions {
            if let Some(other) = b.versions.get(library) {
                let name = format!("{library} (version)");
                self.note(&name, (Some(version), Some(other)), Decides::Library);
            }
        }
        for (package, function, was, is) in moved(&a.library_lines, &b.library_lines) {
            if !a.versions.contains_key(&package) || !b.versions.contains_key(&package) {
                let lies_at = |line| format!("{function} at line {line}");
                let both = (lies_at(was), lies_at(is));
                let name = format!("{package} (version)");
                self.note(&name, (Some(&both.0), Some(&both.1)), Decides::Library);
            }
        }
    }

    /// Known code and optimizers that are on the stacks of one run only.
    fn code(&mut self, a: &RankProfile, b: &RankProfile) {
        let used = "used".to_owned();
        for name in a.code.symmetric_difference(&b.code) {
            let has = |rank: &RankProfile| rank.code.contains(name).then_some(&used);
            self.note(name, (has(a), has(b)), Decides::Kinds(kinds_of(name)));
        }
        let (was, is) = (optimizers(a), optimizers(b));
        if was.is_some() && is.is_some() {
            let kinds = &[Category::OptimizerState, Category::Temporaries];
            self.note("optimizer", (was.as_ref(), is.as_ref()), Decides::Kinds(kinds));
        }
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
