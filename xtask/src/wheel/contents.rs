//! What is in the wheel, under its right names, and nothing else.

use std::{path::Path, process::Command};

use anyhow::{Context, Result, ensure};
use whyoom_trace::Bytes;

use super::{output::output, packaged};

/// Prints a wheel's files with their sizes, and tells how many.
const LIST: &str = "import sys, zipfile\n\
    for file in zipfile.ZipFile(sys.argv[1]).infolist(): print(file.file_size, file.filename)";

/// Lists the files; all that belongs there must be. How many there are.
pub(super) fn check(wheel: &Path) -> Result<usize> {
    let list = output(Command::new("python3").args(["-c", LIST]).arg(wheel))?;
    let files: Vec<(u64, &str)> = list.lines().map(entry).collect::<Result<_>>()?;
    for (size, name) in &files {
        println!("{:>12}  {name}", Bytes(*size).to_string());
    }
    let has = |end: &str| files.iter().any(|(size, name)| name.ends_with(end) && *size > 0);
    let libraries = packaged::libraries().map(|name| format!("/data/lib/whyoom/{name}"));
    let headers = packaged::HEADERS.iter().map(|name| format!("/data/include/{name}"));
    let licences = packaged::LICENCES.iter().map(|name| format!(".dist-info/licenses/{name}"));
    let others = [
        "/scripts/whyoom",
        "whyoom/__main__.py",
        "/data/share/man/man1/whyoom.1",
        "/data/share/man/man1/whyoom-lab-run.1",
        "/data/share/bash-completion/completions/whyoom",
        "/data/share/zsh/site-functions/_whyoom",
        "/data/share/fish/vendor_completions.d/whyoom.fish",
    ];
    let others = others.iter().map(|name| (*name).to_owned());
    for wanted in libraries.chain(headers).chain(licences).chain(others) {
        ensure!(has(&wanted), "{wanted} is not in the wheel");
    }
    // An empty file, which says that the package is typed.
    ensure!(files.iter().any(|(_, name)| *name == "whyoom/py.typed"), "whyoom/py.typed is missing");
    // A tool that repairs wheels would put libraries of the system there, under other names.
    let foreign = files.iter().find(|(_, name)| is_foreign(name));
    ensure!(foreign.is_none(), "{} does not belong into the wheel", foreign.map_or("", |f| f.1));
    Ok(files.len())
}

fn entry(line: &str) -> Result<(u64, &str)> {
    let (size, name) = line.split_once(' ').with_context(|| line.to_owned())?;
    Ok((size.parse()?, name))
}

fn is_foreign(name: &str) -> bool {
    let own = name.rsplit('/').next().is_some_and(|file| file.starts_with("libwhyoom_"));
    (name.contains(".so") && !own) || name.contains(".libs/") || name.contains("__pycache__")
}
