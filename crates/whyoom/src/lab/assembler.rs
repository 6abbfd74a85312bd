//! Triton in the lab: its assembler passes PTX through, so that the lab can run what Triton compiles.
//!
//! The lab reads PTX and no machine code. The stand-in is this program under the assembler's name; Triton keeps
//! what it makes apart in its cache, because the answer to `--version` differs.

use std::{
    ffi::{OsStr, OsString},
    fs,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context, Result};
use whyoom_lab_core::session::Session;

use crate::{executable, terminal::say};

/// The name that this program does an assembler's work under.
const NAME: &str = "ptxas";
/// Where Triton looks for its assemblers, before its own.
const VARIABLES: [&str; 2] = ["TRITON_PTXAS_PATH", "TRITON_PTXAS_BLACKWELL_PATH"];
/// Triton derives the version of PTX from the release.
const RELEASE: &str = "12.9";

/// Makes Triton in a command use the stand-in, unless the user named another.
pub(crate) fn replace(command: &mut Command, session: &Session) {
    match link(session.folder()) {
        Ok(path) => {
            for variable in VARIABLES.iter().filter(|name| std::env::var_os(name).is_none()) {
                command.env(variable, &path);
            }
        }
        Err(error) => say(&format!("kernels of Triton compute nothing: {error:#}")),
    }
}

fn link(folder: &Path) -> Result<PathBuf> {
    let path = folder.join(NAME);
    if !path.exists() {
        symlink(executable::own()?, &path)
            .with_context(|| format!("cannot make {}", path.display()))?;
    }
    Ok(path)
}

/// What comes of this program where it was started as the assembler.
pub(crate) fn run_if_wanted() -> Option<Result<()>> {
    let arguments: Vec<OsString> = std::env::args_os().collect();
    is_wanted(&arguments).then(|| run(&arguments))
}

fn is_wanted(arguments: &[OsString]) -> bool {
    let name = arguments.first().and_then(|first| Path::new(first).file_name());
    name == Some(OsStr::new(NAME))
}

/// What the assembler would do: here, a copy.
fn run(arguments: &[OsString]) -> Result<()> {
    if arguments.iter().any(|argument| argument == "--version") {
        println!(
            "{NAME}: whyoom {} passes PTX through, release {RELEASE}",
            env!("CARGO_PKG_VERSION")
        );
        return Ok(());
    }
    let (source, target) = files(arguments).context("expected: ptxas SOURCE -o TARGET")?;
    fs::copy(source, target)
        .with_context(|| format!("cannot copy {} to {}", source.display(), target.display()))?;
    Ok(())
}

/// The file that is read and the one that is written.
fn files(arguments: &[OsString]) -> Option<(&Path, &Path)> {
    let (mut source, mut target) = (None, None);
    let mut rest = arguments.iter().skip(1);
    while let Some(argument) = rest.next() {
        match argument.to_str() {
            Some("-o") => target = rest.next().map(Path::new),
            Some(name) if name.ends_with(".ptx") => source = Some(Path::new(argument)),
            _ => {}
        }
    }
    source.zip(target)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &str) -> Vec<OsString> {
        line.split(' ').map(OsString::from).collect()
    }

    #[test]
    fn the_name_decides() {
        assert!(is_wanted(&words("/tmp/lab/ptxas --version")));
        assert!(!is_wanted(&words("/usr/bin/whyoom ptxas")));
        assert!(!is_wanted(&[]));
    }

    #[test]
    fn files_among_options() {
        let line = "ptxas -lineinfo -v --opt-level 0 --gpu-name=sm_90a /tmp/a.ptx -o /tmp/a.ptx.o";
        let found = words(line);
        assert_eq!(files(&found), Some((Path::new("/tmp/a.ptx"), Path::new("/tmp/a.ptx.o"))));
        assert_eq!(files(&words("ptxas -o /tmp/a.o")), None);
    }

    #[test]
    fn text_is_passed_through() {
        let folder = tempfile::tempdir().expect("a folder");
        let (source, target) = (folder.path().join("a.ptx"), folder.path().join("a.o"));
        fs::write(&source, ".version 8.8").expect("written");
        let arguments: Vec<OsString> =
            vec![NAME.into(), source.into(), "-o".into(), target.clone().into()];
        run(&arguments).expect("copied");
        let copied = whyoom_files::untrusted::read(&target, 64).expect("it is there");
        assert_eq!(copied, b".version 8.8");
        assert!(run(&words("ptxas missing.ptx -o /nowhere/at/all")).is_err());
    }
}
