//! SARIF of verdicts and fits against the schema of SARIF 2.1.0, and the lines that it marks.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context, Result, ensure};
use harness::{Build, Held, cache, empty_folder, environment, must_succeed, python, root, text};
use serde_json::Value;

/// The reference tool of SARIF, by those who wrote the standard: the schema is in its package.
const PACKAGE: &str = "@microsoft/sarif-multitool-linux@5.7.0";

const LEAKY: &str = "import torch
def work():
    return torch.empty(1 << 30, dtype=torch.uint8, device='cuda')
kept = work()
";

pub(super) fn run() -> Result<Held> {
    let place = empty_folder("mcp-sarif")?;
    let mut files = verdicts(&place)?;
    files.push(marked(&place)?);
    files.push(fit(&place)?);
    let check = root().join("tests/suites/mcp/sarif.py");
    let mut python = Command::new(environment("mcp")?.join("bin/python"));
    must_succeed(python.arg(check).arg(schema()?).args(&files))?;
    Ok(Held::new(format!("{} files are valid, and mark the right lines", files.len())))
}

/// Every fixture's verdict.
fn verdicts(place: &Path) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for kind in ["logs", "snapshots"] {
        for entry in fs::read_dir(root().join("tests/fixtures").join(kind))? {
            let input = entry?.path();
            if input.extension().is_some_and(|extension| extension == "py") {
                continue;
            }
            let name = input.file_name().context("no name")?;
            let file = place.join(name).with_added_extension("sarif");
            whyoom(place, &["why", &text(&input), "--sarif", &text(&file)], 0)?;
            let result = &read(&file)?["runs"][0]["results"];
            let is_healthy = name == "healthy.pickle" || name == "no-message.log";
            ensure!(!is_healthy || result.as_array().is_some_and(Vec::is_empty), "{result}");
            files.push(file);
        }
    }
    let windows = read(&place.join("fragmented-windows.log.sarif"))?;
    let location = &windows["runs"][0]["results"][0]["locations"][0]["physicalLocation"];
    ensure!(location["artifactLocation"]["uri"] == "file:///C:/Users/me/train.py", "{location}");
    Ok(files)
}

/// A traceback through a file of the current folder, whose name is no URI.
fn marked(place: &Path) -> Result<PathBuf> {
    let (log, file) = (place.join("oom.log"), place.join("oom.sarif"));
    let script = place.join("src/my naïve train.py");
    let message = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity \
         of 14.56 GiB of which 1.41 GiB is free. Including non-PyTorch memory, this process has 13.15 GiB memory in \
         use. Of the allocated memory 13.00 GiB is allocated by PyTorch, and 10.00 MiB is reserved by PyTorch but \
         unallocated.";
    let script = text(&script);
    let traceback = format!(
        "Traceback (most recent call last):\n  File \"{script}\", line 8, in <module>\n    x = f()\n{message}\n"
    );
    fs::write(&log, traceback)?;
    whyoom(place, &["why", &text(&log), "--sarif", &text(&file)], 0)?;
    let result = &read(&file)?["runs"][0]["results"][0];
    let location = &result["locations"][0]["physicalLocation"];
    let artifact = &location["artifactLocation"];
    ensure!(artifact["uri"] == "src/my%20na%C3%AFve%20train.py", "{result}");
    ensure!(
        artifact["uriBaseId"] == "%SRCROOT%" && location["region"]["startLine"] == 8,
        "{result}"
    );
    ensure!(result["ruleId"] == "working-set" && result["level"] == "error", "{result}");
    let again = whyoom(place, &["why", &text(&log), "--sarif", &text(&file)], 2)?;
    ensure!(again.contains("--force"), "{again}");
    Ok(file)
}

/// A program that needs more than was asserted: the line that made the peak.
fn fit(place: &Path) -> Result<PathBuf> {
    fs::write(place.join("train.py"), LEAKY)?;
    let python = python()?;
    let asked = |limit: &str, file: &Path, status| {
        let (limit, file) = (format!("peak<{limit}"), text(file));
        let words = [
            "fit", "--gpu", "t4", "--assert", &limit, "--sarif", &file, "-f", "--", &python,
            "train.py",
        ];
        whyoom(place, &words, status)
    };
    let (file, held) = (place.join("fit.sarif"), place.join("held.sarif"));
    asked("1GiB", &file, 3)?;
    let results = &read(&file)?["runs"][0]["results"];
    ensure!(results.as_array().is_some_and(|all| all.len() == 1), "{results}");
    let location = &results[0]["locations"][0]["physicalLocation"];
    ensure!(results[0]["ruleId"] == "fit-assertion", "{results}");
    ensure!(location["artifactLocation"]["uri"] == "train.py", "{results}");
    ensure!(location["region"]["startLine"] == 3, "{results}");
    asked("9GiB", &held, 0)?;
    let results = &read(&held)?["runs"][0]["results"];
    ensure!(results.as_array().is_some_and(Vec::is_empty), "{results}");
    Ok(file)
}

fn whyoom(place: &Path, words: &[&str], status: i32) -> Result<String> {
    let ran = Command::new(Build::ready()?.whyoom()).args(words).current_dir(place).output()?;
    let said = String::from_utf8_lossy(&ran.stderr).into_owned();
    ensure!(ran.status.code() == Some(status), "{words:?} ended with {}: {said}", ran.status);
    Ok(said)
}

fn read(file: &Path) -> Result<Value> {
    Ok(serde_json::from_slice(&fs::read(file)?)?)
}

/// The schema, fetched once.
fn schema() -> Result<PathBuf> {
    let folder = cache().join("sarif-multitool-5.7.0");
    let schema = folder.join("package/sarif-2.1.0.json");
    if !schema.exists() {
        fs::create_dir_all(&folder)?;
        must_succeed(Command::new("npm").args(["pack", "--silent", PACKAGE]).current_dir(&folder))?;
        let archive = "microsoft-sarif-multitool-linux-5.7.0.tgz";
        let mut tar = Command::new("tar");
        tar.args(["-xzf", archive, "package/sarif-2.1.0.json"]).current_dir(&folder);
        must_succeed(&mut tar)?;
        // The tool itself is large, and not needed.
        fs::remove_file(folder.join(archive))?;
    }
    Ok(schema)
}
