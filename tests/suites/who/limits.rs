//! Where much is hidden from it: it says what it cannot see, and does not fail.

use anyhow::{Result, ensure};
use harness::{Check, Held, Need, Scene, SceneStage, slug, text};

use super::situations::{CONTAINER, NOBODY};

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
        note: "This user may not read the open files",
    },
    Limit { name: "in a PID namespace", before: &[CONTAINER], note: "its own PID namespace" },
    Limit { name: "with hidepid=2", before: &[HIDEPID, UNPRIVILEGED], note: "hidepid" },
];

pub(super) fn checks() -> Vec<Check> {
    let check =
        |limit: &'static Limit| Check::new(format!("limits::{}", slug(limit.name)), || limit.run());
    LIMITS.iter().map(check).collect()
}

impl Limit {
    /// It says what it cannot see, and what is in use all the same.
    fn run(&self) -> Result<Held> {
        Need::Root.met()?;
        let mut scene = Scene::start(&SceneStage::ready()?, &[])?;
        scene.hold(&["0=1024"])?;
        let used = scene.machine().used(0);
        let mounts = || std::fs::read_to_string("/proc/mounts");
        let mounted = mounts()?;
        let before = self.before.concat();
        let answer = scene.who(&before)?;
        let said = answer.notes.iter().any(|note| note.contains(self.note));
        ensure!(said, "no note says “{}”: {answer:#?}", self.note);
        let shown = answer.device(0)?.used()?;
        ensure!(shown == used, "{shown} bytes in use in place of {used}");
        people_are_told(&scene, &before)?;
        ensure!(mounts()? == mounted, "this kernel has one /proc for all: hidepid is still set");
        ensure!(scene.machine().used(0) == used, "looking changed what is in use");
        Ok(Held::new(answer.notes.join(" ")).count("ways of seeing less", 1))
    }
}

/// The text for people ends well too.
fn people_are_told(scene: &Scene, before: &[&str]) -> Result<()> {
    let whyoom = text(scene.whyoom());
    let output = scene.output(&[before, &[whyoom.as_str(), "who"]].concat())?;
    ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    ensure!(!output.stdout.is_empty(), "nothing was printed");
    Ok(())
}
