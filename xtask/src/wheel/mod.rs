//! `cargo xtask wheel`: the wheel with the command, the recorder, the pool and the lab's libraries in
//! `dist/`, installed into a fresh environment and used there. `cargo xtask wheel all` is for those who
//! give it to others: also its tag, the Pythons that it says it runs on, its tests with PyTorch on the
//! simulated GPU, and `cargo install`. `cargo xtask wheel both` makes the wheels for all processors, and
//! uses them in older systems and in an emulator.

mod both;
mod build;
mod cargo_install;
mod contents;
mod emulated_tests;
mod fresh;
mod installed;
mod older;
mod output;
mod packaged;
mod python;
mod system;
mod tag;
mod unpacked;
mod verdict;

use anyhow::Result;
use clap::ValueEnum;
use harness::{Architecture, Held};
use whyoom_trace::Bytes;

use crate::tools::file_name;

/// What is wanted beside the wheel for this machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Wish {
    /// Also what others need: other Pythons, notebooks, `cargo install`
    All,
    /// The wheels for x86-64 and aarch64, used in older systems and in an emulator
    Both,
}

pub(crate) fn run(wish: Option<Wish>) -> Result<Held> {
    if wish == Some(Wish::Both) {
        return both::run();
    }
    let wheel = build::wheel()?;
    let files = contents::check(&wheel)?;
    let fresh = fresh::Environment::with(&wheel)?;
    fresh.use_everything()?;
    python::test_without_torch(&fresh)?;
    let mut others = String::new();
    if wish == Some(Wish::All) {
        tag::check(&wheel, Architecture::host()?)?;
        python::read_as_the_oldest()?;
        others = format!("; its tests on {}", python::test_on_others(&fresh)?);
        python::test_with_torch(&fresh)?;
        cargo_install::check()?;
    }
    fresh.uninstall()?;
    let (name, size) = (file_name(&wheel), Bytes(wheel.metadata()?.len()));
    Ok(Held::new(format!(
        "{name}, {size}, {files} files, installed alone and used: a verdict, a simulated GPU, a recording, the \
         pool, Python{others}"
    )))
}
