//! An environment with nothing but the wheel, and everything in it used.

use std::{
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Result, ensure};
use harness::{fresh, must_succeed, site_packages};

use super::{installed::Installed, output::output, packaged, system::System};

/// A virtual environment.
pub(super) struct Environment {
    folder: PathBuf,
}

impl Environment {
    /// Nothing but the wheel: what it needs must be inside.
    pub(super) fn with(wheel: &Path) -> Result<Self> {
        let folder = fresh("wheel-venv")?;
        must_succeed(Command::new("python3").args(["-m", "venv"]).arg(&folder))?;
        let own = Self { folder };
        output(own.pip().args(["install", "--quiet", "--no-index"]).arg(wheel))?;
        output(own.pip().arg("check"))?;
        Ok(own)
    }

    pub(super) fn python(&self) -> Command {
        Command::new(self.folder.join("bin/python"))
    }

    fn pip(&self) -> Command {
        let mut pip = self.python();
        pip.args(["-m", "pip", "--disable-pip-version-check"]);
        pip
    }

    pub(super) fn whyoom(&self) -> PathBuf {
        self.folder.join("bin/whyoom")
    }

    /// Where it has its packages, which any Python can import.
    pub(super) fn packages(&self) -> Result<PathBuf> {
        site_packages(&self.folder)
    }

    pub(super) fn use_everything(&self) -> Result<()> {
        let installed = Installed { system: System::own(), whyoom: self.whyoom() };
        installed.use_everything()?;
        self.check_package()
    }

    /// The installed package, where there is no PyTorch: it says so. Its library and headers are beside it.
    fn check_package(&self) -> Result<()> {
        let script = "import whyoom.pool, whyoom._pool_library as library; library.load()\n\
                      try: whyoom.pool.enable()\n\
                      except RuntimeError as error: print(error)";
        let answer = output(self.python().args(["-c", script]).env_clear())?;
        ensure!(answer.contains("torch is not installed"), "another answer: {answer}");
        for header in packaged::HEADERS {
            let path = self.folder.join("include").join(header);
            ensure!(path.is_file(), "{} was not installed", path.display());
        }
        Ok(())
    }

    /// Takes the wheel out again: nothing of it stays.
    pub(super) fn uninstall(self) -> Result<()> {
        output(self.pip().args(["uninstall", "--quiet", "--yes", "whyoom"]))?;
        let left = find(&self.folder, "whyoom")?;
        ensure!(left.is_none(), "{} was left behind", left.unwrap_or_default().display());
        println!("uninstalled: nothing is left");
        Ok(())
    }
}

/// A file or a folder below another whose name has the word in it.
fn find(folder: &Path, word: &str) -> Result<Option<PathBuf>> {
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        if path.file_name().is_some_and(|name| name.to_string_lossy().contains(word)) {
            return Ok(Some(path));
        }
        if path.is_dir() && !path.is_symlink() {
            let found = find(&path, word)?;
            if found.is_some() {
                return Ok(found);
            }
        }
    }
    Ok(None)
}
