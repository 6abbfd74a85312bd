//! What machines a wheel says it is for: by auditwheel, which looks at every library in it.

use std::{path::Path, process::Command};

use anyhow::{Context, Result, ensure};
use harness::{Architecture, OLDEST_GLIBC, environment};

use super::output::output;

/// The tag in the wheel's name is what its files need, not more than promised, nothing outside is needed, and
/// an index would take it.
pub(super) fn check(wheel: &Path, architecture: Architecture) -> Result<()> {
    let tools = environment("wheel")?.join("bin");
    let said = output(Command::new(tools.join("auditwheel")).arg("show").arg(wheel))?;
    let said = said.split_whitespace().collect::<Vec<_>>().join(" ");
    let tag = consistent_with(&said).with_context(|| format!("no platform tag: {said}"))?;
    let name = wheel.file_stem().unwrap_or_default().to_string_lossy();
    let own = name.rsplit('-').next().unwrap_or_default();
    // It may have an older name for the same too.
    let named = own.split('.').any(|one| one == tag);
    ensure!(named, "the wheel calls itself {own}, and its files need {tag}");
    let glibc = glibc(tag, architecture).with_context(|| format!("{tag} names no glibc"))?;
    ensure!(glibc <= OLDEST_GLIBC, "{tag} is too new: {OLDEST_GLIBC:?} is promised");
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

/// The version in `manylinux_2_17_x86_64`.
fn glibc(tag: &str, architecture: Architecture) -> Option<(u32, u32)> {
    let rest = tag.strip_prefix("manylinux_")?.strip_suffix(architecture.name())?;
    let (major, minor) = rest.strip_suffix('_')?.split_once('_')?;
    Some((major.parse().ok()?, minor.parse().ok()?))
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

    #[test]
    fn the_version_of_glibc_is_read() {
        let read = |tag| glibc(tag, Architecture::X86_64);
        assert_eq!(read("manylinux_2_34_x86_64"), Some((2, 34)));
        assert_eq!(read("manylinux_2_5_x86_64"), Some((2, 5)));
        assert_eq!(read("manylinux_2_17_aarch64"), None);
        assert_eq!(read("linux_x86_64"), None);
    }
}
