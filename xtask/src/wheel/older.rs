//! The wheel in older systems: Debian 11 by pip, and Ubuntu 18.04, whose Python is too old for it, without.

use std::{path::Path, process::Command};

use anyhow::{Context, Result, ensure};
use harness::fresh;

use super::{installed::Installed, output::output, system::System, unpacked::unpacked};

/// Uses the wheel in each: their names, with the versions of their C libraries.
pub(super) fn check(wheel: &Path) -> Result<String> {
    let bullseye = by_pip(
        &System::older("bullseye", Some(&own_mirror()?), "python3-minimal,python3-venv")?,
        wheel,
    )?;
    let bionic = without_pip(&System::older("bionic", None, "libc-bin")?, wheel)?;
    Ok(format!("Debian 11 (glibc {bullseye}) and Ubuntu 18.04 (glibc {bionic})"))
}

/// Returns the mirror of Debian that this system installs from.
fn own_mirror() -> Result<String> {
    let mut apt = Command::new("apt-get");
    apt.args(["indextargets", "--format", "$(REPO_URI)", "Created-By: Packages", "Origin: Debian"]);
    let mirrors = output(&mut apt)?;
    let mirror = mirrors.lines().next().context("apt knows no mirror of Debian: apt-get update")?;
    Ok(mirror.to_owned())
}

fn by_pip(system: &System, wheel: &Path) -> Result<String> {
    let folder = fresh("older-venv")?;
    output(system.command("/usr/bin/python3").args(["-m", "venv"]).arg(&folder))?;
    let mut pip = system.command(folder.join("bin/python"));
    pip.args(["-m", "pip", "--disable-pip-version-check", "install", "--quiet", "--no-index"]);
    output(pip.arg(wheel))?;
    let mut import = system.command(folder.join("bin/python"));
    output(
        import.args(["-c", "import whyoom.pool, whyoom._pool_library as library; library.load()"]),
    )?;
    used(system, &folder)
}

fn without_pip(system: &System, wheel: &Path) -> Result<String> {
    used(system, &unpacked(wheel)?)
}

fn used(system: &System, folder: &Path) -> Result<String> {
    let whyoom = folder.join("bin/whyoom");
    Installed { system: system.clone(), whyoom: whyoom.clone() }.use_everything()?;
    entered(system, &whyoom)?;
    let said = output(system.command("/usr/bin/ldd").arg("--version"))?;
    let version = said.lines().next().and_then(|line| line.split_whitespace().next_back());
    let version = version.context("no version of glibc")?.to_owned();
    println!(
        "glibc {version}: a verdict, a simulated GPU, a recording, the pool, a program that enters it"
    );
    Ok(version)
}

/// A program here that enters the older system, as one that starts a container: the program there inherits
/// `LD_PRELOAD`, and the libraries are there too.
fn entered(system: &System, whyoom: &Path) -> Result<()> {
    let inner = system.command("/bin/echo");
    let mut run = Command::new(whyoom);
    run.args(["run", "-o"]).arg(fresh("older-entered")?).arg("--");
    run.arg(inner.get_program()).args(inner.get_args()).arg("alive");
    let ended = run.output()?;
    let said = String::from_utf8_lossy(&ended.stderr);
    ensure!(ended.stdout == b"alive\n", "the program in the older system does not run: {said}");
    ensure!(!said.contains("GLIBC_"), "{said}");
    Ok(())
}
