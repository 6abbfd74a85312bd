//! Python environments with what is tested against, kept in the cache folder.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context, Result};

use crate::{
    checkout::{cache, root, text},
    once::once_at,
    preparation::must_succeed,
};

/// The environment with the installer: `uv` takes half as long as pip for PyTorch, and installs a package that two
/// environments have from one copy. pip installs it.
const INSTALLER: &str = "uv";

/// Returns the environment with the packages that `tests/requirements/NAME.txt` names. It is made anew when the list
/// changes.
pub fn environment(name: &str) -> Result<PathBuf> {
    let requirements = requirements_file(name);
    let wanted = read(&requirements)?;
    let venvs = cache().join("venvs");
    fs::create_dir_all(&venvs)?;
    let folder = venvs.join(name);
    once_at(&venvs.join(format!("{name}.installed")), &wanted, || {
        println!("installing {}", wanted.trim().replace('\n', ", "));
        if folder.exists() {
            fs::remove_dir_all(&folder)?;
        }
        must_succeed(Command::new("python3").args(["-m", "venv"]).arg(&folder))?;
        if name == INSTALLER {
            let mut pip = Command::new(folder.join("bin/pip"));
            return must_succeed(pip.args(["install", "--quiet", "-r"]).arg(&requirements));
        }
        let mut uv = Command::new(environment(INSTALLER)?.join("bin/uv"));
        uv.args(["pip", "install", "--quiet", "--compile-bytecode", "--python"]);
        uv.arg(folder.join("bin/python")).arg("-r").arg(&requirements);
        uv.env("UV_CACHE_DIR", cache().join("uv"));
        if let Some(other) = wanted.lines().find_map(|line| line.strip_prefix("# beside: ")) {
            lend(&environment(other)?, &folder)?;
            uv.arg("--excludes").arg(names_file(&venvs, other)?);
        }
        must_succeed(&mut uv)
    })?;
    Ok(folder)
}

fn requirements_file(name: &str) -> PathBuf {
    root().join("tests/requirements").join(format!("{name}.txt"))
}

fn read(file: &Path) -> Result<String> {
    fs::read_to_string(file).with_context(|| format!("cannot read {}", file.display()))
}

/// Writes the names of an environment's packages, without their versions, and returns the file.
fn names_file(venvs: &Path, name: &str) -> Result<PathBuf> {
    let mut names = String::new();
    for line in read(&requirements_file(name))?.lines() {
        if let Some((package, _)) = line.split_once("==") {
            names.push_str(package);
            names.push('\n');
        }
    }
    let file = venvs.join(format!("{name}.names"));
    fs::write(&file, names)?;
    Ok(file)
}

/// Lets one environment use the packages of another, so that what is large is installed once.
pub fn lend(from: &Path, to: &Path) -> Result<()> {
    let packages = site_packages(from)?;
    let line = packages.to_str().context("a path that is not text")?;
    Ok(fs::write(site_packages(to)?.join("beside.pth"), line)?)
}

/// Where an environment has its packages.
pub fn site_packages(environment: &Path) -> Result<PathBuf> {
    let pythons = fs::read_dir(environment.join("lib"))?.flatten();
    let mut folders = pythons.map(|python| python.path().join("site-packages"));
    folders.find(|folder| folder.is_dir()).context("no folder of packages")
}

/// PyTorch's interpreter.
pub fn python() -> Result<String> {
    Ok(text(&environment("torch")?.join("bin/python")))
}

/// Where the vendor's compiler, headers and runtime lie.
pub fn cuda() -> Result<PathBuf> {
    Ok(site_packages(&environment("cuda")?)?.join("nvidia/cu13"))
}
