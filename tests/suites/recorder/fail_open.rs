//! Everything that the recorder needs is refused, and it panics in every hook: the program never
//! notices, and one line says that recording stopped.

use anyhow::{Context, Result, ensure};
use harness::{Check, Held, Need, Ran, Trial, empty_folder, fresh, text};

use super::{panics, programs_in_c::program};

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
        name: "disk-full-at-once",
        needs_root: true,
        within: Some(r#"mount -t tmpfs -o size=4k tmpfs "$0" && exec "$@""#),
        life: "many",
        folder: true,
    },
    Refusal {
        name: "disk-full-later",
        needs_root: true,
        within: Some(r#"mount -t tmpfs -o size=3m tmpfs "$0" && exec "$@""#),
        life: "many",
        folder: true,
    },
    Refusal {
        name: "read-only-folder",
        needs_root: true,
        within: Some(r#"mount -t tmpfs tmpfs "$0" && mount -o remount,ro "$0" && exec "$@""#),
        life: "many",
        folder: true,
    },
    Refusal {
        name: "limit-on-file-sizes",
        needs_root: false,
        within: Some(r#"ulimit -f 8; exec "$@""#),
        life: "many",
        folder: true,
    },
    Refusal { name: "no-folder", needs_root: false, within: None, life: "many", folder: false },
    Refusal {
        name: "no-file-descriptors",
        needs_root: false,
        within: None,
        life: "descriptors",
        folder: true,
    },
    Refusal {
        name: "folder-vanishes",
        needs_root: false,
        within: None,
        life: "vanish",
        folder: true,
    },
];

pub(super) fn checks() -> Vec<Check> {
    let check = |refusal: &'static Refusal| {
        Check::new(format!("fail-open::{}", refusal.name), || refused(refusal))
    };
    let mut checks: Vec<_> = REFUSALS.iter().map(check).collect();
    checks.push(Check::new("fail-open::panics", panics::everywhere));
    checks
}

fn refused(refusal: &Refusal) -> Result<Held> {
    if refusal.needs_root {
        Need::Root.met()?;
    }
    let mut trial = Trial::new("8GiB", &[program("lives")?, refusal.life.to_owned()]);
    let name = format!("recorder/{}", refusal.name);
    let folder = if refusal.folder { empty_folder(&name)? } else { fresh(&name)? };
    if let Some(script) = refusal.within {
        let namespace = if refusal.needs_root { IN_NAMESPACE } else { &[] };
        let shell = ["sh", "-c", script, &text(&folder)].map(str::to_owned);
        trial.within = namespace.iter().map(|word| (*word).to_owned()).chain(shell).collect();
    }
    let plain = trial.plain()?;
    plain.succeeded()?;
    unnoticed(&trial.preloaded(&folder)?, &plain).map(Held::new)
}

/// The same as without, and one line that says why recording stopped. What that line is.
fn unnoticed(ran: &Ran, plain: &Ran) -> Result<String> {
    let more = ran.like(plain)?;
    ensure!(more == 1, "{more} lines more:\n{}", ran.stderr);
    let line = ran.stderr.lines().find(|line| line.starts_with("whyoom: "));
    Ok(line.context("the line does not say whose it is")?.to_owned())
}
