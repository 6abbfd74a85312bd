//! The wheels for all processors: their contents and tags, and each used where it can be.

use std::path::Path;

use anyhow::{Context, Result};
use harness::{Architecture, Held};

use super::{
    build, contents, emulated_tests, installed::Installed, older, output::output, system::System,
    tag, unpacked::unpacked,
};
use crate::tools::file_name;

pub(super) fn run() -> Result<Held> {
    let wheels = build::wheels()?;
    for (architecture, wheel) in &wheels {
        contents::check(wheel)?;
        tag::check(wheel, *architecture)?;
        use_unpacked(*architecture, wheel)?;
    }
    let host = Architecture::host()?;
    let own = wheels.iter().find(|(architecture, _)| *architecture == host);
    let (_, own) = own.context("no wheel for this machine")?;
    let older = older::check(own)?;
    let mut tests = Vec::new();
    for architecture in Architecture::ALL.into_iter().filter(|other| *other != host) {
        tests.push(emulated_tests::run(architecture)?);
    }
    let names: Vec<String> = wheels.iter().map(|(_, wheel)| file_name(wheel)).collect();
    Ok(Held::new(format!(
        "{}, each used; the first in {older}; tests: {}",
        names.join(" and "),
        tests.join(", ")
    )))
}

/// A wheel used without pip, which takes only wheels for its own processor.
fn use_unpacked(architecture: Architecture, wheel: &Path) -> Result<()> {
    let system = System::emulated(architecture)?;
    let whyoom = unpacked(wheel)?.join("bin/whyoom");
    let version = output(system.command(&whyoom).arg("--version"))?;
    Installed { system, whyoom }.use_everything()?;
    println!(
        "{}: {}: a verdict, a simulated GPU, a recording, the pool",
        architecture.name(),
        version.trim()
    );
    Ok(())
}
