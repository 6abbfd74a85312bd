//! The verdict for whoever looks at the pod: Kubernetes shows what a container leaves in its termination message
//! (`kubectl describe pod`).

use std::{
    fs::OpenOptions,
    io::{self, Write},
    os::unix::fs::OpenOptionsExt,
    path::Path,
};

use rustix::fs::OFlags;

/// Where Kubernetes has it unless told otherwise (`terminationMessagePath`); only its containers have such a file.
const FILE: &str = "/dev/termination-log";
/// Another place.
const VARIABLE: &str = "WHYOOM_TERMINATION_LOG";
/// `kubectl describe` folds nothing.
pub(super) const WIDTH: usize = 100;
/// Kubernetes keeps the last 4096 bytes. Some of them are the program's own.
const MOST: usize = 3072;

/// Adds the verdict to the termination message, where there is one.
pub(super) fn leave(verdict: &str) -> io::Result<()> {
    match std::env::var_os(VARIABLE) {
        Some(file) => add(Path::new(&file), verdict),
        None => add(Path::new(FILE), verdict),
    }
}

/// Appends to a file that is there: the program may have left words of its own.
fn add(file: &Path, verdict: &str) -> io::Result<()> {
    let mut options = OpenOptions::new();
    // No pipe is waited for, and no file made.
    let flags = OFlags::NONBLOCK | OFlags::NOCTTY;
    options.append(true).custom_flags(flags.bits().cast_signed());
    let mut file = match options.open(file) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error),
    };
    if !file.metadata()?.is_file() {
        return Ok(());
    }
    file.write_all(shortened(verdict).as_bytes())
}

/// Whole lines.
fn shortened(verdict: &str) -> &str {
    let verdict = verdict.trim_start_matches('\n');
    if verdict.len() <= MOST {
        return verdict;
    }
    let most = (0..=MOST).rev().find(|at| verdict.is_char_boundary(*at)).unwrap_or(0);
    let end = verdict[..most].rfind('\n').map_or(most, |at| at + 1);
    &verdict[..end]
}

#[cfg(test)]
mod tests {
    use std::{fs, process::Command};

    use super::*;

    #[test]
    fn it_is_added_to_what_is_there() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("log");
        add(&file, "verdict\n").unwrap();
        assert!(!file.exists(), "no container, no message");
        fs::write(&file, "own words\n").unwrap();
        add(&file, "\nverdict\n").unwrap();
        let text = whyoom_files::untrusted::read(&file, 1024).unwrap();
        assert_eq!(text, b"own words\nverdict\n");
    }

    #[test]
    fn a_pipe_is_not_waited_for() {
        let folder = tempfile::tempdir().unwrap();
        let pipe = folder.path().join("pipe");
        assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        assert!(add(&pipe, "verdict\n").is_err(), "nobody reads it");
        add(Path::new("/dev/null"), "verdict\n").unwrap();
    }

    #[test]
    fn a_long_one_ends_with_a_whole_line() {
        let line = "é".repeat(40) + "\n";
        let long = line.repeat(100);
        let short = shortened(&long);
        assert!(short.len() <= MOST && short.ends_with('\n') && long.starts_with(short));
        assert_eq!(shortened("a\n"), "a\n");
    }
}
