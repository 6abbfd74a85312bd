//! The errors that people meet first, each made real: what is said names the way out.
#![allow(clippy::disallowed_methods, reason = "a test's own files")]
#![expect(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

use std::{
    fs,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process::{Command, Output},
};

use tempfile::TempDir;

/// A program in a folder.
fn program(folder: &TempDir, name: &str, contents: &[u8]) -> PathBuf {
    let path = folder.path().join(name);
    fs::write(&path, contents).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    path
}

/// The command, as on a machine without a driver.
fn whyoom() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_whyoom"));
    command.env_remove("LD_LIBRARY_PATH").env_remove("CUDA_VISIBLE_DEVICES");
    command
}

/// That a command ends so, and says these words.
#[track_caller]
fn assert_told(command: &mut Command, code: i32, words: &[&str]) {
    let Output { status, stderr, .. } = command.output().unwrap();
    let stderr = String::from_utf8_lossy(&stderr);
    assert_eq!(status.code(), Some(code), "{command:?}: {stderr}");
    for word in words {
        assert!(stderr.contains(word), "{command:?}: no {word:?} in: {stderr}");
    }
    assert!(stderr.lines().any(|line| line.starts_with("whyoom: ")), "{stderr}");
}

/// Whether this machine has a driver, so that it cannot show what is said without.
fn has_driver() -> bool {
    let found = whyoom().args(["who", "--json"]).output().unwrap().status.success();
    if found {
        println!("skipped: this machine has a driver");
    }
    found
}

#[test]
fn without_a_driver() {
    if has_driver() {
        return;
    }
    let lab = |command: &str| format!("whyoom lab run -- whyoom {command}");
    assert_told(whyoom().arg("who"), 1, &["no NVIDIA driver", &lab("who")]);
    assert_told(whyoom().args(["top", "-1"]), 1, &["no NVIDIA driver", &lab("top")]);
    assert_told(whyoom().args(["lab", "calibrate"]), 1, &["no CUDA driver", &lab("lab calibrate")]);
}

#[test]
fn starters_that_leave_the_recorder_behind() {
    let folder = tempfile::tempdir().unwrap();
    for (name, words) in [
        ("sudo", ["removes the recorder", "sudo \"$(command -v whyoom)\" run -- PROGRAM"]),
        ("docker", ["in a container", "docker run … IMAGE whyoom run -- PROGRAM"]),
        ("ssh", ["on another machine", "whyoom run -- PROGRAM"]),
    ] {
        let starter = program(&folder, name, b"#!/bin/sh\nexit 7\n");
        assert_told(whyoom().args(["run", "-o", "/dev/null/x", "--"]).arg(starter), 7, &words);
    }
}

#[test]
fn a_program_of_another_user_is_known_by_its_mode() {
    let folder = tempfile::tempdir().unwrap();
    let program = program(&folder, "program", &fs::read("/bin/true").unwrap());
    // Only root can give it to somebody else.
    let given = std::os::unix::fs::chown(&program, Some(65534), None).is_ok();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o4755)).unwrap();
    if given {
        let mut run = whyoom();
        assert_told(
            run.args(["run", "-o", "/dev/null/x", "--"]).arg(&program),
            0,
            &["setuid", "cp "],
        );
    } else {
        println!("skipped: this is not root");
    }
}

#[test]
fn programs_that_cannot_start() {
    let folder = tempfile::tempdir().unwrap();
    let run = |program: &Path, code, words: &[&str]| {
        assert_told(whyoom().args(["run", "-o", "/dev/null/x", "--"]).arg(program), code, words);
    };
    run(Path::new("no-such-program"), 127, &["not found in PATH"]);
    run(folder.path(), 126, &["it is a folder"]);
    run(
        &program(&folder, "windows.sh", b"#!/bin/sh\r\n"),
        127,
        &["Windows line endings", "sed -i"],
    );
    let script = folder.path().join("train.py");
    fs::write(&script, "import torch\n").unwrap();
    run(&script, 126, &["run it with its interpreter: python "]);
}

