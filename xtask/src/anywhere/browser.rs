//! The page in a real Chromium: what it answers to a file is what the command prints, to the byte.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::Instant,
};

use anyhow::{Context, Result, bail, ensure};
use harness::{
    Build, Held, cache, empty_folder, from_str, median, must_succeed, root, scratch, shared_data,
    target,
};
use serde::Deserialize;
use whyoom_trace::Bytes;

use crate::tools::{file_name, silent_python};

const TARGET: &str = "wasm32-unknown-unknown";
/// What the page may weigh.
const MOST_BYTES: u64 = 3 << 20;
/// So many times the command's time the page may take, from the drop to the verdict.
const MOST_RATIO: f64 = 3.0;
/// Times that the command and the page are timed: the median counts.
const TIMES: usize = 5;
/// Longer than this nobody waits for a page to answer, in milliseconds.
const MOST_SILENT: f64 = 1000.0;
/// Entries of the large snapshot.
const ENTRIES: &str = "1000000";
/// Folders of inputs: their files are read, and those of the folders in them.
const FIXTURES: [&str; 5] = [
    "tests/fixtures/logs",
    "tests/fixtures/snapshots",
    "tests/fixtures/imports",
    "tests/scenarios",
    "crates/whyoom/demo",
];
/// What these inputs are.
const ENDINGS: [&str; 5] = [".log", ".txt", ".pickle", ".csv", ".tar.gz"];
/// Differences beyond these say nothing new.
const MOST_SHOWN: usize = 10;

/// What the page took for a file.
#[derive(Deserialize)]
struct Took {
    number: usize,
    verdict_milliseconds: f64,
    whole_milliseconds: f64,
    silent_milliseconds: f64,
    /// Errors, and whatever was asked of a network.
    trouble: Vec<String>,
}

pub(super) fn run() -> Result<Held> {
    let (file, bytes) = build()?;
    let page = Page { file, folder: empty_folder("anywhere-browser")? };
    let whyoom = Build::ready()?.whyoom();
    let (files, skipped) = inputs()?;
    let took = page.answers(&files)?;
    let mut wrong = Vec::new();
    for took in &took {
        let file = &files[took.number];
        wrong.extend(took.trouble.iter().map(|trouble| format!("{}: {trouble}", file.display())));
        if let Some(difference) = page.difference(&whyoom, file, took.number)? {
            wrong.push(format!("{}: {difference}", file.display()));
        }
    }
    let equal = files.len() - wrong.len().min(files.len());
    println!("{:<28} {equal:>6} of {:>6}", "equal to the command's", files.len());
    skipped.iter().for_each(|skipped| println!("skipped: {skipped}"));
    wrong.iter().take(MOST_SHOWN).for_each(|wrong| println!("differs: {wrong}"));
    let times = if skipped.is_empty() { page.times(&whyoom)? } else { Vec::new() };
    ensure!(wrong.is_empty(), "{} of {} differ", wrong.len(), files.len());
    ensure!(took.len() == files.len(), "{} of {} were answered", took.len(), files.len());
    let slow: Vec<&str> =
        times.iter().filter(|time| !time.holds).map(|time| time.text.as_str()).collect();
    ensure!(slow.is_empty(), "{}: not within {MOST_RATIO} x", slow.join("; "));
    let times: Vec<&str> = times.iter().map(|time| time.text.as_str()).collect();
    let without = if skipped.is_empty() {
        times.join(", ")
    } else {
        "times not taken, without ../shared".to_owned()
    };
    Ok(Held::new(format!(
        "{equal} answers in Chromium equal to the command's, to the byte; no request; the page has {}; {without}",
        Bytes(bytes)
    )))
}

/// The files, and what is missing.
fn inputs() -> Result<(Vec<PathBuf>, Vec<String>)> {
    let (mut files, mut skipped) = (Vec::new(), Vec::new());
    for folder in FIXTURES {
        let before = files.len();
        find(&root().join(folder), &mut files)?;
        ensure!(files.len() > before, "no inputs in {folder}");
    }
    match shared_data() {
        // Chromium reads no file whose path goes up.
        Ok(shared) => find(&shared.canonicalize()?, &mut files)?,
        Err(missing) => skipped.push(format!("texts and snapshots of others: {missing}")),
    }
    files.sort();
    Ok((files, skipped))
}

fn find(folder: &Path, files: &mut Vec<PathBuf>) -> Result<()> {
    for entry in fs::read_dir(folder).with_context(|| folder.display().to_string())? {
        let path = entry?.path();
        if path.is_dir() {
            find(&path, files)?;
        } else if ENDINGS.iter().any(|ending| path.to_string_lossy().ends_with(ending))
            && !is_packing(&path)
        {
            files.push(path);
        }
    }
    Ok(())
}

/// Packing problems are no inputs of the command.
fn is_packing(path: &Path) -> bool {
    path.components().any(|part| part.as_os_str() == "packing")
}

/// Builds the page.
pub(super) fn page() -> Result<Held> {
    let (file, bytes) = build()?;
    Ok(Held::new(format!("{} in {}", Bytes(bytes), file.display())))
}

/// Builds the page; where it is, and its bytes.
fn build() -> Result<(PathBuf, u64)> {
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
    must_succeed(&mut bindgen).context("wasm-bindgen, which the gate installs: .ci/run tools")?;
    let page = target().join("pages/index.html");
    let mut npm = npm();
    npm.args(["run", "--silent", "browser", "--", "--wasm"])
        .arg(engine.join("whyoom_browser_bg.wasm"));
    npm.arg("--glue").arg(engine.join("whyoom_browser.js")).arg("--out").arg(&page);
    must_succeed(npm.stdout(Stdio::null())).context("npm --prefix web ci")?;
    let bytes = fs::metadata(&page)?.len();
    ensure!(bytes <= MOST_BYTES, "the page has {}, and may have 3.00 MiB", Bytes(bytes));
    Ok((page, bytes))
}

