//! Without permission it is refused cleanly, and the program knows nothing of it.

use std::{fs, os::unix::fs::PermissionsExt, process::Command};

use anyhow::{Result, ensure};
use harness::{Check, Held, Need, STRANGER, VICTIM, empty_folder, text};

use super::program::{Program, alone, attach};

pub(super) fn checks() -> Vec<Check> {
    vec![
        Check::new("refused::another-user", another_user),
        Check::new("refused::not-dumpable", not_dumpable),
        Check::new("refused::registers", registers),
        Check::new("refused::not-python", not_python),
        Check::new("refused::no-process", no_process),
    ]
}

fn as_user(user: u32) -> Vec<String> {
    let user = user.to_string();
    ["setpriv", "--reuid", &user, "--regid", &user, "--clear-groups"].map(str::to_owned).to_vec()
}

fn words(words: &[String]) -> Vec<&str> {
    words.iter().map(String::as_str).collect()
}

/// It fails with these words, and the program goes on.
fn refused(
    (check, name): (&str, &str),
    program: Program,
    before: &[&str],
    expected: &[&str],
) -> Result<Held> {
    let plain = alone(check, name, &[])?;
    let output = program.attach_as(before, &[])?;
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    ensure!(output.status.code() == Some(1), "status {:?}: {said}", output.status.code());
    for word in expected {
        ensure!(said.contains(word), "it does not say “{word}”: {said}");
    }
    ensure!(!program.found().exists(), "a folder was made");
    let ran = program.end()?;
    ensure!(ran.like(&plain)? == 0, "it said more: {}", ran.stderr);
    Ok(Held::new(said.lines().last().unwrap_or_default()).count("refusals", 1))
}

fn another_user() -> Result<Held> {
    Need::Root.met()?;
    let program = Program::start("another-user", "no_torch", &[])?;
    let stranger = as_user(STRANGER);
    refused(
        ("another-user", "no_torch"),
        program,
        &words(&stranger),
        &["belongs to another user (UID 0)", "sudo whyoom attach"],
    )
}

fn not_dumpable() -> Result<Held> {
    Need::Root.met()?;
    let victim = as_user(VICTIM);
    let program = Program::start_as("not-dumpable", &words(&victim), "undumpable")?;
    refused(
        ("not-dumpable", "undumpable"),
        program,
        &words(&victim),
        &["not permitted", "not dumpable", "CAP_SYS_PTRACE"],
    )
}

/// The real gdb, which is asked for a register that it has not wherever one is to be written: it fails there as old ones do
/// on processors whose registers they do not know.
const UNABLE: &str = r#"#!/bin/sh
PATH=${PATH#*:}
sed -u 's/^set \$f[a-z]* = .*/set $there = no_such_register/' | gdb "$@"
"#;

/// gdb that cannot put registers back calls nothing: the program would go on with those of the call.
fn registers() -> Result<Held> {
    let folder = empty_folder("attach/unable")?;
    let gdb = folder.join("gdb");
    fs::write(&gdb, UNABLE)?;
    fs::set_permissions(&gdb, fs::Permissions::from_mode(0o755))?;
    let path = std::env::var("PATH")?;
    let path = format!("PATH={}:{path}", text(&folder));
    refused(
        ("registers", "idle"),
        Program::start("registers", "idle", &[])?,
        &["env", &path],
        &["cannot write the registers", "no_such_register", "newer gdb"],
    )
}

fn not_python() -> Result<Held> {
    let mut sleeper = Command::new("sleep").arg("60").spawn()?;
    let folder = empty_folder("attach/not-python")?.join("attached");
    let output = attach(&[], sleeper.id(), &folder, &[]);
    sleeper.kill()?;
    sleeper.wait()?;
    let output = output?;
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    ensure!(output.status.code() == Some(3) && said.contains("does not run CPython"), "{said}");
    Ok(Held::new(said.lines().last().unwrap_or_default()).count("refusals", 1))
}

fn no_process() -> Result<Held> {
    let folder = empty_folder("attach/no-process")?.join("attached");
    let output = attach(&[], u32::MAX >> 2, &folder, &[])?;
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    ensure!(output.status.code() == Some(1) && said.contains("there is no process"), "{said}");
    Ok(Held::new(said.lines().last().unwrap_or_default()).count("refusals", 1))
}