/// The beginning of a program that asks for a loader, and nothing behind it that could run.
#[cfg(target_arch = "x86_64")]
fn asking_for(loader: &[u8]) -> Vec<u8> {
    const HEADER: u64 = 64;
    const PART: u64 = 56;
    let mut file = b"\x7fELF\x02\x01\x01".to_vec();
    file.resize(16, 0);
    // A program, of this processor, in version 1.
    file.extend([2, 0, 62, 0, 1, 0, 0, 0]);
    // Its entry; where its parts and its sections are; flags; sizes and counts: one part.
    for number in [0, HEADER, 0] {
        file.extend(number.to_le_bytes());
    }
    file.extend([0, 0, 0, 0, 64, 0, 56, 0, 1, 0, 64, 0, 0, 0, 0, 0]);
    // The part names the loader, which stands behind it.
    file.extend([3, 0, 0, 0, 4, 0, 0, 0]);
    let size = loader.len() as u64;
    for number in [HEADER + PART, 0, 0, size, size, 1] {
        file.extend(number.to_le_bytes());
    }
    file.extend(loader);
    file
}

/// The recorder would keep a program of musl from starting.
#[cfg(target_arch = "x86_64")]
#[test]
fn musl_programs_run_unrecorded() {
    let folder = tempfile::tempdir().unwrap();
    let tool = program(&folder, "tool", &asking_for(b"/lib/ld-musl-none.so.1\0"));
    let words =
        ["built for musl", "is not recorded", "its loader /lib/ld-musl-none.so.1 does not exist"];
    assert_told(whyoom().args(["run", "--"]).arg(tool).current_dir(folder.path()), 127, &words);
}

#[test]
fn an_output_folder_in_use() {
    let folder = tempfile::tempdir().unwrap();
    let used = folder.path().join("used");
    fs::create_dir(&used).unwrap();
    fs::write(used.join("x"), "").unwrap();
    let mut run = whyoom();
    run.args(["run", "-o"]).arg(&used).args(["--", "true"]);
    assert_told(&mut run, 0, &["used is not empty: recording into", "used-2"]);
}

#[test]
fn words_that_are_no_command() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("train.log"), "no memory\n").unwrap();
    let told = |arguments: &[&str], words: &[&str]| {
        assert_told(whyoom().args(arguments).current_dir(folder.path()), 2, words);
    };
    told(&["train.log"], &["did you mean:  whyoom why train.log"]);
    told(
        &["train.py", "--batch", "4"],
        &["did you mean:  whyoom run -- python train.py --batch 4"],
    );
    told(&["sh", "train.sh"], &["did you mean:  whyoom run -- sh train.sh"]);
    told(&["other.log"], &["file 'other.log' does not exist", "whyoom why FILE"]);
    told(&["wy"], &["unknown command 'wy'; did you mean:\n  why"]);
    // A file that is called as a command is does not get in its way.
    fs::write(folder.path().join("causes"), "").unwrap();
    assert!(whyoom().arg("causes").current_dir(folder.path()).output().unwrap().status.success());
}

#[test]
fn the_dashes_may_be_left_out() {
    let mut run = whyoom();
    run.args(["run", "-o", "/dev/null/x", "sh", "-c", "exit $0", "9"]);
    assert_told(&mut run, 9, &["runs without recording"]);
    // What follows is the program's, whatever it looks like.
    let words = ["run", "-o", "/dev/null/x", "printf", "[%s]", "a", "--", "-o", "--help"];
    let output = whyoom().args(words).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stdout), "[a][--][-o][--help]");
}

#[test]
fn a_file_that_cannot_be_written() {
    let folder = tempfile::tempdir().unwrap();
    let snapshot = "../../tests/fixtures/snapshots/healthy.pickle";
    let report = |output: &Path, words: &[&str]| {
        assert_told(whyoom().args(["report", snapshot, "-o"]).arg(output), 1, words);
    };
    report(folder.path(), &["it is a folder; name a file in it"]);
    report(&folder.path().join("none/report.html"), &["none does not exist"]);
}

#[test]
fn the_lab_says_which_folder_it_needs() {
    let mut lab = whyoom();
    lab.args(["lab", "run", "--", "true"]).env("TMPDIR", "/no/such/folder");
    // Without its libraries beside this program it does not come so far.
    let stderr = String::from_utf8(lab.output().unwrap().stderr).unwrap();
    if !stderr.contains("libraries are not next to") {
        assert_told(&mut lab, 1, &["the lab cannot start in /no/such/folder", "TMPDIR"]);
    }
}
