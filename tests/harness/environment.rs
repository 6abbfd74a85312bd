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

/// The environment with the packages that `tests/requirements/NAME.txt` names, made anew when the list
/// changes.
pub fn environment(name: &str) -> Result<PathBuf> {
    let requirements = root().join("tests/requirements").join(format!("{name}.txt"));
    let wanted = fs::read_to_string(&requirements)
        .with_context(|| format!("cannot read {}", requirements.display()))?;
    let venvs = cache().join("venvs");
    fs::create_dir_all(&venvs)?;
    let folder = venvs.join(name);
    once_at(&venvs.join(format!("{name}.installed")), &wanted, || {
        println!("installing {}", wanted.trim().replace('\n', ", "));
        if folder.exists() {
            fs::remove_dir_all(&folder)?;
        }
        must_succeed(Command::new("python3").args(["-m", "venv"]).arg(&folder))?;
        if let Some(other) = wanted.lines().find_map(|line| line.strip_prefix("# beside: ")) {
            lend(&environment(other)?, &folder)?;
        }
        let mut pip = Command::new(folder.join("bin/pip"));
        must_succeed(pip.args(["install", "--quiet", "--requirement"]).arg(&requirements))
    })?;
    Ok(folder)
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
