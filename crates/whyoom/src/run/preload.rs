//! Libraries of ours that a program loads before its own.

use std::{
    ffi::{OsStr, OsString},
    os::unix::ffi::OsStringExt,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context, Result, ensure};

use crate::executable;

const VARIABLE: &str = "LD_PRELOAD";

/// A library as it is built and installed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Library {
    pub(super) file: &'static str,
    /// The crate that makes it.
    pub(super) package: &'static str,
}

impl Library {
    /// Where it is: beside this program, or where an installation puts it.
    pub(super) fn find(self) -> Result<PathBuf> {
        let Self { file, package } = self;
        let program = executable::own()?;
        let beside = program.parent().unwrap_or(Path::new("/"));
        let installed = beside.parent().unwrap_or(beside).join("lib/whyoom");
        let library = [beside.to_owned(), installed]
            .into_iter()
            .map(|folder| folder.join(file))
            .find(|library| library.is_file())
            .with_context(|| {
                format!(
                    "{file} is not next to this executable: cargo install does not include it, the \
                     wheel does (pip install whyoom); in a checkout: cargo build -p {package}"
                )
            })?;
        // The dynamic linker replaces words such as $LIB.
        let path = library.as_os_str().as_encoded_bytes();
        ensure!(
            !path.iter().any(|byte| separates(byte) || *byte == b'$'),
            "{} cannot be preloaded: its path contains a colon, a space or a dollar sign; install \
             whyoom elsewhere",
            library.display()
        );
        Ok(library)
    }
}

/// Makes a command load a library before all that it would load otherwise.
pub(super) fn add(command: &mut Command, library: &Path) {
    let already = command.get_envs().find(|(name, _)| *name == OsStr::new(VARIABLE));
    let others = match already {
        Some((_, others)) => others.map(OsStr::to_owned),
        None => std::env::var_os(VARIABLE),
    };
    command.env(VARIABLE, first_of(library, others));
}

/// A list of libraries with ours before the others, once.
fn first_of(library: &Path, others: Option<OsString>) -> OsString {
    let others = others.unwrap_or_default();
    let ours = library.as_os_str().as_encoded_bytes();
    let kept = others.as_encoded_bytes().split(separates);
    let kept = kept.filter(|other| !other.is_empty() && *other != ours);
    let all: Vec<&[u8]> = std::iter::once(ours).chain(kept).collect();
    OsString::from_vec(all.join(&b':'))
}

fn separates(byte: &u8) -> bool {
    *byte == b':' || byte.is_ascii_whitespace()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ours_comes_first_and_once() {
        let list = |others: &str| first_of(Path::new("/w/ours.so"), Some(others.into()));
        assert_eq!(list(""), "/w/ours.so");
        assert_eq!(list("/a.so:/b.so"), "/w/ours.so:/a.so:/b.so");
        assert_eq!(list("/a.so /w/ours.so"), "/w/ours.so:/a.so");
    }

    #[test]
    fn the_last_one_added_comes_first() {
        let mut command = Command::new("true");
        command.env(VARIABLE, "/a.so");
        add(&mut command, Path::new("/w/pool.so"));
        add(&mut command, Path::new("/w/recorder.so"));
        let list = command.get_envs().find_map(|(_, list)| list).expect("a list");
        assert_eq!(list, "/w/recorder.so:/w/pool.so:/a.so");
    }
}
