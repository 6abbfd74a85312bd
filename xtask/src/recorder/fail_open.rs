//! Everything that the recorder needs is refused, and it panics in every hook: the program never
//! notices, and one line says that recording stopped.

use std::fs;

use anyhow::{Context, Result, ensure};

use super::{
    panics,
    stage::{Stage, fresh},
    tally::Tally,
    trial::{Ran, Trial, text},
};
use crate::who::{is_root, skipped};

/// Something that is refused.
struct Refusal {
    name: &'static str,
    needs_root: bool,
    /// What the program is run behind; `$0` is the folder of the recording.
    within: Option<&'static str>,
    /// What the program does meanwhile.
    life: &'static str,
    /// Whether the folder is made beforehand.
    folder: bool,
}

const IN_NAMESPACE: &[&str] = &["unshare", "--mount"];

const REFUSALS: &[Refusal] = &[
    Refusal {
        name: "disk full at once",
        needs_root: true,
        within: Some(r#"mount -t tmpfs -o size=4k tmpfs "$0" && exec "$@""#),
        life: "many",
        folder: true,
    },
    Refusal {
        name: "disk full later",
        needs_root: true,
        within: Some(r#"mount -t tmpfs -o size=3m tmpfs "$0" && exec "$@""#),
        life: "many",
        folder: true,
    },
    Refusal {
        name: "read-only folder",
        needs_root: true,
        within: Some(r#"mount -t tmpfs tmpfs "$0" && mount -o remount,ro "$0" && exec "$@""#),
        life: "many",
        folder: true,
    },
    Refusal {
        name: "limit on file sizes",
        needs_root: false,
        within: Some(r#"ulimit -f 8; exec "$@""#),
        life: "many",
        folder: true,
    },
    Refusal { name: "no folder", needs_root: false, within: None, life: "many", folder: false },
    Refusal {
        name: "no file descriptors",
        needs_root: false,
        within: None,
        life: "descriptors",
        folder: true,
    },
    Refusal {
        name: "folder vanishes",
        needs_root: false,
        within: None,
        life: "vanish",
        folder: true,
    },
];

pub(super) fn run(stage: &Stage) -> Result<String> {
    let mut tally = Tally::default();
    for refusal in REFUSALS {
        if refusal.needs_root && !is_root() {
            skipped(refusal.name);
            continue;
        }
        tally.case(refusal.name, || refused(stage, refusal));
    }
    let mut panics = 0;
    tally.case("a panic at each hook", || {
        panics = panics::everywhere(stage)?;
        Ok(format!("{panics} hooks panicked"))
    });
    let held = tally.all()? - 1;
    Ok(format!("{held} refusals and {panics} panics, and the program never noticed"))
}

fn refused(stage: &Stage, refusal: &Refusal) -> Result<String> {
    let mut trial = Trial::new("8GiB", &[text(&stage.program("lives")), refusal.life.to_owned()]);
    let folder = fresh(&refusal.name.replace(' ', "-"))?;
    if refusal.folder {
        fs::create_dir_all(&folder)?;
    }
    if let Some(script) = refusal.within {
        let namespace = if refusal.needs_root { IN_NAMESPACE } else { &[] };
        trial.within = [namespace, &["sh", "-c", script, &text(&folder)]]
            .concat()
            .iter()
            .map(|word| (*word).to_owned())
            .collect();
    }
    let plain = trial.plain(stage)?;
    unnoticed(&trial.preloaded(stage, &folder)?, &plain)
}

/// The same as without, and one line that says why recording stopped. What that line is.
fn unnoticed(ran: &Ran, plain: &Ran) -> Result<String> {
    let more = ran.like(plain)?;
    ensure!(more == 1, "{more} lines more:\n{}", ran.stderr);
    let line = ran.stderr.lines().find(|line| line.starts_with("whyoom: "));
    Ok(line.context("the line does not say whose it is")?.to_owned())
}
