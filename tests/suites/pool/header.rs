//! Programs in C and C++ that use the pool by its header alone.

use std::process::Command;

use anyhow::{Result, ensure};
use harness::{Build, Held, Trial, must_succeed, root, scratch, text};

pub(super) fn c() -> Result<Held> {
    works("pool.c", "cc", "-std=c99")
}

pub(super) fn cpp() -> Result<Held> {
    works("resources.cpp", "c++", "-std=c++17")
}

/// A program, with its compiler and the oldest language that the header promises.
fn works(source: &str, compiler: &str, language: &str) -> Result<Held> {
    let (crate_folder, binaries) = (root().join("crates/pool"), Build::ready()?.folder());
    let program = scratch("pool-header")?.join(source).with_extension("");
    let mut build = Command::new(compiler);
    build.args([language, "-g", "-Wall", "-Wextra", "-Werror", "-pthread", "-o"]);
    build.arg(&program).arg(crate_folder.join("tests/header").join(source));
    build.arg("-I").arg(crate_folder.join("include"));
    build.arg("-L").arg(binaries).args(["-lwhyoom_pool", "-ldl"]);
    must_succeed(build.arg(format!("-Wl,-rpath,{}", binaries.display())))?;
    let ran = Trial::new("2GiB", &[text(&program)]).plain()?;
    let said = &ran.succeeded()?.stdout;
    ensure!(said.lines().any(|line| line == "holds"), "it said {said}");
    Ok(Held::new(format!("{compiler} {language}: holds")))
}
