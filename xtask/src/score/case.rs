//! A case: an input with one true cause, as the tables in `tests/scenarios` tell it.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result, bail, ensure};
use serde::Deserialize;
use whyoom_causes::find;
use whyoom_trace::Bytes;

use crate::tools::root;

/// The sets, and where each lies in `tests/scenarios`. What is in the examination was written from
/// public threads by people who had not read the rules.
pub(super) const SETS: &[&str] = &["examination", "practice"];

/// One case.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Case {
    /// Unique over all sets.
    pub(super) name: String,
    /// The thread that it is from.
    pub(super) from: String,
    /// What happens, and why it is this cause.
    pub(super) story: String,
    /// The one true primary cause.
    pub(super) cause: String,
    /// What is true too.
    #[serde(default)]
    also: Vec<String>,
    /// What the cause explains, where the program does not tell it.
    bytes: Option<Amount>,
    /// What must be advised: each a text of a remedy, or several with bars between.
    #[serde(default)]
    pub(super) remedy: Vec<String>,
    /// What must not be advised.
    #[serde(default)]
    pub(super) never: Vec<String>,
    /// A program that is recorded.
    pub(super) program: Option<String>,
    /// Texts as people paste them.
    #[serde(default)]
    log: Files,
    /// A snapshot of PyTorch's.
    snapshot: Option<String>,
    /// The program's arguments.
    #[serde(default)]
    pub(super) arguments: Vec<String>,
    /// The environment whose interpreter runs it.
    pub(super) python: Option<String>,
    /// How the lab is made.
    #[serde(default)]
    pub(super) lab: Vec<String>,
    /// Options of `whyoom run`.
    #[serde(default)]
    pub(super) options: Vec<String>,
    #[serde(default)]
    pub(super) environment: BTreeMap<String, String>,
    /// Whether `whyoom who` is judged.
    #[serde(default)]
    pub(super) who: bool,
    /// How the remedy is applied.
    pub(super) apply: Option<Apply>,
    /// Why it is known not to be met.
    pub(super) miss: Option<String>,
    /// The set that it belongs to.
    #[serde(skip)]
    pub(super) set: &'static str,
    /// Where its files lie.
    #[serde(skip)]
    pub(super) folder: PathBuf,
}

/// How a remedy is applied mechanically.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Apply {
    /// The line to paste sets something.
    pub(super) setting: bool,
    /// Texts of the program, and what they become.
    pub(super) replace: Vec<(String, String)>,
    /// Other arguments.
    pub(super) arguments: Option<Vec<String>>,
    /// The argument whose largest value `whyoom fit` finds.
    pub(super) fit: Option<String>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(untagged)]
enum Amount {
    Number(u64),
    Text(String),
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(untagged)]
enum Files {
    #[default]
    None,
    One(String),
    Many(Vec<String>),
}

/// What is given to be judged.
pub(super) enum Input {
    Program(PathBuf),
    Files(Vec<PathBuf>),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    case: Vec<Case>,
}

/// Every case of every set.
pub(super) fn all() -> Result<Vec<Case>> {
    let mut cases = Vec::new();
    for set in SETS {
        let folder = root().join("tests/scenarios").join(set);
        for table in tables(&folder)? {
            let found = read(set, &folder, &table);
            cases.extend(found.with_context(|| table.display().to_string())?);
        }
    }
    let mut names = BTreeSet::new();
    for case in &cases {
        ensure!(names.insert(&case.name), "two cases are called {}", case.name);
        case.check().with_context(|| format!("case {}", case.name))?;
    }
    Ok(cases)
}

fn tables(folder: &Path) -> Result<Vec<PathBuf>> {
    let entries = fs::read_dir(folder).with_context(|| folder.display().to_string())?;
    let paths = entries.flatten().map(|entry| entry.path());
    let mut tables: Vec<_> =
        paths.filter(|path| path.extension().is_some_and(|kind| kind == "toml")).collect();
    tables.sort();
    Ok(tables)
}

