//! Builds for systems older than the one that builds, and for other processors: zig compiles C and links, for
//! any version of glibc.

use std::{collections::BTreeMap, env, path::Path, process::Command};

use anyhow::{Context, Result, ensure};

use crate::{
    architecture::Architecture,
    checkout::{cache, root, text},
    environment::environment,
    preparation::must_succeed,
    unwinder::unwinder,
};

/// The oldest glibc that whyoom runs on, as (major, minor): Rust's own library needs no older one either.
pub const OLDEST_GLIBC: (u32, u32) = (2, 17);

/// Where the stand-in for cargo finds cargo.
const REAL_CARGO: &str = "REAL_CARGO";

/// Variables of cargo and of C's build scripts.
pub type Variables = BTreeMap<String, String>;

/// The variables with which cargo builds for a processor and the oldest glibc: what cargo-zigbuild sets. Every
/// build needs the same ones, as cargo builds everything anew for another linker.
pub fn zig_variables(architecture: Architecture) -> Result<Variables> {
    let (major, minor) = OLDEST_GLIBC;
    let triple = architecture.triple();
    let mut set = variables_of(&triple, &format!("{triple}.{major}.{minor}"))?;
    let tools = environment("zig")?.join("bin");
    let unwinder = unwinder(architecture, &tools.join("python3"))?;
    // For build scripts: see `whyoom-link`.
    set.insert("WHYOOM_LIBGCC_S".to_owned(), text(&unwinder));
    Ok(set)
}

/// The same for another system than Linux, which has one C library.
pub fn foreign_zig_variables(triple: &str) -> Result<Variables> {
    variables_of(triple, triple)
}

/// What cargo-zigbuild sets for a target in its own spelling.
fn variables_of(triple: &str, target: &str) -> Result<Variables> {
    install(triple)?;
    let tools = environment("zig")?.join("bin");
    let mut zigbuild = Command::new(tools.join("cargo-zigbuild"));
    zigbuild.args(["zigbuild", "--release", "--target", target]).current_dir(root());
    // It starts this in place of cargo, and finds zig by its own Python.
    zigbuild.env("CARGO", root().join("tests/harness/variables.sh"));
    zigbuild.env(REAL_CARGO, env!("CARGO"));
    zigbuild.env("CARGO_ZIGBUILD_PYTHON_PATH", tools.join("python3"));
    let own = [("CARGO_ZIGBUILD_CACHE_DIR", "wrappers"), ("ZIG_GLOBAL_CACHE_DIR", "cache")];
    let own = own.map(|(name, folder)| (name, cache().join("zig").join(folder)));
    let output = zigbuild.envs(own.iter().cloned()).output().context("cargo-zigbuild")?;
    let said = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "cargo-zigbuild for {target}: {said}");
    let set = changed(&String::from_utf8(output.stdout)?);
    ensure!(set.keys().any(|name| name.ends_with("_LINKER")), "cargo-zigbuild sets no linker");
    Ok(set)
}

/// Rust's own library for a target.
fn install(target: &str) -> Result<()> {
    let rustc = Path::new(env!("CARGO")).with_file_name("rustc");
    let mut ask = Command::new(rustc);
    let output = ask.args(["--print", "target-libdir", "--target", target]).output()?;
    if Path::new(String::from_utf8_lossy(&output.stdout).trim()).is_dir() {
        return Ok(());
    }
    must_succeed(Command::new("rustup").args(["target", "add", target]))
}

/// Those of a list of variables that differ here.
fn changed(list: &str) -> Variables {
    let variables = list.split('\0').filter_map(|line| line.split_once('='));
    let differs = |(name, value): &(&str, &str)| {
        !matches!(*name, "CARGO" | REAL_CARGO | "PATH" | "_")
            && env::var(name).ok().as_deref() != Some(value)
    };
    variables.filter(differs).map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
}
