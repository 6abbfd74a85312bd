//! `cargo xtask breakages`: a check that cannot fail is none. Each entry of `tests/breakages.toml` breaks the
//! product, a script or a check in a copy of the checkout; then the check that it names must fail, and say why.

use std::{
    collections::BTreeMap,
    fs,
    path::PathBuf,
    process::{Command, Stdio},
    time::Instant,
};

use anyhow::{Context, Result, ensure};
use clap::Args;
use harness::{Build, Held, must_succeed, root, scratch};
use serde::Deserialize;

/// There must be as many.
const FEWEST: usize = 40;

/// What was asked for.
#[derive(Args)]
pub(crate) struct Wish {
    /// Some of them, by name
    #[arg(long, value_delimiter = ',')]
    only: Vec<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    breakage: Vec<Breakage>,
}

/// One deliberate fault.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Breakage {
    name: String,
    /// `suite NAME` (a check of a suite), `unit PACKAGE NAME` (tests of a crate), or `xtask WORDS`.
    check: String,
    /// What the failure must say.
    says: String,
    /// Texts of files, and what they become.
    #[serde(default)]
    edit: Vec<Edit>,
    /// What is added to the environment.
    #[serde(default)]
    environment: BTreeMap<String, String>,
    /// Whether the data from real GPUs are hidden.
    #[serde(default)]
    without_shared_data: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Edit {
    file: String,
    old: String,
    new: String,
}

pub(crate) fn run(wish: &Wish) -> Result<Held> {
    let table: Table = toml::from_str(&fs::read_to_string(root().join("tests/breakages.toml"))?)?;
    let all = table.breakage.len();
    ensure!(all >= FEWEST, "{all} breakages, and there should be {FEWEST}");
    let is_wanted = |one: &&Breakage| wish.only.is_empty() || wish.only.contains(&one.name);
    let wanted: Vec<_> = table.breakage.iter().filter(is_wanted).collect();
    ensure!(!wanted.is_empty(), "no breakage is called so");
    let copy = Copy::create()?;
    let mut missed = Vec::new();
    for breakage in &wanted {
        let started = Instant::now();
        let ended = copy.try_one(breakage);
        let seconds = started.elapsed().as_secs_f64();
        let said = match &ended {
            Ok(line) => format!("fails: {line}"),
            Err(error) => format!("NOT CAUGHT: {error:#}"),
        };
        println!("{:<36} {:<44} {seconds:>4.0} s  {said}", breakage.name, breakage.check);
        missed.extend(ended.is_err().then_some(breakage.name.as_str()));
    }
    let (tried, caught) = (wanted.len(), wanted.len() - missed.len());
    ensure!(missed.is_empty(), "{caught} of {tried} caught; not: {}", missed.join(", "));
    Ok(Held::new(format!(
        "{caught} of {tried} deliberate breakages make the check fail that names them"
    )))
}

/// A copy of the checkout that can be broken.
struct Copy {
    /// The folder of the checkout's copy and of the data beside it.
    folder: PathBuf,
}

impl Copy {
    /// Files keep their times, so that only what was broken is built anew.
    fn create() -> Result<Self> {
        let folder = scratch("breakages")?;
        let copy = Self { folder };
        fs::create_dir_all(copy.checkout())?;
        let script = "git ls-files -z --cached --others --exclude-standard | \
                      tar --null --files-from=- --ignore-failed-read -c | tar -x -C \"$0\"";
        let mut tar = Command::new("sh");
        must_succeed(tar.args(["-c", script]).arg(copy.checkout()).current_dir(root()))?;
        Ok(copy)
    }

    fn checkout(&self) -> PathBuf {
        self.folder.join("main")
    }

