//! Why a program cannot be started, and what to type: said alike by `run`, `fit` and `lab run`.

use std::{ffi::OsStr, io, path::Path};

use crate::{
    executable::Executable,
    on_path::{find, is_executable},
    unopened::file_or_placeholder,
};

/// What shells end with where a program is not found, and where it cannot be started.
const NOT_FOUND: u8 = 127;
const NOT_STARTED: u8 = 126;

/// A program that the system did not start.
#[derive(Debug, thiserror::Error)]
#[error("cannot run {name}: {why}")]
pub(crate) struct Unstartable {
    name: String,
    why: String,
    /// What the command ends with, as a shell would.
    pub(crate) code: u8,
}

impl Unstartable {
    /// What is behind the system's answer.
    pub(crate) fn new(name: &OsStr, error: &io::Error) -> Self {
        let missing = error.kind() == io::ErrorKind::NotFound;
        let code = if missing { NOT_FOUND } else { NOT_STARTED };
        let why = reason(name, error.kind()).unwrap_or_else(|| error.to_string());
        Self { name: name.to_string_lossy().into_owned(), why, code }
    }
}

fn reason(name: &OsStr, kind: io::ErrorKind) -> Option<String> {
    let path = Path::new(name);
    let file = find(name).filter(|file| file.exists());
    match (kind, file) {
        (io::ErrorKind::NotFound, Some(file)) => behind_missing(&file),
        // The file is here; a shell looks in PATH only.
        (io::ErrorKind::NotFound, None) if path.exists() => Some(way_to_run(path)),
        (io::ErrorKind::NotFound, None) if is_bare(path) => Some("not found in PATH".to_owned()),
        (io::ErrorKind::NotFound, None) => Some("no such file".to_owned()),
        (io::ErrorKind::PermissionDenied, _) if path.is_dir() => {
            Some("it is a folder; name the program in it".to_owned())
        }
        (io::ErrorKind::PermissionDenied, Some(file)) if !file.is_file() => {
            Some("it is not a program".to_owned())
        }
        (io::ErrorKind::PermissionDenied, Some(file)) if !is_executable(&file) => {
            Some(way_to_run(&file))
        }
        (_, Some(file)) => match Executable::read(&file).ok()? {
            Executable::Foreign { built_for } => Some(format!("it is built for {built_for}")),
            Executable::Unknown => Some(way_to_run(&file)),
            _ => None,
        },
        _ => None,
    }
}

/// Whether it is a name that is looked for in PATH.
fn is_bare(path: &Path) -> bool {
    !path.as_os_str().as_encoded_bytes().contains(&b'/')
}

/// The file is there: what it needs to run is not.
fn behind_missing(file: &Path) -> Option<String> {
    match Executable::read(file).ok()? {
        Executable::Script { interpreter }
            if interpreter.as_os_str().as_encoded_bytes().ends_with(b"\r") =>
        {
            let file = file_or_placeholder(file);
            Some(format!(
                "it has Windows line endings, also in its #! line; fix it with: sed -i 's/\\r$//' \
                 {file}"
            ))
        }
        Executable::Script { interpreter } => {
            Some(format!("its #! line names {}, which does not exist", interpreter.display()))
        }
        Executable::Program { loader: Some(loader) } => Some(format!(
            "its loader {} does not exist; it was built for another system",
            loader.display()
        )),
        _ => None,
    }
}

/// How a file that cannot be run by itself is run.
fn way_to_run(file: &Path) -> String {
    let name = file_or_placeholder(file);
    match file.extension().and_then(OsStr::to_str) {
        Some("py") => {
            format!("it is not executable; run it with its interpreter: python {name}")
        }
        Some("sh") => {
            format!("it is not executable; run it with its interpreter: bash {name}")
        }
        _ if is_executable(file) && is_bare(file) => {
            format!(
                "it is not in PATH; to run it from here: {}",
                file_or_placeholder(&Path::new(".").join(file))
            )
        }
        _ if is_executable(file) => {
            format!(
                "it is neither a program nor a script with #! in its first line; try a shell: sh \
                 {name}"
            )
        }
        _ => format!("it is not executable; fix it with: chmod +x {name}"),
    }
}

#[cfg(test)]
mod tests {
    use std::{fs, os::unix::fs::PermissionsExt, process::Command};

    use super::*;

    /// What is said of a file, when the system has refused to run it.
    fn said(name: &str, contents: &[u8], mode: u32) -> (String, u8) {
        let folder =
            std::env::temp_dir().join(format!("whyoom-unstartable-{}-{name}", std::process::id()));
        fs::create_dir(&folder).expect("a folder of our own");
        let file = folder.join(name);
        fs::write(&file, contents).expect("a file");
        fs::set_permissions(&file, fs::Permissions::from_mode(mode)).expect("its mode");
        let error = Command::new(&file).spawn().expect_err("it cannot be run");
        let told = Unstartable::new(file.as_os_str(), &error);
        fs::remove_dir_all(folder).expect("our own folder");
        (told.to_string(), told.code)
    }

    #[test]
    fn each_says_what_to_do() {
        let foreign = {
            let mut header = [0_u8; 64];
            header[..20].copy_from_slice(b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0\x02\0\xf3\0");
            header
        };
        let cases: [(&str, &[u8], u32, &str, u8); 7] = [
            ("train.py", b"import torch", 0o644, "python ", 126),
            ("train.sh", b"echo", 0o755, "bash ", 126),
            ("tool", b"echo", 0o644, "chmod +x ", 126),
            ("plain", b"echo", 0o755, "sh ", 126),
            ("lost", b"#!/no/such/interpreter\n", 0o755, "/no/such/interpreter", 127),
            ("windows", b"#!/bin/sh\r\necho\r\n", 0o755, "sed -i", 127),
            ("foreign", &foreign, 0o755, "built for riscv64", 126),
        ];
        for (name, contents, mode, advice, code) in cases {
            let (text, told) = said(name, contents, mode);
            assert!(text.contains(advice) && told == code, "{name}: {text} ({told})");
        }
        let (text, _) = said("x;id #.py", b"import torch", 0o644);
        assert!(text.contains("python '/") && text.ends_with("x;id #.py'"), "{text}");
        let nowhere = io::Error::from(io::ErrorKind::NotFound);
        let nowhere = Unstartable::new(OsStr::new("no-such-program"), &nowhere).to_string();
        assert!(nowhere.contains("in PATH"), "{nowhere}");
    }
}
