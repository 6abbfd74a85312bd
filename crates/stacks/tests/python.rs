//! Python stacks, on every Python from 3.9 on that this machine has.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

/// `python3`, `python3.9` … on the path, and what pyenv installed.
fn pythons() -> BTreeSet<PathBuf> {
    let names = (9..=14).map(|minor| format!("python3.{minor}")).chain(["python3".to_owned()]);
    let names: Vec<_> = names.collect();
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut folders: Vec<PathBuf> = std::env::split_paths(&path).collect();
    let pyenv = std::env::var_os("HOME").map(|home| Path::new(&home).join(".pyenv/versions"));
    let versions = pyenv.and_then(|folder| std::fs::read_dir(folder).ok());
    folders.retain(|folder| !folder.ends_with("shims"));
    folders.extend(versions.into_iter().flatten().flatten().map(|entry| entry.path().join("bin")));
    let candidates = folders.iter().flat_map(|folder| names.iter().map(|name| folder.join(name)));
    candidates
        .filter_map(|file| file.canonicalize().ok())
        .filter(|file| is_supported(file))
        .collect()
}

fn is_supported(python: &Path) -> bool {
    let asked = Command::new(python)
        .args(["-c", "import ctypes, sys; sys.exit(not (3, 9) <= sys.version_info < (3, 15))"])
        .output();
    asked.is_ok_and(|answer| answer.status.success())
}

#[test]
fn python_frames_are_what_python_says() {
    let exe = std::env::current_exe().expect("this test");
    let target = exe.parent().and_then(Path::parent).expect("its folder");
    let probe = target.join("examples/libstacks_probe.so");
    assert!(probe.exists(), "build the examples first: cargo build --examples");
    let script = Path::new(".").join("tests/frames.py");
    let note = std::env::temp_dir().join(format!("whyoom-stacks-{}", std::process::id()));
    let pythons = pythons();
    assert!(!pythons.is_empty(), "needs a Python from 3.9 to 3.14 with ctypes");
    for python in pythons {
        // The layout is first checked with the GIL released, then with the GIL held.
        for first in [None, Some("held")] {
            let run =
                Command::new(&python).arg(&script).arg(&probe).arg(&note).args(first).output();
            let run = run.expect("Python starts");
            let (out, err) =
                (String::from_utf8_lossy(&run.stdout), String::from_utf8_lossy(&run.stderr));
            print!("{out}");
            assert!(run.status.success(), "{} {first:?}: {}\n{err}", python.display(), run.status);
        }
    }
    let _ = std::fs::remove_file(note);
}
