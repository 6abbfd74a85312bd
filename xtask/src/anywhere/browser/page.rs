//! The page: how it is built, and what it is asked in Chromium.

use std::{
    cell::OnceCell,
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use anyhow::{Context, Result, ensure};
use harness::{cache, from_str, must_succeed, root, target};
use serde::Deserialize;

use super::network;

const TARGET: &str = "wasm32-unknown-unknown";

/// The page, which is built when it is first needed.
#[derive(Default)]
pub(in crate::anywhere) struct Page {
    file: OnceCell<PathBuf>,
}

/// What the page took for a file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Took {
    pub(super) number: usize,
    pub(super) verdict_milliseconds: f64,
    pub(super) whole_milliseconds: f64,
    pub(super) silent_milliseconds: f64,
    /// The most that the page and its worker ever had, with the files before.
    pub(super) most_memory: u64,
    /// Errors in the page.
    pub(super) trouble: Vec<String>,
}

impl Page {
    /// Where it is.
    pub(super) fn file(&self) -> Result<&Path> {
        if self.file.get().is_none() {
            let file = build()?;
            return Ok(self.file.get_or_init(|| file));
        }
        self.file.get().map(PathBuf::as_path).context("the page was built")
    }

    /// One of the scripts of `web/test` under Node.js.
    pub(super) fn script(&self, name: &str) -> Result<Command> {
        let mut build = Command::new("node");
        must_succeed(build.args(["build.mjs", "--tests"]).current_dir(root().join("web")))?;
        let mut node = Command::new("node");
        node.arg(root().join("web/build/test").join(name));
        Ok(node)
    }

    /// Has the page answer to these files, one after another, each when it has been open for so many milliseconds. The
    /// answers are in `folder`, by numbers. No request may be in Chromium's own log.
    pub(super) fn answers(
        &self,
        files: &[PathBuf],
        open_milliseconds: u64,
        folder: &Path,
    ) -> Result<Vec<Took>> {
        let mut node = self.script("answers.js")?;
        let log = folder.join("network.json");
        node.arg(self.file()?).arg(folder).arg(&log).arg(open_milliseconds.to_string());
        for (number, file) in files.iter().enumerate() {
            node.arg(format!("{number}:{}", file.display()));
        }
        let output = node.stderr(Stdio::inherit()).output()?;
        let text = String::from_utf8(output.stdout)?;
        ensure!(output.status.success(), "the page answered {} files", text.lines().count());
        let took: Vec<Took> = text.lines().map(from_str).collect::<Result<_>>()?;
        ensure!(took.len() == files.len(), "{} of {} were answered", took.len(), files.len());
        let asked = network::asked(&log)?;
        ensure!(asked.is_empty(), "the page asked a network for {}", asked.join(", "));
        Ok(took)
    }
}

fn build() -> Result<PathBuf> {
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["build", "--quiet", "--locked", "--profile", "page", "--target", TARGET]);
    must_succeed(cargo.args(["--package", "whyoom-browser"]).current_dir(root()))
        .with_context(|| format!("is Rust's library there? rustup target add {TARGET}"))?;
    let module = target().join(TARGET).join("page/whyoom_browser.wasm");
    let engine = target().join("pages/engine");
    let mut bindgen = Command::new(bindgen());
    bindgen
        .args(["--target", "no-modules", "--no-typescript", "--out-dir"])
        .arg(&engine)
        .arg(module);
    must_succeed(&mut bindgen).context("wasm-bindgen, which .ci/run page installs")?;
    let page = target().join("pages/index.html");
    let mut npm = Command::new("npm");
    npm.arg("--prefix").arg(root().join("web"));
    npm.args(["run", "--silent", "browser", "--", "--wasm"])
        .arg(engine.join("whyoom_browser_bg.wasm"));
    npm.arg("--glue").arg(engine.join("whyoom_browser.js")).arg("--out").arg(&page);
    must_succeed(npm.stdout(Stdio::null())).context("npm --prefix web ci")?;
    fs::metadata(&page).with_context(|| page.display().to_string())?;
    Ok(page)
}

/// The gate's own, or the one on the path.
fn bindgen() -> PathBuf {
    let own = cache().join("tools/bin/wasm-bindgen");
    if own.exists() { own } else { PathBuf::from("wasm-bindgen") }
}
