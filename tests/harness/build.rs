//! The build that is tested: the one that people get.

use std::{
    env, fs,
    io::IsTerminal,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process::Command,
    sync::OnceLock,
};

use anyhow::{Context, Result};
use whyoom_lab_core::session::built_libraries;

use crate::{
    architecture::Architecture,
    checkout::{root, target},
    once::{once, stamp_of},
    preparation::must_succeed,
    zig::zig_variables,
};

/// The command, and what it preloads.
const PROGRAM: [&str; 3] = ["whyoom", "libwhyoom_recorder.so", "libwhyoom_pool.so"];

/// The command by itself, with the features that it asks of its dependencies: maturin asks for the same, and
/// does not build it again.
const COMMAND: [&str; 4] = ["--package", "whyoom", "--bin", "whyoom"];
/// The rest, with the programs of tests.
const LIBRARIES: [&str; 10] = [
    "--package",
    "whyoom-recorder",
    "--package",
    "whyoom-pool",
    "--package",
    "whyoom-lab-*",
    "--lib",
    "--bins",
    "--example",
    "stress",
];

/// A folder with the command and the libraries.
#[derive(Debug, Clone)]
pub struct Build {
    folder: PathBuf,
}

impl Build {
    /// Names a folder with a build to use as it is. `cargo xtask` sets it, so that each test does not ask cargo.
    pub const VARIABLE: &str = "WHYOOM_BINARIES";

    /// The build of this checkout, made if need be.
    pub fn ready() -> Result<&'static Self> {
        static READY: OnceLock<Build> = OnceLock::new();
        if let Some(build) = READY.get() {
            return Ok(build);
        }
        let build = match env::var_os(Self::VARIABLE).map(PathBuf::from) {
            Some(folder) => Self { folder },
            None => Self::made_for(Architecture::host()?)?,
        };
        Ok(READY.get_or_init(|| build))
    }

    /// Returns true if a variable names binaries, which are then used as they are.
    #[must_use]
    pub fn is_given() -> bool {
        [Self::VARIABLE, Self::FLEET_VARIABLE].iter().any(|name| env::var_os(name).is_some())
    }

    /// The build for a processor, which may be another than this machine's.
    pub fn made_for(architecture: Architecture) -> Result<Self> {
        let (triple, variables) = (architecture.triple(), zig_variables(architecture)?);
        if !target().join(&triple).join("release/whyoom").exists() {
            eprintln!("building whyoom and its libraries; the first build takes about ten minutes");
        }
        for what in [&COMMAND[..], &LIBRARIES] {
            let mut build = Command::new(env!("CARGO"));
            build.args(["build", "--release", "--target", &triple]).args(what);
            show_progress_in_terminals(&mut build);
            must_succeed(build.current_dir(root()).envs(&variables))?;
        }
        Ok(Self { folder: target().join(triple).join("release") })
    }

    /// Names a build of the operators' command to use as it is, for whoever changes it.
    const FLEET_VARIABLE: &str = "WHYOOM_FLEET_BINARY";

    /// The operators' command, made if need be: few checks need it, and it has many dependencies.
    pub fn fleet() -> Result<PathBuf> {
        if let Some(program) = env::var_os(Self::FLEET_VARIABLE) {
            return Ok(program.into());
        }
        let mut build = Command::new(env!("CARGO"));
        build.args(["build", "--profile", "checks", "--package", "whyoom-fleet"]);
        show_progress_in_terminals(&mut build);
        must_succeed(build.current_dir(root()))?;
        Ok(target().join("checks/whyoom-fleet"))
    }

    /// The command, and all libraries.
    pub fn shipped(&self) -> impl Iterator<Item = PathBuf> {
        built_libraries().chain(PROGRAM).map(|name| self.file(name))
    }

    /// A copy that other users can read too, who may not enter the build folder.
    pub fn readable() -> Result<Self> {
        let build = Self::ready()?;
        let names: Vec<&str> = built_libraries().chain(PROGRAM).collect();
        let files: Vec<PathBuf> = names.iter().map(|name| build.file(name)).collect();
        let stamp = stamp_of(&files)?;
        let folder = env::temp_dir().join(format!("whyoom-readable-{:016x}", hash(&stamp)));
        once("readable", &stamp, || {
            fs::create_dir_all(&folder)?;
            fs::set_permissions(&folder, fs::Permissions::from_mode(0o755))?;
            for (name, file) in names.iter().zip(&files) {
                // Not over one that runs: another checkout with the same build may have copied it.
                let copy = folder.join(format!("{name}.new"));
                fs::copy(file, &copy).with_context(|| (*name).to_owned())?;
                fs::rename(copy, folder.join(name))?;
            }
            Ok(())
        })?;
        Ok(Self { folder })
    }

    /// The folder.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// One of its files.
    #[must_use]
    pub fn file(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// The command.
    #[must_use]
    pub fn whyoom(&self) -> PathBuf {
        self.file("whyoom")
    }

    /// The library that `whyoom run` preloads.
    #[must_use]
    pub fn recorder(&self) -> PathBuf {
        self.file("libwhyoom_recorder.so")
    }

    /// The allocator that `whyoom run --pool` preloads.
    #[must_use]
    pub fn pool(&self) -> PathBuf {
        self.file("libwhyoom_pool.so")
    }
}

/// Lets cargo print its progress where a person sees it, and nothing but errors elsewhere.
fn show_progress_in_terminals(build: &mut Command) {
    if !std::io::stderr().is_terminal() {
        build.arg("--quiet");
    }
}

/// A short name for a long text.
pub(crate) fn hash(text: &str) -> u64 {
    use std::hash::{DefaultHasher, Hash, Hasher};
    let mut hasher = DefaultHasher::new();
    text.hash(&mut hasher);
    hasher.finish()
}
