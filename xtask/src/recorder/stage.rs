//! What all parts need: the build, the programs of `tests/scenarios/recorder`, places for recordings.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context, Result};

use crate::tools::{environment, must_succeed, release_build, root, scratch, site_packages};

/// C programs that reach the driver at run time.
const PROGRAMS: &[&str] = &["by_name", "churn", "cost", "genuine", "heap", "lives", "ways"];

/// The build and the programs.
pub(crate) struct Stage {
    /// The folder of the command and the libraries.
    pub(crate) binaries: PathBuf,
    /// The folder of the C programs.
    programs: PathBuf,
}

impl Stage {
    /// Builds everything that runs.
    pub(crate) fn prepare() -> Result<Self> {
        let stage = Self { binaries: release_build()?, programs: scratch("recorder-programs")? };
        for name in PROGRAMS {
            let mut compiler = compiler(&source(&format!("{name}.c")), &stage.program(name));
            must_succeed(compiler.args(["-pthread", "-ldl"]))?;
        }
        stage.link_directly()?;
        stage.put_counting_driver()?;
        Ok(stage)
    }

    /// The command.
    pub(crate) fn whyoom(&self) -> PathBuf {
        self.binaries.join("whyoom")
    }

    /// The preload library.
    pub(crate) fn recorder(&self) -> PathBuf {
        self.binaries.join("libwhyoom_recorder.so")
    }

    /// One of the C programs.
    pub(crate) fn program(&self, name: &str) -> PathBuf {
        self.programs.join(name)
    }

    /// The folder with a driver that counts look-ups.
    pub(crate) fn counting_driver(&self) -> PathBuf {
        self.programs.join("counting")
    }

    /// The program that names the driver when it is linked.
    fn link_directly(&self) -> Result<()> {
        let mut compiler = compiler(&source("ways.c"), &self.program("linked"));
        compiler.args(["-DLINKED", "-ldl"]).arg(self.binaries.join("libwhyoom_lab_cuda.so"));
        must_succeed(&mut compiler)
    }

    /// The counting driver depends on the lab's under another name. When it is linked, an empty
    /// library has that name: the lab's own would be noted by the name that it carries.
    fn put_counting_driver(&self) -> Result<()> {
        let folder = self.counting_driver();
        fs::create_dir_all(&folder)?;
        let behind = folder.join("libreal_cuda.so");
        let _ = fs::remove_file(&behind);
        let mut empty = Command::new("cc");
        empty.args(["-shared", "-Wl,-soname,libreal_cuda.so", "-o"]).arg(&behind);
        must_succeed(empty.args(["-x", "c", "/dev/null"]))?;
        let mut counting = compiler(&source("counting_driver.c"), &folder.join("libcuda.so.1"));
        counting.args(["-shared", "-fPIC", "-fuse-ld=bfd", "-Wl,--default-symver"]);
        counting.args(["-Wl,-soname,libcuda.so.1", "-Wl,--no-as-needed"]).arg(&behind);
        must_succeed(&mut counting)?;
        fs::remove_file(&behind)?;
        let lab = self.binaries.join("libwhyoom_lab_cuda.so");
        std::os::unix::fs::symlink(lab, behind).context("cannot put the lab's driver in place")
    }
}

/// A scenario of the recorder's own.
pub(crate) fn source(name: &str) -> PathBuf {
    root().join("tests/scenarios/recorder").join(name)
}

/// PyTorch's interpreter.
pub(crate) fn python() -> Result<String> {
    Ok(environment("torch")?.join("bin/python").display().to_string())
}

/// Where the vendor's compiler, headers and runtime lie.
pub(crate) fn cuda() -> Result<PathBuf> {
    Ok(site_packages(&environment("cuda")?)?.join("nvidia/cu13"))
}

/// A folder that does not exist yet, inside one that does.
pub(crate) fn fresh(name: &str) -> Result<PathBuf> {
    let folder = scratch("recordings")?.join(name);
    if folder.exists() {
        fs::remove_dir_all(&folder)?;
    }
    Ok(folder)
}

fn compiler(source: &Path, out: &Path) -> Command {
    let mut compiler = Command::new("cc");
    compiler.args(["-O1", "-g", "-Wall", "-Wextra", "-Werror", "-o"]).arg(out).arg(source);
    compiler
}
