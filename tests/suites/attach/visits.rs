//! Programs in every state: the verdict is right, and they go on.

use std::process::Output;

use anyhow::{Context, Result, ensure};
use harness::{Build, Check, Held, Need, VICTIM, documents::Why, from_slice, text};
use serde_json::Value;

use super::program::{Program, alone};

/// The most that gdb may stop a process on this machine, whose processors are shared.
const LONGEST_STOP: f64 = 3.0;
/// The most that the program's own thread may wait for the other to begin.
const LONGEST_IN_MAIN: f64 = 1.0;

/// A program, and what is to be said of it.
struct Visit {
    name: &'static str,
    options: &'static [&'static str],
    /// How the script must get in; nothing where either may be.
    route: Option<&'static str>,
    /// Whose history there is.
    history: &'static str,
    cause: &'static str,
    /// A name in the program, and the bytes that it must keep at least.
    referrer: (&'static str, u64),
}

const MODEL: (&str, u64) = ("model", 64 << 20);
const ONCE: Visit = Visit {
    name: "",
    options: &[],
    route: None,
    history: "off",
    cause: "unknown",
    referrer: MODEL,
};

const VISITS: &[Visit] = &[
    Visit { name: "idle", route: Some("waiting-thread"), ..ONCE },
    Visit { name: "loop", route: Some("pending-call"), ..ONCE },
    Visit { name: "holds", route: Some("pending-call"), ..ONCE },
    Visit { name: "releases", ..ONCE },
    Visit { name: "threads", route: Some("waiting-thread"), referrer: ("kept", 64 << 20), ..ONCE },
    Visit { name: "loader", ..ONCE },
    Visit {
        name: "leak",
        options: &["--for", "4s"],
        history: "recorded",
        cause: "growth",
        referrer: ("trainer.history", 30 << 20),
        ..ONCE
    },
    Visit { name: "records", options: &["--for", "4s"], history: "own", ..ONCE },
];

/// Programs with nothing to see, and the word that says why.
const NOTHING: &[(&str, &str)] =
    &[("no_torch", "without PyTorch"), ("no_cuda", "has not used a GPU yet")];

pub(super) fn checks() -> Vec<Check> {
    let visits = VISITS.iter();
    let visits = visits.map(|visit| Check::new(format!("visits::{}", visit.name), || visit.make()));
    let nothing = NOTHING
        .iter()
        .map(|(name, word)| Check::new(format!("visits::{name}"), || nothing_to_see(name, word)));
    let root = Check::new("visits::by-root", by_root);
    let contained = Check::new("visits::contained", contained);
    visits.chain(nothing).chain([root, contained]).collect()
}

/// Gives a program a root of its own, with a `/tmp` of its own, as a container has. The first word is a folder that it
/// sees too.
const CONTAIN: &str = "set -e; seen=$1; shift; mount -t tmpfs none /mnt; cd /mnt; \
    mkdir -p usr proc old .$seen; chmod 1777 tmp; ln -s usr/bin usr/lib usr/lib64 .; \
    mount --rbind /usr usr; mount --rbind /proc proc; mount --bind $seen .$seen; \
    /usr/sbin/pivot_root . old; cd /; umount -l old; exec \"$@\"";

/// Root looks into a process of another user, with its own root, its own `/tmp` and its own users.
fn contained() -> Result<Held> {
    Need::Root.met()?;
    let check = "contained";
    let plain = alone(check, "no_torch", &[])?;
    let user = VICTIM.to_string();
    let as_user = ["setpriv", "--reuid", &user, "--regid", &user, "--clear-groups"];
    let seen = text(&Build::readable()?.folder().join("attach").join(check));
    let contain = ["unshare", "-Urm", "sh", "-c", CONTAIN, "contain", &seen];
    let program = Program::start_as(check, &[&as_user[..], &contain].concat(), "no_torch")?;
    let output = program.attach(&[])?;
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    ensure!(output.status.code() == Some(3), "status {:?}: {said}", output.status.code());
    ensure!(said.contains("in a container") && said.contains("without PyTorch"), "{said}");
    ensure!(!said.contains("stays"), "{said}");
    let left = format!("/proc/{}/root/tmp", program.pid);
    let left: Vec<_> = std::fs::read_dir(left)?.flatten().map(|entry| entry.file_name()).collect();
    let is_left = left.iter().any(|name| name.to_string_lossy().starts_with("whyoom-attach-"));
    ensure!(!is_left, "left in its /tmp: {left:?}");
    let ran = program.end()?;
    ensure!(ran.like(&plain)? == 0, "it said more: {}", ran.stderr);
    Ok(Held::new("a process with its own root and /tmp is looked into, and nothing stays there"))
}