    /// Breaks it, asks, and mends it again; the line that says why the check fails.
    fn try_one(&self, breakage: &Breakage) -> Result<String> {
        let shared = self.folder.join("shared");
        let _ = fs::remove_file(&shared);
        if !breakage.without_shared_data {
            std::os::unix::fs::symlink(root().join("../shared"), &shared)?;
        }
        let mut broken = Vec::new();
        let applied = breakage.edit.iter().try_for_each(|edit| -> Result<()> {
            let file = self.checkout().join(&edit.file);
            let text = fs::read_to_string(&file).with_context(|| edit.file.clone())?;
            ensure!(text.contains(&edit.old), "{} does not say {}", edit.file, edit.old);
            fs::write(&file, text.replace(&edit.old, &edit.new))?;
            broken.push((file, text));
            Ok(())
        });
        let ended = applied.and_then(|()| self.ask(breakage));
        for (file, text) in broken.into_iter().rev() {
            fs::write(file, text)?;
        }
        ended
    }

    fn ask(&self, breakage: &Breakage) -> Result<String> {
        let of_product =
            |edit: &Edit| ["crates/", "lab/"].iter().any(|at| edit.file.starts_with(at));
        let is_unit = breakage.check.starts_with("unit ");
        let binaries = if breakage.edit.iter().any(of_product) && !is_unit {
            self.built()?
        } else {
            Build::ready()?.folder().to_path_buf()
        };
        let output = self
            .command(&breakage.check)?
            .envs(&breakage.environment)
            .env(Build::VARIABLE, binaries)
            .output()?;
        let said = [output.stdout, output.stderr].concat();
        let said = String::from_utf8_lossy(&said);
        ensure!(!output.status.success(), "{} holds all the same", breakage.check);
        let line = said.lines().find(|line| line.contains(&breakage.says));
        let line = line.with_context(|| format!("it fails otherwise:\n{}", tail(&said)))?;
        Ok(line.trim().chars().take(120).collect())
    }

    /// The command that runs a check in the copy. What cannot be tried there is a failure.
    fn command(&self, check: &str) -> Result<Command> {
        let (kind, rest) = check.split_once(' ').context("a check has a kind and a name")?;
        let mut command = self.cargo();
        match kind {
            "suite" => {
                command.args(["nextest", "run", "--profile", "suites", "--cargo-quiet"]);
                command.args(["--package", "whyoom-tests", "--test", "suites", "--retries", "0"]);
                command.args(["-E", &format!("test(={rest})")]);
            }
            "unit" => {
                let (package, name) = rest.split_once(' ').context("a package and a name")?;
                command.args(["nextest", "run", "--cargo-quiet", "--package", package, name]);
            }
            "xtask" => {
                command.args(["run", "--quiet", "--package", "xtask", "--"]);
                command.args(rest.split_whitespace());
            }
            other => anyhow::bail!("{other}: suite, unit or xtask"),
        }
        Ok(command)
    }

    /// Builds the broken product, without optimizations: it is broken either way.
    fn built(&self) -> Result<PathBuf> {
        let mut build = self.cargo();
        build.args(["build", "--quiet", "--workspace", "--exclude", "xtask"]);
        must_succeed(build.args(["--exclude", "whyoom-tests"]).stderr(Stdio::inherit()))?;
        Ok(self.target().join("debug"))
    }

    fn target(&self) -> PathBuf {
        self.folder.join("target")
    }

    fn cargo(&self) -> Command {
        let mut cargo = Command::new(env!("CARGO"));
        cargo.current_dir(self.checkout()).env("CARGO_TARGET_DIR", self.target()).env("CI", "true");
        cargo.env_remove("CARGO_MANIFEST_DIR").env_remove(Build::VARIABLE);
        cargo
    }
}

fn tail(text: &str) -> String {
    let lines: Vec<&str> = text.lines().collect();
    lines[lines.len().saturating_sub(20)..].join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_every_edit_still_fits() {
        let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let table = fs::read_to_string(root.join("tests/breakages.toml")).unwrap();
        let table: Table = toml::from_str(&table).unwrap();
        let mut names: Vec<_> = table.breakage.iter().map(|one| &one.name).collect();
        names.sort();
        names.dedup();
        assert_eq!(names.len(), table.breakage.len());
        for edit in table.breakage.iter().flat_map(|one| &one.edit) {
            let text = fs::read_to_string(root.join(&edit.file)).unwrap();
            assert!(text.contains(&edit.old), "{} does not say {}", edit.file, edit.old);
            assert_ne!(edit.old, edit.new);
        }
    }
}
