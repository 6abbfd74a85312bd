//! Where much is hidden from it: it says what it cannot see, and does not fail.

use anyhow::{Context, Result, ensure};

use super::{
    Scene, Stage, is_root,
    situations::{CONTAINER, NOBODY},
    skipped,
};

/// Another user, without any privilege.
const UNPRIVILEGED: &[&str] =
    &["setpriv", "--reuid", NOBODY, "--regid", NOBODY, "--clear-groups", "--no-new-privs"];

/// A second view of the same processes in which users see only their own; the first stays as it is.
const HIDEPID: &[&str] = &[
    "unshare",
    "--mount",
    "sh",
    "-c",
    "mount -t proc -o hidepid=2 proc /proc && exec \"$@\"",
    "-",
];

/// A way of seeing less.
struct Limit {
    name: &'static str,
    /// What `whyoom who` is run behind.
    before: &'static [&'static [&'static str]],
    /// What its notes must then say.
    note: &'static str,
}

const LIMITS: &[Limit] = &[
    Limit {
        name: "without privilege",
        before: &[UNPRIVILEGED],
        note: "may not be read by this user",
    },
    Limit { name: "in a PID namespace", before: &[CONTAINER], note: "process numbers of its own" },
    Limit { name: "with hidepid=2", before: &[HIDEPID, UNPRIVILEGED], note: "hidepid" },
];

pub(super) fn run(stage: &Stage) -> Result<String> {
    if !is_root() {
        skipped("without privilege, in a namespace, with hidepid");
        return Ok("not tried".to_owned());
    }
    let mut scene = Scene::start(stage, &[])?;
    scene.hold(&["0=1024"])?;
    let used = scene.machine().used(0);
    let mounts = || std::fs::read_to_string("/proc/mounts");
    let mounted = mounts()?;
    for limit in LIMITS {
        examine(&scene, limit, used).with_context(|| limit.name)?;
    }
    ensure!(mounts()? == mounted, "this kernel has one /proc for all: hidepid is still set");
    ensure!(scene.machine().used(0) == used, "looking changed what is in use");
    Ok(format!("{} ways of seeing less: each said, none fails", LIMITS.len()))
}

/// It says what it cannot see, and what is in use all the same.
fn examine(scene: &Scene, limit: &Limit, used: u64) -> Result<()> {
    let before = limit.before.concat();
    let answer = scene.who(&before)?;
    println!("{}: {}", limit.name, answer.notes().join(" "));
    let said = answer.notes().iter().any(|note| note.contains(limit.note));
    ensure!(said, "no note says “{}”: {}", limit.note, answer.whole());
    let shown = answer.used(0)?;
    ensure!(shown == used, "{shown} bytes in use in place of {used}");
    people_are_told(scene, &before)
}

/// The text for people ends well too.
fn people_are_told(scene: &Scene, before: &[&str]) -> Result<()> {
    let whyoom = scene.whyoom().to_str().context("a path that is not text")?;
    let output = scene.output(&[before, &[whyoom, "who"]].concat())?;
    ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    ensure!(!output.stdout.is_empty(), "nothing was printed");
    Ok(())
}