/// Root may look into the process of any user, which then writes into a folder of its own.
fn by_root() -> Result<Held> {
    Need::Root.met()?;
    let plain = alone("by-root", "undumpable", &[])?;
    let user = VICTIM.to_string();
    let as_user = ["setpriv", "--reuid", &user, "--regid", &user, "--clear-groups"];
    let program = Program::start_as("by-root", &as_user, "undumpable")?;
    let output = program.attach(&[])?;
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    ensure!(output.status.code() == Some(3), "status {:?}: {said}", output.status.code());
    ensure!(said.contains("without PyTorch"), "{said}");
    let ran = program.end()?;
    ensure!(ran.like(&plain)? == 0, "it said more: {}", ran.stderr);
    Ok(Held::new("root sees what another user's process is, which forbids it to that user"))
}

impl Visit {
    fn make(&self) -> Result<Held> {
        let plain = alone(self.name, self.name, &[])?;
        let program = Program::start(self.name, self.name, &[])?;
        let document = read(&program.attach(self.options)?)?;
        self.is_right(&document, &program)?;
        let found = program.found();
        let why = Why::ask(Build::ready()?, &[&found])?;
        ensure!(why.verdict.cause == self.cause, "whyoom why says {}", why.verdict.cause);
        let ran = program.end()?;
        let more = ran.like(&plain)?;
        ensure!(more == 0, "it said {more} lines more: {}", ran.stderr);
        Ok(Held::new(cost(&document)?).count("programs that go on", 1))
    }

    fn is_right(&self, document: &Value, program: &Program) -> Result<()> {
        let word = |key: &str| document[key].as_str().unwrap_or_default().to_owned();
        ensure!(document["schema"] == "whyoom.attach", "another document: {document}");
        let history = &document["look"]["history"];
        ensure!(history == self.history, "history: {history}, not {}", self.history);
        let cause = &document["why"]["verdict"]["cause"];
        ensure!(cause == self.cause, "the cause is {cause}: {}", document["why"]["verdict"]);
        if let Some(route) = self.route {
            ensure!(word("route") == route, "the route is {}, not {route}", word("route"));
        }
        self.holds(document, program)?;
        let seconds = |value: &Value| value.as_f64().context("no time");
        let stopped = seconds(&document["stopped_seconds"])?;
        ensure!(stopped < LONGEST_STOP, "it was stopped for {stopped} s");
        let in_main = seconds(&document["look"]["main_seconds"])?;
        ensure!(in_main < LONGEST_IN_MAIN, "its own thread was used for {in_main} s");
        Ok(())
    }

    /// What it holds, by PyTorch's own figure, and the name that refers to it.
    fn holds(&self, document: &Value, program: &Program) -> Result<()> {
        let live = document["why"]["live"]["bytes"].as_u64().context("nothing is live")?;
        let grows = self.cause == "growth";
        let right = if grows { live > program.held } else { live == program.held };
        ensure!(right, "{live} bytes are live, where PyTorch says {}", program.held);
        let (name, bytes) = self.referrer;
        let referrers = document["referrers"].as_array().context("no referrers")?;
        let found = referrers.iter().find(|one| one["name"] == name);
        let found = found.with_context(|| format!("no {name} in {referrers:?}"))?;
        let kept = found["bytes"].as_u64().context("no bytes")?;
        ensure!(kept >= bytes, "{name} keeps {kept} bytes, not {bytes}");
        let evidence = document["why"]["verdict"]["evidence"].to_string();
        ensure!(!grows || evidence.contains(name), "the verdict does not name it: {evidence}");
        Ok(())
    }
}

fn nothing_to_see(name: &str, word: &str) -> Result<Held> {
    let plain = alone(name, name, &[])?;
    let program = Program::start(name, name, &[])?;
    let output = program.attach(&[])?;
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    ensure!(output.status.code() == Some(3), "status {:?}: {said}", output.status.code());
    ensure!(said.contains(word), "{said}");
    ensure!(!program.found().exists(), "a folder was made for nothing");
    let ran = program.end()?;
    ensure!(ran.like(&plain)? == 0, "it said more: {}", ran.stderr);
    Ok(Held::new(said.lines().last().unwrap_or_default()).count("programs that go on", 1))
}

fn read(output: &Output) -> Result<Value> {
    let said = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "status {:?}: {said}", output.status.code());
    from_slice(&output.stdout)
}

/// A row of the table: how it got in, and what it cost.
fn cost(document: &Value) -> Result<String> {
    let milliseconds =
        |value: &Value| -> Result<f64> { Ok(value.as_f64().context("no time")? * 1e3) };
    let look = &document["look"];
    Ok(format!(
        "{:<15} stopped {:>4.0} ms, own thread {:>5.1} ms, snapshot {:>5.1} ms, referrers {:>5.1} ms",
        document["route"].as_str().context("no route")?,
        milliseconds(&document["stopped_seconds"])?,
        milliseconds(&look["main_seconds"])?,
        milliseconds(&look["snapshot_seconds"])?,
        milliseconds(&look["referrers_seconds"])?,
    ))
}
