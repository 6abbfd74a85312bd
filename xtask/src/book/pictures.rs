//! Part `pictures`: what the report of a session's recording looks like in a browser. A browser draws
//! differently on every machine, so that pictures are made where it is asked for and never compared.

use std::process::Command;

use anyhow::{Context, Result, ensure};

use super::{Desk, page::docs};
use crate::tools::{must_succeed, release_build, root, scratch};

/// The recording of the first question's page: memory in pieces, which the address map shows.
const RECORDING: &str = "memory-is-free/chat";

pub(super) fn run(desk: &Desk) -> Result<String> {
    let folder = docs().join("pictures");
    if !desk.bless {
        let kept = folder.read_dir().context("docs/pictures")?.count();
        return Ok(format!("{kept} pictures are kept (--bless makes them anew)"));
    }
    let recording = scratch("book")?.join(RECORDING);
    ensure!(recording.is_dir(), "no recording: cargo xtask book sessions --only=memory-is-free");
    let report = scratch("book")?.join("chat.html");
    let mut whyoom = Command::new(release_build()?.join("whyoom"));
    must_succeed(whyoom.arg("report").arg(&recording).arg("-o").arg(&report))?;
    let web = root().join("web");
    ensure!(web.join("node_modules").is_dir(), "npm ci in web first");
    let mut npm = Command::new("npm");
    npm.args(["run", "--silent", "pictures", "--"]).arg(&report).arg(&folder);
    must_succeed(npm.current_dir(web))?;
    Ok(format!("{} pictures of {RECORDING}", folder.read_dir()?.count()))
}
