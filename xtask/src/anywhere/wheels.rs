//! The wheels for Windows and macOS: the command and the Python package, without what needs Linux. That for Windows is
//! used under Wine; those for macOS are only built, and their programs' heads read.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context, Result, ensure};
use harness::{Held, empty_folder, environment, foreign_zig_variables, must_succeed, root, text};
use whyoom_trace::Bytes;

use super::{Page, windows::wine::Wine};
use crate::tools::file_name;

/// A system that gets a wheel.
struct System {
    /// Rust's name for it.
    target: &'static str,
    /// What the wheel's name has of it.
    tag: &'static str,
    /// The command in the wheel.
    program: &'static str,
    /// How the program's file begins: its kind, and for macOS its processor.
    magic: &'static [u8],
}

const SYSTEMS: [System; 3] = [
    System {
        target: "x86_64-pc-windows-gnu",
        tag: "win_amd64",
        program: "whyoom.exe",
        magic: b"MZ",
    },
    System {
        target: "x86_64-apple-darwin",
        tag: "x86_64",
        program: "whyoom",
        magic: b"\xcf\xfa\xed\xfe\x07\x00\x00\x01",
    },
    System {
        target: "aarch64-apple-darwin",
        tag: "arm64",
        program: "whyoom",
        magic: b"\xcf\xfa\xed\xfe\x0c\x00\x00\x01",
    },
];

/// Puts the files of a wheel into a folder.
const UNPACK: &str = "import sys, zipfile\nzipfile.ZipFile(sys.argv[1]).extractall(sys.argv[2])";
/// What the wheel for Windows explains under Wine.
const INPUT: &str = "tests/fixtures/snapshots/fragmented-oom.pickle";

pub(super) fn run(_: &Page) -> Result<Held> {
    let folder = empty_folder("anywhere-wheels")?;
    let package = staged(&folder)?;
    let dist = root().join("dist");
    let mut names = Vec::new();
    for system in &SYSTEMS {
        let wheel = packed(system, &package, &folder.join("wheels"))?;
        let program = checked(system, &wheel, &folder.join(system.target))?;
        let used = if system.target.contains("windows") {
            used_under_wine(&program, &folder)?;
            "used under Wine"
        } else {
            "only built"
        };
        let name = file_name(&wheel);
        println!("{:<56} {:>10}  {used}", name, Bytes(wheel.metadata()?.len()).to_string());
        fs::create_dir_all(&dist)?;
        fs::copy(&wheel, dist.join(&name))?;
        names.push(format!("{name} ({used})"));
    }
    Ok(Held::new(format!("in dist/: {}", names.join(", "))))
}

/// The Python package by itself: without the data that the wheels for Linux have, which may lie there.
fn staged(folder: &Path) -> Result<PathBuf> {
    let (from, to) = (root().join("python"), folder.join("python"));
    fs::create_dir_all(to.join("whyoom"))?;
    for file in ["README.md", "LICENSE-APACHE", "LICENSE-MIT"] {
        fs::copy(from.join(file), to.join(file)).with_context(|| file.to_owned())?;
    }
    for entry in fs::read_dir(from.join("whyoom"))? {
        let path = entry?.path();
        if path.is_file() {
            fs::copy(&path, to.join("whyoom").join(file_name(&path)))?;
        }
    }
    let manifest = fs::read_to_string(from.join("pyproject.toml"))?;
    let command = text(&root().join("crates/whyoom/Cargo.toml"));
    let own = manifest
        .replace("\"../crates/whyoom/Cargo.toml\"", &format!("'{command}'"))
        .replace("data = \"whyoom.data\"\n", "");
    ensure!(own.contains(&command) && !own.contains("data ="), "pyproject.toml is otherwise now");
    fs::write(to.join("pyproject.toml"), own)?;
    Ok(to)
}

/// Builds the wheel for a system.
fn packed(system: &System, package: &Path, out: &Path) -> Result<PathBuf> {
    let mut maturin = Command::new(environment("maturin")?.join("bin/maturin"));
    maturin.args(["build", "--quiet", "--locked", "--release", "--target", system.target]);
    maturin.arg("--out").arg(out).current_dir(package);
    if system.target.contains("apple") {
        maturin.envs(foreign_zig_variables(system.target)?);
        let frameworks = root().join("xtask/macos");
        let name = system.target.to_uppercase().replace('-', "_");
        let flags = format!("-C link-arg=-F{}", text(&frameworks));
        maturin.env(format!("CARGO_TARGET_{name}_RUSTFLAGS"), flags);
    }
    must_succeed(&mut maturin).with_context(|| format!("no wheel for {}", system.target))?;
    let end = format!("{}.whl", system.tag);
    let is_it = |path: &PathBuf| {
        let name = file_name(path);
        name.ends_with(&end) && name.contains("macosx") == system.target.contains("apple")
    };
    let mut wheels = fs::read_dir(out)?.flatten().map(|entry| entry.path());
    wheels.find(is_it).with_context(|| format!("no wheel {end}"))
}

/// What belongs into the wheel is in it, and nothing that needs Linux; the path of the program.
fn checked(system: &System, wheel: &Path, folder: &Path) -> Result<PathBuf> {
    let mut unpack = Command::new("python3");
    must_succeed(unpack.args(["-c", UNPACK]).arg(wheel).arg(folder))?;
    let entries = || fs::read_dir(folder).map(|entries| entries.flatten().map(|one| one.path()));
    let data = entries()?.find(|path| file_name(path).ends_with(".data"));
    let data = data.context("the wheel has no program")?;
    let program = data.join("scripts").join(system.program);
    let head = fs::read(&program).with_context(|| text(&program))?;
    ensure!(
        head.starts_with(system.magic),
        "{} is no program of {}",
        text(&program),
        system.target
    );
    ensure!(folder.join("whyoom/__main__.py").is_file(), "the package is not in the wheel");
    ensure!(!data.join("data").exists(), "libraries for Linux are in the wheel");
    Ok(program)
}

fn used_under_wine(program: &Path, folder: &Path) -> Result<()> {
    let output =
        Wine::with(program, folder)?.command().args(["why", INPUT]).current_dir(root()).output()?;
    let said = String::from_utf8_lossy(&output.stdout);
    ensure!(said.starts_with("error[fragmented-cache]"), "under Wine: {said}");
    Ok(())
}
