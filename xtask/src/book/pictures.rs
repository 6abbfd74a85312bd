//! Part `pictures`: what the report of a session's recording looks like in a browser. A browser draws
//! differently on every machine, so that pictures are made where it is asked for and never compared.

use std::{collections::BTreeSet, fs, path::Path, process::Command};

use anyhow::{Result, ensure};
use harness::{Build, Held, must_succeed, root, scratch};

use super::{
    Wish,
    page::{docs, files},
    summary::linked,
};
use crate::tools::file_name;

/// The recording of the first question's page: memory in pieces, which the address map shows.
const RECORDING: &str = "memory-is-free/chat";

pub(super) fn run(wish: &Wish) -> Result<Held> {
    let folder = docs().join("pictures");
    if wish.bless {
        make(&folder)?;
    }
    let kept: BTreeSet<String> =
        files(&folder, "png")?.iter().map(|path| file_name(path)).collect();
    let shown = shown()?;
    ensure!(!shown.is_empty(), "no page shows a picture");
    ensure!(kept == shown, "docs/pictures has {kept:?}, and the pages show {shown:?}");
    let made = if wish.bless { "made anew" } else { "kept: --bless makes them anew" };
    Ok(Held::new(format!("{} pictures of {RECORDING}, all of them shown ({made})", kept.len())))
}

/// The names of the pictures that pages show.
fn shown() -> Result<BTreeSet<String>> {
    let mut names = BTreeSet::new();
    for page in files(&docs(), "md")? {
        let text = fs::read_to_string(page)?;
        let files = linked(&text).map(|link| link.trim_start_matches("../"));
        names.extend(files.filter_map(|file| file.strip_prefix("pictures/")).map(str::to_owned));
    }
    Ok(names)
}

fn make(folder: &Path) -> Result<()> {
    let recording = scratch("book")?.join(RECORDING);
    ensure!(recording.is_dir(), "no recording: cargo xtask book sessions --only=memory-is-free");
    let report = scratch("book")?.join("chat.html");
    let mut whyoom = Command::new(Build::ready()?.whyoom());
    must_succeed(whyoom.arg("report").arg(&recording).args(["--force", "-o"]).arg(&report))?;
    let web = root().join("web");
    ensure!(web.join("node_modules").is_dir(), "npm ci in web first");
    let mut npm = Command::new("npm");
    npm.args(["run", "--silent", "pictures", "--"]).arg(&report).arg(folder);
    must_succeed(npm.current_dir(web))
}
