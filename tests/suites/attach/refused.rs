//! Without permission it is refused cleanly, and the program knows nothing of it.

use std::{fs, os::unix::fs::PermissionsExt, process::Command};

use anyhow::{Result, ensure};
use harness::{Check, Held, Need, STRANGER, VICTIM, empty_folder, text};

use super::program::{Program, alone, attach};

pub(super) fn checks() -> Vec<Check> {
    vec![
        Check::new("refused::another-user", another_user),
        Check::new("refused::not-dumpable", not_dumpable),
        Check::new("refused::registers", || by_debugger(&REGISTERS)),
        Check::new("refused::call", || by_debugger(&CALL)),
        Check::new("refused::no-interpreter", || by_debugger(&NO_INTERPRETER)),
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

/// The real gdb, for which a line of what it is asked is replaced.
struct Unable {
    name: &'static str,
    replaced: &'static str,
    by: &'static str,
    expected: &'static [&'static str],
}

/// Old ones cannot write the registers of processors that they do not know. The program would go on with those of a call.
const REGISTERS: Unable = Unable {
    name: "registers",
    replaced: r"set \$f[a-z]* = .*",
    by: "set $there = no_such_register",
    expected: &["cannot write the registers", "no_such_register", "newer gdb"],
};

/// A call may fail in the middle: whyoom waits for no answer, and the lock is given back.
const CALL: Unable = Unable {
    name: "call",
    replaced: r"set \$whyoom_ended = ((.*",
    by: "set $whyoom_ended = no_such_function",
    expected: &["gdb could not do it", "the interpreter answered -1"],
};

/// The interpreter has ended, the process has not.
const NO_INTERPRETER: Unable = Unable {
    name: "no-interpreter",
    replaced: r#"printf "WHYOOM initialized.*"#,
    by: r#"printf "WHYOOM initialized 0\\n""#,
    expected: &["the interpreter of process", "has ended"],
};

/// Whatever gdb cannot do, the program goes on as it was.
fn by_debugger(unable: &Unable) -> Result<Held> {
    let folder = empty_folder(&format!("attach/unable-{}", unable.name))?;
    let gdb = folder.join("gdb");
    let script = format!(
        "#!/bin/sh\nPATH=${{PATH#*:}}\nsed -u 's/^{}/{}/' | gdb \"$@\"\n",
        unable.replaced, unable.by
    );
    fs::write(&gdb, script)?;
    fs::set_permissions(&gdb, fs::Permissions::from_mode(0o755))?;
    let path = format!("PATH={}:{}", text(&folder), std::env::var("PATH")?);
    refused(
        (unable.name, "idle"),
        Program::start(unable.name, "idle", &[])?,
        &["env", &path],
        unable.expected,
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
