//! What machines the wheel says it is for: by auditwheel, which looks at every library in it.

use std::{path::Path, process::Command};

use anyhow::{Context, Result, ensure};
use harness::environment;

use super::output::output;

/// The tag in the wheel's name is what its files need, nothing outside is needed, and an index would take
/// it.
pub(super) fn check(wheel: &Path) -> Result<()> {
    let tools = environment("wheel")?.join("bin");
    let said = output(Command::new(tools.join("auditwheel")).arg("show").arg(wheel))?;
    let said = said.split_whitespace().collect::<Vec<_>>().join(" ");
    let tag = consistent_with(&said).with_context(|| format!("no platform tag: {said}"))?;
    let name = wheel.file_stem().unwrap_or_default().to_string_lossy();
    let own = name.rsplit('-').next().unwrap_or_default();
    ensure!(own == tag, "the wheel calls itself {own}, and its files need {tag}");
    let grafts = "external shared libraries are required";
    ensure!(!said.contains(grafts), "it needs libraries that are not in it: {said}");
    output(Command::new(tools.join("twine")).args(["check", "--strict"]).arg(wheel))?;
    println!("auditwheel: {tag}, nothing to graft; twine: the description renders");
    Ok(())
}

/// The tag that auditwheel says the files are consistent with.
fn consistent_with(said: &str) -> Option<&str> {
    let (_, rest) = said.split_once("is consistent with the following platform tag: \"")?;
    rest.split_once('"').map(|(tag, _)| tag)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tag_is_found() {
        let said =
            "x.whl is consistent with the following platform tag: \"manylinux_2_34_x86_64\". The";
        assert_eq!(consistent_with(said), Some("manylinux_2_34_x86_64"));
        assert_eq!(consistent_with("nothing"), None);
    }
}
