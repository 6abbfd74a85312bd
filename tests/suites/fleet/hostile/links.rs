//! Links that lead to what their maker could not read, and things that are no files.

use std::{
    fs,
    os::unix::fs::{PermissionsExt as _, symlink},
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context, Result, ensure};
use harness::{files, is_root, must_succeed, text};

use super::{Attacked, Bystander, MESSAGE, make_old, small};
use crate::fleet::place::wait_for;

pub(super) const SECRET: &str = "swordfish4711";

/// What lies outside, with the secret in it.
struct Outside(PathBuf);

impl Outside {
    fn new() -> Result<Self> {
        let outside = Self(harness::empty_folder("fleet-links-outside")?);
        let secret =
            format!("{SECRET}\nFile \"{SECRET}.py\", line 1, in {SECRET}\n{MESSAGE} {SECRET}\n");
        fs::write(outside.path("secret.log"), &secret)?;
        fs::create_dir_all(outside.path("pod/main"))?;
        fs::write(outside.path("pod/main/0.log"), &secret)?;
        fs::create_dir_all(outside.path("run"))?;
        for name in ["run.json", "secret.log"] {
            fs::write(outside.path("run").join(name), &secret)?;
        }
        fs::set_permissions(outside.path("secret.log"), fs::Permissions::from_mode(0o600))?;
        Ok(outside)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

pub(super) fn run(bystander: &Bystander) -> Result<String> {
    let outside = Outside::new()?;
    let folder = text(&harness::scratch("fresh")?.join("fleet-links"));
    let attacked = Attacked::judged(
        "fleet-links",
        &format!(
            "snapshots = ['{folder}/snapshots/*.pickle']\nrecordings = ['{folder}/recordings/*']\ntextfile = \
             '{folder}/textfile/whyoom.prom'\n"
        ),
    )?;
    for name in ["snapshots", "recordings", "textfile"] {
        fs::create_dir(attacked.node.path(name))?;
    }
    let links = link(&attacked, &outside)?;
    let others = make_others(&attacked)?;
    let moved = attacked.pod("team_moved_uid")?;
    for log in [&moved, &attacked.log("honest.log")] {
        fs::write(log, bystander.blame())?;
    }
    let agent = attacked.start()?;
    attacked.archived(2, 40)?;
    drop(agent);
    swap(&attacked, &outside, &moved)?;
    let agent = attacked.start()?;
    fs::write(attacked.log("honest2.log"), bystander.blame())?;
    attacked.archived(1, 40)?;
    wait_for("the textfile is written", 10, || {
        Ok(attacked.node.path("textfile/whyoom.prom").is_file())
    })?;
    let said = small(&agent)?;
    check(&attacked, &outside)?;
    Ok(format!(
        "{links} links and {others} things that are no files: the secret is nowhere; {said}"
    ))
}

/// Links wherever something is looked for.
fn link(attacked: &Attacked, outside: &Outside) -> Result<usize> {
    let links: [(PathBuf, &str); 9] = [
        (attacked.log("link.log"), "secret.log"),
        (attacked.log("pods/team_linked_uid"), "pod"),
        (attacked.log("pods/team_half_uid/main"), "pod/main"),
        (attacked.node.path("snapshots/link.pickle"), "secret.log"),
        (attacked.node.path("recordings/linked"), "run"),
        (attacked.node.path("recordings/half/run.json"), "secret.log"),
        (attacked.node.path("recordings/half/1-2.part"), "secret.log"),
        (attacked.node.path("recordings/half/torch"), "run"),
        (attacked.node.path("textfile/whyoom.prom"), "secret.log"),
    ];
    for (link, target) in &links {
        fs::create_dir_all(link.parent().context("no folder")?)?;
        symlink(outside.path(target), link)?;
    }
    Ok(links.len())
}

/// Whoever opens these waits, or reads without an end.
fn make_others(attacked: &Attacked) -> Result<usize> {
    let run = attacked.node.path("recordings/waits");
    fs::create_dir(&run)?;
    fs::write(run.join("run.json"), "{}")?;
    make_old(&run.join("run.json"))?;
    let fifos = [
        attacked.log("fifo.log"),
        attacked.node.path("snapshots/fifo.pickle"),
        run.join("1-2.part"),
        run.join("1-2-0.events"),
        run.join("machine.jsonl"),
    ];
    must_succeed(Command::new("mkfifo").args(&fifos))?;
    let mut count = fifos.len();
    if is_root() {
        for path in [
            attacked.log("zero.log"),
            attacked.node.path("snapshots/zero.pickle"),
            run.join("2-2.part"),
        ] {
            must_succeed(Command::new("mknod").arg(&path).args(["c", "1", "5"]))?;
            count += 1;
        }
    }
    Ok(count)
}

/// While no agent runs, the folder of a log that was read becomes a link; the file with its number lies outside, and
/// has grown.
fn swap(attacked: &Attacked, outside: &Outside, log: &Path) -> Result<()> {
    let folder = log.parent().context("no folder")?;
    fs::rename(folder, outside.path("moved"))?;
    symlink(outside.path("moved"), folder)?;
    let grown = outside.path("moved/0.log");
    let old = fs::read_to_string(&grown)?;
    fs::write(&grown, format!("{old}{SECRET}\n{MESSAGE} {SECRET}\n"))?;
    ensure!(attacked.node.path("state/checkpoint.json").is_file(), "nothing is remembered");
    Ok(())
}

/// The secret is in nothing that the agent made, and what holds it is as it was.
fn check(attacked: &Attacked, outside: &Outside) -> Result<()> {
    let rows = attacked.rows()?;
    ensure!(
        rows.len() == 3,
        "{} incidents: {:?}",
        rows.len(),
        rows.iter().map(|row| &row.file).collect::<Vec<_>>()
    );
    let mut made = vec![serde_json::to_string(&rows)?, attacked.metrics()?];
    let journal = files(&attacked.node.path("state/journal"))?;
    let written = ["state/checkpoint.json", "agent.err", "textfile/whyoom.prom"];
    let written = written.map(|name| attacked.node.path(name));
    for path in journal.iter().chain(&written) {
        made.push(String::from_utf8_lossy(&fs::read(path)?).into_owned());
    }
    for text in made {
        ensure!(!text.contains(SECRET), "the secret is in {text}");
    }
    let target = outside.path("secret.log");
    ensure!(fs::read_to_string(&target)?.starts_with(SECRET), "the textfile's link was followed");
    let mode = fs::metadata(&target)?.permissions().mode() & 0o777;
    ensure!(mode == 0o600, "everybody may read the secret: {mode:o}");
    Ok(())
}
