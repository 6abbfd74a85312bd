//! `cargo install --path crates/whyoom`: the command alone. What needs no library works; what needs one
//! says where to get it, and finds it in `lib/whyoom` beside `bin`.

use std::{path::Path, process::Command};

use anyhow::{Result, ensure};

use super::{cleared, output, packaged};
use crate::tools::{binaries_given, must_succeed, release_build, root, scratch};

pub(super) fn check() -> Result<()> {
    let folder = scratch("wheel")?.join("cargo-install");
    cleared(&folder)?;
    let mut install = Command::new(env!("CARGO"));
    install
        .args(["install", "--quiet", "--locked", "--path", "crates/whyoom", "--root"])
        .arg(&folder);
    if binaries_given() {
        install.arg("--debug");
    }
    must_succeed(install.current_dir(root()))?;
    let whyoom = folder.join("bin/whyoom");
    output(Command::new(&whyoom).arg("causes"))?;
    for words in [&["run", "--", "true"][..], &["lab", "run", "--", "true"]] {
        let said = Command::new(&whyoom).args(words).current_dir(&folder).output()?.stderr;
        let said = String::from_utf8_lossy(&said);
        ensure!(said.contains("pip install whyoom"), "{words:?} does not say what to do: {said}");
    }
    use_libraries(&whyoom, &folder)?;
    println!("cargo install: the command alone, and with the libraries in lib/whyoom");
    Ok(())
}

fn use_libraries(whyoom: &Path, folder: &Path) -> Result<()> {
    let (built, libraries) = (release_build()?, folder.join("lib/whyoom"));
    std::fs::create_dir_all(&libraries)?;
    for file in packaged::libraries() {
        std::fs::copy(built.join(file), libraries.join(file))?;
    }
    let mut lab = Command::new(whyoom);
    lab.args(["lab", "run", "--"]).arg(whyoom).args(["run", "-o", "recording", "--"]);
    output(lab.arg(whyoom).args(["lab", "calibrate"]).current_dir(folder))?;
    let mut why = Command::new(whyoom);
    let answer = output(why.args(["why", "--json", "recording"]).current_dir(folder))?;
    ensure!(answer.contains("\"kind\": \"recording\""), "no recording: {answer}");
    Ok(())
}
