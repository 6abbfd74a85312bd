//! `cargo install --path crates/whyoom`: the command alone. What needs no library works; what needs one
//! says where to get it, and finds it in `lib/whyoom` beside `bin`.

use std::{fs, path::Path, process::Command};

use anyhow::{Result, ensure};
use harness::{Build, fresh, must_succeed, root};

use super::{output::output, packaged, verdict::verdict};

pub(super) fn check() -> Result<()> {
    let folder = fresh("cargo-install")?;
    let mut install = Command::new(env!("CARGO"));
    // What it builds with optimizations for this system alone would be tested nowhere else.
    install.args([
        "install",
        "--quiet",
        "--locked",
        "--debug",
        "--path",
        "crates/whyoom",
        "--root",
    ]);
    must_succeed(install.arg(&folder).current_dir(root()))?;
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
    let (build, libraries) = (Build::ready()?, folder.join("lib/whyoom"));
    fs::create_dir_all(&libraries)?;
    for file in packaged::libraries() {
        fs::copy(build.file(file), libraries.join(file))?;
    }
    let mut lab = Command::new(whyoom);
    lab.args(["lab", "run", "--"]).arg(whyoom).args(["run", "-o", "recording", "--"]);
    output(lab.arg(whyoom).args(["lab", "calibrate"]).current_dir(folder))?;
    verdict(&mut Command::new(whyoom), &folder.join("recording"), "recording").map(drop)
}
