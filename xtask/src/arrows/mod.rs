//! `cargo xtask arrows`: dependencies point one way, between crates, between the files of a crate, and between causes.

mod crates;
mod cycles;
mod modules;

use std::fs;

use anyhow::{Result, bail};
use cargo_metadata::MetadataCommand;
use harness::{Held, root};

pub(crate) fn run() -> Result<Held> {
    let metadata = MetadataCommand::new().current_dir(root()).no_deps().exec()?;
    let (mut arrows, mut wrong) = (0, Vec::new());
    for package in &metadata.packages {
        arrows += crates::check(package, &mut wrong);
    }
    let files = cycles::check(&metadata.packages, &mut wrong)?;
    let causes = between_causes(&mut wrong)?;
    if !wrong.is_empty() {
        bail!("{}", wrong.join("; "));
    }
    let crates = metadata.packages.len();
    Ok(Held::new(format!(
        "{crates} crates, {arrows} arrows, all one way; no import cycle between {files} files; \
         {causes} causes, none uses another"
    )))
}

/// What two causes need is beside the catalogue: a cause file explains one thing and knows of no other cause.
fn between_causes(wrong: &mut Vec<String>) -> Result<usize> {
    let mut count = 0;
    for entry in fs::read_dir(root().join("crates/causes/src/catalogue"))? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if name == "mod.rs" {
            continue;
        }
        count += 1;
        let text = fs::read_to_string(&path)?;
        // A file's own tests look at the file.
        let code = text.replace("use super::*;", "");
        if code.contains("super::") || code.contains("catalogue::") {
            wrong.push(format!("the cause {name} uses another cause"));
        }
    }
    Ok(count)
}
