//! The programs, and what must be seen of each.

use std::{collections::BTreeMap, fs};

use anyhow::{Context, Result, ensure};
use harness::root;
use serde::Deserialize;

const TABLE: &str = "tests/scenarios/stacks/programs.toml";

/// One program of the table.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Program {
    pub name: String,
    /// For people.
    pub what: String,
    /// Of tests/requirements.
    pub environment: String,
    /// Of tests/scenarios/stacks/programs.
    pub script: String,
    #[serde(default)]
    pub arguments: Vec<String>,
    /// The Python module that starts it, with its arguments; nothing where Python itself does.
    #[serde(default)]
    pub launcher: Vec<String>,
    #[serde(default)]
    pub variables: BTreeMap<String, String>,
    /// A model of the lab, on which it fits.
    pub gpu: String,
    #[serde(default = "one")]
    pub gpus: u16,
    /// What is compared with the arithmetic.
    #[serde(default)]
    pub counts: Counts,
    pub peak: Peak,
    pub oom: Oom,
    /// The time limit of each way.
    #[serde(default = "seconds")]
    pub seconds: u64,
}

/// A program that people run and that is not tried here. It counts, and not as green.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct NotTried {
    pub what: String,
    pub why: String,
}

/// Which peak the arithmetic is about.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Counts {
    /// Of PyTorch's allocator, on the fullest GPU.
    #[default]
    Allocated,
    /// Of the driver, with the context.
    Driver,
}

/// The peak by hand.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Peak {
    pub formula: String,
    pub bytes: u64,
}

/// How it runs out of memory, and what must be said then.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Oom {
    /// Of each GPU.
    pub memory: String,
    /// Instead of the program's own.
    #[serde(default)]
    pub arguments: Option<Vec<String>>,
    pub cause: String,
}

/// The whole table.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Table {
    #[serde(rename = "program")]
    pub programs: Vec<Program>,
    pub not_tried: Vec<NotTried>,
}

fn one() -> u16 {
    1
}

fn seconds() -> u64 {
    600
}

/// All programs.
pub(super) fn read() -> Result<Table> {
    let text = fs::read_to_string(root().join(TABLE)).context(TABLE)?;
    toml::from_str(&text).context(TABLE)
}

/// Those that are named; all where none is.
pub(super) fn chosen<'a>(all: &'a [Program], names: &[String]) -> Result<Vec<&'a Program>> {
    for name in names {
        ensure!(all.iter().any(|program| program.name == *name), "no program is called {name}");
    }
    let is_chosen = |program: &&Program| names.is_empty() || names.contains(&program.name);
    Ok(all.iter().filter(is_chosen).collect())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_program_is_there_and_has_its_own_name() {
        let all = read().unwrap().programs;
        let names: BTreeSet<_> = all.iter().map(|program| &program.name).collect();
        assert_eq!(names.len(), all.len());
        for program in &all {
            let script = root().join("tests/scenarios/stacks/programs").join(&program.script);
            let packages = format!("tests/requirements/{}.txt", program.environment);
            assert!(script.is_file() && root().join(packages).is_file(), "{}", program.name);
            assert!(program.peak.bytes > 0 && !program.peak.formula.is_empty(), "{}", program.name);
        }
    }

    /// Two suites may run at a time on one machine, which is used again afterwards.
    #[test]
    fn programs_take_a_free_port_and_leave_nothing_behind() {
        for program in read().unwrap().programs {
            let port = program.launcher.join(" ");
            let is_free = port.contains("--standalone") || port.contains("--main_process_port 0");
            assert!(port.is_empty() || is_free, "{}", program.name);
            let script = root().join("tests/scenarios/stacks/programs").join(&program.script);
            assert!(!fs::read_to_string(script).unwrap().contains("mkdtemp"), "{}", program.name);
        }
    }

    #[test]
    fn a_misspelt_name_is_noticed() {
        let all = read().unwrap().programs;
        let asked = |name: &str| chosen(&all, &[name.to_owned()]).map(|programs| programs.len());
        assert_eq!(asked(&all[0].name).unwrap(), 1);
        assert!(asked("llama-lop").is_err());
        assert_eq!(chosen(&all, &[]).unwrap().len(), all.len());
    }
}
