//! A case: an input with one true cause, as the tables in `tests/scenarios` have it.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt, fs,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result, bail, ensure};
use serde::{Deserialize, Serialize};
use whyoom_causes::find;

use super::advice;
use crate::checkout::root;

/// The sets, and where each lies in `tests/scenarios`. The examination was written from public threads
/// before its authors had read a rule; the rules have met it since.
pub const SETS: &[&str] = &["examination", "practice"];

/// One case.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Case {
    /// Unique over all sets.
    pub name: String,
    /// The thread that it is from.
    pub from: String,
    /// What happens, and why it is this cause.
    pub story: String,
    /// The one true primary cause.
    pub cause: String,
    /// What is true too.
    #[serde(default)]
    pub also: Vec<String>,
    /// What the cause explains.
    pub bytes: Amount,
    /// What must be advised: each a text of a remedy, or several with bars between.
    #[serde(default)]
    pub remedy: Vec<String>,
    /// What must not be advised.
    #[serde(default)]
    pub never: Vec<String>,
    /// A program that is recorded.
    pub program: Option<String>,
    /// Texts as people paste them.
    #[serde(default)]
    log: Files,
    /// A snapshot of PyTorch's.
    snapshot: Option<String>,
    /// The program's arguments.
    #[serde(default)]
    pub arguments: Vec<String>,
    /// The environment whose interpreter runs it.
    pub python: Option<String>,
    /// How the lab is made.
    #[serde(default)]
    pub lab: Vec<String>,
    /// Options of `whyoom run`.
    #[serde(default)]
    pub options: Vec<String>,
    /// What is added to the environment.
    #[serde(default)]
    pub environment: BTreeMap<String, String>,
    /// Whether `whyoom who` is judged.
    #[serde(default)]
    pub who: bool,
    /// Whether the first line to paste must be one that a machine can apply, and must work.
    #[serde(default)]
    pub applied: bool,
    /// The author's own fix: with it the program must run, which shows that the truth is true.
    pub fix: Option<Fix>,
    /// What is known not to be met.
    pub miss: Option<Miss>,
    /// The set that it belongs to.
    #[serde(skip)]
    pub set: &'static str,
    /// Where its files lie.
    #[serde(skip)]
    pub folder: PathBuf,
}

/// How the author would mend the program.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Fix {
    /// Texts of the program, and what they become.
    pub replace: Vec<(String, String)>,
    /// Other arguments.
    pub arguments: Option<Vec<String>>,
}

/// A miss that is known.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Miss {
    /// Exactly what is missed; everything else must be right.
    pub of: BTreeSet<Part>,
    /// Why.
    pub why: String,
}

/// What an answer can be wrong in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Part {
    /// The primary cause.
    Cause,
    /// The bytes that it explains.
    Bytes,
    /// What is advised.
    Advice,
    /// What is true too.
    Also,
    /// The line that is printed, applied.
    Remedy,
}

impl fmt::Display for Part {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Self::Cause => "cause",
            Self::Bytes => "bytes",
            Self::Advice => "advice",
            Self::Also => "also",
            Self::Remedy => "remedy",
        })
    }
}

/// What a cause explains.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(try_from = "Written")]
pub enum Amount {
    /// So many bytes.
    Known(u64),
    /// What the program prints as `{"bytes": N}`; it must.
    Printed,
    /// Nobody can say.
    None,
}

/// As a table has it: a number, `1.5GiB`, `printed` or `none`.
#[derive(Deserialize)]
#[serde(untagged)]
enum Written {
    Number(u64),
    Text(String),
}

impl TryFrom<Written> for Amount {
    type Error = String;

    fn try_from(written: Written) -> Result<Self, String> {
        match written {
            Written::Number(bytes) => Ok(Self::Known(bytes)),
            Written::Text(text) if text == "printed" => Ok(Self::Printed),
            Written::Text(text) if text == "none" => Ok(Self::None),
            Written::Text(text) => {
                amount(&text).map(Self::Known).map_err(|error| error.to_string())
            }
        }
    }
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
pub enum Input {
    /// A program that is recorded.
    Program(PathBuf),
    /// Files as they are.
    Files(Vec<PathBuf>),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    case: Vec<Case>,
}

/// Every case of every set.
pub fn all_cases() -> Result<Vec<Case>> {
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
        for pattern in &self.remedy {
            advice::check(pattern)?;
        }
        let is_program = self.program.is_some();
        ensure!(self.bytes != Amount::Known(0), "no bytes: say none");
        ensure!(self.bytes != Amount::Printed || is_program, "a text prints nothing");
        ensure!(!self.applied || is_program, "nothing can be applied to a text");
        ensure!(self.miss.as_ref().is_none_or(|miss| !miss.of.is_empty()), "what is missed?");
        Ok(())
    }

    /// What is given to be judged.
    pub fn input(&self) -> Result<Input> {
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

    /// Whether nothing is wrong in it.
    #[must_use]
    pub fn is_healthy(&self) -> bool {
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
fn amount(text: &str) -> Result<u64> {
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
    Ok((number * scale as f64) as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_are_read_as_people_write_them() {
        let pairs = [("1.5GiB", 3 << 29), ("2 MiB", 2 << 20), ("512", 512), ("1KiB", 1024)];
        for (text, bytes) in pairs {
            assert_eq!(amount(text).unwrap(), bytes);
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
