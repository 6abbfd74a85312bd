//! `cargo xtask wheel`: the wheel with the command, the recorder, the pool and the lab's libraries in
//! `dist/`, installed into a fresh environment and used there. `cargo xtask wheel all` is for those who
//! give it to others: also its tag, the Pythons that it says it runs on, its tests with PyTorch on the
//! simulated GPU, and `cargo install`.

mod build;
mod cargo_install;
mod contents;
mod fresh;
mod output;
mod packaged;
mod python;
mod tag;
mod verdict;

use anyhow::Result;
use harness::Held;
use whyoom_trace::Bytes;

use crate::tools::file_name;

pub(crate) fn run(all: bool) -> Result<Held> {
    let wheel = build::wheel()?;
    let files = contents::check(&wheel)?;
    let fresh = fresh::Environment::with(&wheel)?;
    fresh.use_everything()?;
    python::test_without_torch(&fresh)?;
    let mut others = String::new();
    if all {
        tag::check(&wheel)?;
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