/// The gate's own, or the one on the path.
fn bindgen() -> PathBuf {
    let own = cache().join("tools/bin/wasm-bindgen");
    if own.exists() { own } else { PathBuf::from("wasm-bindgen") }
}

fn npm() -> Command {
    let mut npm = Command::new("npm");
    npm.arg("--prefix").arg(root().join("web"));
    npm
}

struct Page {
    file: PathBuf,
    folder: PathBuf,
}

impl Page {
    /// Has the page answer to these files, one after another.
    fn answers(&self, files: &[PathBuf]) -> Result<Vec<Took>> {
        let mut build = Command::new("node");
        must_succeed(build.args(["build.mjs", "--tests"]).current_dir(root().join("web")))?;
        let mut node = Command::new("node");
        node.arg(root().join("web/build/test/answers.js")).arg(&self.file).arg(&self.folder);
        for (number, file) in files.iter().enumerate() {
            node.arg(format!("{number}:{}", file.display()));
        }
        let output = node.stderr(Stdio::inherit()).output()?;
        let text = String::from_utf8(output.stdout)?;
        ensure!(output.status.success(), "the page answered {} files", text.lines().count());
        text.lines().map(from_str).collect()
    }

    /// What differs from the command's answer, if anything does.
    fn difference(&self, whyoom: &Path, file: &Path, number: usize) -> Result<Option<String>> {
        let folder = file.parent().context("a folder")?;
        let mut command = Command::new(whyoom);
        command.args(["why", "--json"]).arg(file_name(file)).current_dir(folder);
        let output = command.env("HOME", &self.folder).output()?;
        let of_page = |ending: &str| self.folder.join(format!("{number}.{ending}"));
        if !output.status.success() {
            let refused = fs::read_to_string(of_page("error"));
            return Ok(refused
                .is_err()
                .then(|| "the command refuses it, and the page does not".to_owned()));
        }
        let Ok(answer) = fs::read(of_page("json")) else {
            let error = fs::read_to_string(of_page("error")).context("no answer at all")?;
            return Ok(Some(format!("the page refuses it: {error}")));
        };
        let at = output.stdout.iter().zip(&answer).position(|(one, other)| one != other);
        let at = at
            .or((output.stdout.len() != answer.len())
                .then_some(output.stdout.len().min(answer.len())));
        Ok(at.map(|at| {
            let around = |bytes: &[u8]| {
                let start = at.saturating_sub(40).min(bytes.len());
                String::from_utf8_lossy(&bytes[start..bytes.len().min(at + 40)]).replace('\n', " ")
            };
            format!("from byte {at}: {} | {}", around(&output.stdout), around(&answer))
        }))
    }

    /// The time to a verdict beside the command's, of the largest snapshot from a real GPU and of a larger one.
    fn times(&self, whyoom: &Path) -> Result<Vec<Time>> {
        let snapshots = shared_data()?.canonicalize()?.join("torch-snapshots");
        let sizes = fs::read_dir(&snapshots)?.map(|entry| {
            let entry = entry?;
            Ok((entry.metadata()?.len(), entry.path()))
        });
        let sizes: Vec<(u64, PathBuf)> = sizes.collect::<std::io::Result<_>>()?;
        let (_, largest) = sizes.into_iter().max().context("no snapshots")?;
        let million = scratch("why-speed")?.join("million.pickle");
        if !million.exists() {
            silent_python("generate_snapshot.py", &[Path::new(ENTRIES), &million])?;
        }
        println!(
            "\n{:<34} {:>10} {:>10} {:>7} {:>10} {:>10}",
            "", "command", "page", "ratio", "report", "silent"
        );
        [largest, million].iter().map(|file| self.time(whyoom, file)).collect()
    }

    fn time(&self, whyoom: &Path, file: &Path) -> Result<Time> {
        let mut command = Vec::new();
        for _ in 0..TIMES {
            let started = Instant::now();
            let mut why = Command::new(whyoom);
            must_succeed(why.arg("why").arg(file).stdout(Stdio::null()).stderr(Stdio::null()))?;
            command.push(started.elapsed().as_secs_f64() * 1e3);
        }
        let took = self.answers(&vec![file.to_owned(); TIMES])?;
        let of = |figure: fn(&Took) -> f64| median(&took.iter().map(figure).collect::<Vec<_>>());
        let (command, page) = (median(&command)?, of(|took| took.verdict_milliseconds)?);
        let (whole, silent) =
            (of(|took| took.whole_milliseconds)?, of(|took| took.silent_milliseconds)?);
        let ratio = page / command;
        ensure!(ratio.is_finite() && ratio > 0.0, "nothing was measured");
        if took.iter().any(|took| !took.trouble.is_empty()) {
            bail!("{}: trouble in the page", file.display());
        }
        let name = file_name(file);
        println!(
            "{name:<34} {command:>7.0} ms {page:>7.0} ms {ratio:>6.2}x {whole:>7.0} ms {silent:>7.0} ms"
        );
        let holds = ratio <= MOST_RATIO && silent <= MOST_SILENT;
        Ok(Time { text: format!("{name} {ratio:.2} x"), holds })
    }
}

/// A time beside the command's.
struct Time {
    text: String,
    holds: bool,
}