fn read(set: &'static str, folder: &Path, table: &Path) -> Result<Vec<Case>> {
    let table: Table = toml::from_str(&fs::read_to_string(table)?)?;
    let placed = |case| Case { set, folder: folder.to_path_buf(), ..case };
    Ok(table.case.into_iter().map(placed).collect())
}

impl Case {
    fn check(&self) -> Result<()> {
        for cause in std::iter::once(&self.cause).chain(&self.also) {
            ensure!(find(cause).is_some(), "no cause is called {cause}");
        }
        for name in self.input()?.paths() {
            let built = name.starts_with(self.folder.join("cuda"));
            ensure!(built || name.is_file(), "{} is not there", name.display());
        }
        self.expected_bytes()?;
        Ok(())
    }

    /// What is given to be judged.
    pub(super) fn input(&self) -> Result<Input> {
        let beside = |name: &String| self.folder.join(name);
        let logs = match &self.log {
            Files::None => Vec::new(),
            Files::One(name) => vec![beside(name)],
            Files::Many(names) => names.iter().map(beside).collect(),
        };
        let files: Vec<_> = logs.into_iter().chain(self.snapshot.iter().map(beside)).collect();
        match (&self.program, files.is_empty()) {
            (Some(program), true) => Ok(Input::Program(beside(program))),
            (None, false) => Ok(Input::Files(files)),
            _ => bail!("it has a program, or a log and a snapshot"),
        }
    }

    /// What the cause explains, where the table tells it.
    pub(super) fn expected_bytes(&self) -> Result<Option<u64>> {
        Ok(match &self.bytes {
            None => None,
            Some(Amount::Number(bytes)) => Some(*bytes),
            Some(Amount::Text(text)) => Some(amount(text)?.0),
        })
    }

    /// Causes that are true beside the primary one.
    pub(super) fn also(&self) -> &[String] {
        &self.also
    }

    /// Whether nothing is wrong in it.
    pub(super) fn is_healthy(&self) -> bool {
        self.cause == "healthy"
    }
}

impl Input {
    fn paths(&self) -> &[PathBuf] {
        match self {
            Self::Program(path) => std::slice::from_ref(path),
            Self::Files(paths) => paths,
        }
    }
}

/// `1.50 GiB` and `1.5GiB` alike.
fn amount(text: &str) -> Result<Bytes> {
    let digits = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let scale = match unit.trim() {
        "" | "B" => 1u64,
        "KiB" => 1 << 10,
        "MiB" => 1 << 20,
        "GiB" => 1 << 30,
        other => bail!("{other} is no unit"),
    };
    let number: f64 = number.parse().with_context(|| format!("{text} is no amount"))?;
    Ok(Bytes((number * scale as f64) as u64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_are_read_as_people_write_them() {
        let pairs = [("1.5GiB", 3 << 29), ("2 MiB", 2 << 20), ("512", 512), ("1KiB", 1024)];
        for (text, bytes) in pairs {
            assert_eq!(amount(text).unwrap(), Bytes(bytes));
        }
        assert!(amount("3 apples").is_err() && amount("GiB").is_err());
    }

    #[test]
    fn a_case_has_one_input() {
        let table = |input: &str| {
            let text = format!(
                "name = 'a'\nfrom = 'made'\nstory = 's'\ncause = 'growth'\nbytes = '1MiB'\n{input}"
            );
            toml::from_str::<Case>(&text).unwrap()
        };
        assert!(matches!(table("program = 'a.py'").input(), Ok(Input::Program(_))));
        assert!(
            matches!(table("log = ['a', 'b']").input(), Ok(Input::Files(two)) if two.len() == 2)
        );
        assert!(table("").input().is_err());
        assert!(table("program = 'a.py'\nlog = 'b'").input().is_err());
    }
}
