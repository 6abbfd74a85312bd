//! The lab on a machine that others use too: its state, its folder, and what lies beside it.

use std::{
    ffi::OsString,
    fs::{self, Permissions},
    io::{BufRead, BufReader},
    os::unix::{
        fs::{PermissionsExt, symlink},
        process::CommandExt,
    },
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use anyhow::{Context, Result, bail, ensure};
use harness::{
    Bounded, Build, CProgram, Held, Need, STRANGER, VICTIM, from_str, give_to, root, text,
};
use serde::Deserialize;

/// Tells how the lab is reached, and keeps it until the input ends.
const KEEP: &str = r#"printf '%s\n' "$WHYOOM_LAB" "$LD_LIBRARY_PATH" "$LD_PRELOAD"; exec cat"#;
const VARIABLES: [&str; 3] = ["WHYOOM_LAB", "LD_LIBRARY_PATH", "LD_PRELOAD"];

/// So long an attack lasts.
const SECONDS: &str = "2";
/// One call may take so long, in milliseconds, and a program under attack makes so many.
const LONGEST: f64 = 2000.0;
const CALLS: u64 = 100;

/// What `caller.c` prints.
#[derive(Debug, Deserialize)]
struct Called {
    calls: u64,
    refused: u64,
    longest_ms: f64,
}

/// What `lab_attack.py` prints.
#[derive(Debug, Deserialize)]
struct Attacked {
    shortened: bool,
    written: u64,
}

/// A fresh folder that every user may enter and, as in `/tmp`, use. It goes with this value.
struct Shared(PathBuf);

impl Shared {
    fn new(name: &str) -> Result<Self> {
        let folder =
            std::env::temp_dir().join(format!("whyoom-hostile-{name}-{}", std::process::id()));
        fs::create_dir(&folder)?;
        fs::set_permissions(&folder, Permissions::from_mode(0o1777))?;
        Ok(Self(folder))
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// A lab of the victim's, which ends with this value.
struct Lab {
    running: Child,
    variables: Vec<String>,
}

impl Lab {
    fn start(build: &Build, folder: &Shared, flags: &[&str]) -> Result<Self> {
        let mut command = Command::new(build.whyoom());
        command.args(["lab", "run"]).args(flags).args(["--", "sh", "-c", KEEP]);
        command.env("TMPDIR", &folder.0).current_dir("/").uid(VICTIM).gid(VICTIM);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut running = command.spawn()?;
        let output = BufReader::new(running.stdout.take().context("no output")?);
        let lines = output.lines().take(VARIABLES.len()).collect::<Result<Vec<_>, _>>()?;
        let variables = VARIABLES.iter().zip(lines).map(|(name, value)| format!("{name}={value}"));
        let lab = Self { running, variables: variables.collect() };
        ensure!(lab.variables.len() == VARIABLES.len(), "the lab did not start: {flags:?}");
        Ok(lab)
    }

    fn state(&self) -> Result<&Path> {
        let state = self.variables[0].strip_prefix("WHYOOM_LAB=");
        state.map(Path::new).context("no state")
    }

    /// Runs a command in the lab as a user.
    fn run(&self, user: u32, words: &[&str]) -> Result<Bounded> {
        let own: Vec<&str> = self.variables.iter().map(String::as_str).collect();
        Bounded::run(&[&["env"], own.as_slice(), words].concat(), Some(user), &[])
    }
}

impl Drop for Lab {
    fn drop(&mut self) {
        drop(self.running.stdin.take());
        let until = Instant::now() + Duration::from_secs(5);
        while matches!(self.running.try_wait(), Ok(None)) && Instant::now() < until {
            std::thread::sleep(Duration::from_millis(5));
        }
        let _ = self.running.kill();
        let _ = self.running.wait();
    }
}

/// The program that calls the driver, where every user may run it.
fn caller(folder: &Shared) -> Result<String> {
    let copy = folder.path("caller");
    fs::copy(CProgram::new("tests/scenarios/hostile/caller.c")?.built()?, &copy)?;
    fs::set_permissions(&copy, Permissions::from_mode(0o755))?;
    Ok(text(&copy))
}

/// A stranger cannot enter a lab that is not shared; nor is a user led into a stranger's.
pub(super) fn stays_out() -> Result<Held> {
    Need::Root.met()?;
    let (build, folder) = (Build::readable()?, Shared::new("stays-out")?);
    let (lab, caller) = (Lab::start(&build, &folder, &[])?, caller(&folder)?);
    let own = lab.run(VICTIM, &[&caller])?;
    ensure!(own.status == Some(0), "its own user cannot enter: {}", own.err);
    let state = text(lab.state()?);
    for open in ["<", ">>"] {
        let tried = lab.run(STRANGER, &["sh", "-c", &format!(": {open} {state}")])?;
        ensure!(tried.status != Some(0), "a stranger can open the state ({open})");
    }
    let refused = lab.run(STRANGER, &[&caller])?.in_bounds(0)?;
    ensure!(refused.status == Some(1), "a stranger has a context in another's lab");
    // The other way: a state that a stranger can change is no state to enter.
    fs::set_permissions(lab.state()?.parent().context("no folder")?, mode(0o755))?;
    for (owner, writable) in [(VICTIM, 0o666), (STRANGER, 0o600), (STRANGER, 0o666)] {
        give_to(owner, lab.state()?)?;
        fs::set_permissions(lab.state()?, mode(writable))?;
        let led = lab.run(VICTIM, &[&caller])?.in_bounds(0)?;
        ensure!(led.status == Some(1), "{owner}'s state of mode {writable:o} was entered");
        ensure!(led.err.contains("--shared"), "it does not say what to do: {}", led.err);
    }
    Ok(Held::new("only its user enters a lab that is not shared").count("ways in", 6))
}

/// Whatever a stranger writes into the state of a shared lab, nobody in it crashes or hangs.
pub(super) fn any_bytes() -> Result<Held> {
    attacked("bytes")
}

/// The same, where the words name living processes: as the lock's owner they are waited for.
pub(super) fn owners() -> Result<Held> {
    attacked("owners")
}

fn attacked(kind: &str) -> Result<Held> {
    Need::Root.met()?;
    let (build, folder) = (Build::readable()?, Shared::new(kind)?);
    let (lab, caller) = (Lab::start(&build, &folder, &["--shared"])?, caller(&folder)?);
    let script = folder.path("attack.py");
    fs::copy(root().join("tests/suites/hostile/lab_attack.py"), &script)?;
    fs::set_permissions(&script, mode(0o644))?;
    let (script, state) = (text(&script), text(lab.state()?));
    let attack = || Bounded::run(&["python3", &script, &state, SECONDS, kind], Some(STRANGER), &[]);
    let mut victim = start(&lab, &caller)?;
    let mut lines = BufReader::new(victim.stdout.take().context("no output")?).lines();
    let first = lines.next().context("the program did not start")??;
    ensure!(first == "started", "{first}");
    let (attack, looked) = std::thread::scope(|scope| {
        let attack = scope.spawn(attack);
        let looked = lab.run(VICTIM, &[&text(&build.whyoom()), "who", "--json"]);
        (attack.join(), looked)
    });
    let looked = looked?.in_bounds(0).context("whyoom who")?;
    ensure!(looked.status == Some(0), "whyoom who: {}", looked.err);
    let attack = attack.map_err(|_| anyhow::anyhow!("the attack panicked"))??;
    let attack: Attacked = from_str(&attack.out).with_context(|| attack.err.clone())?;
    ensure!(!attack.shortened && attack.written > 0, "{attack:?}");
    drop(victim.stdin.take());
    let last = lines.next();
    let status = wait(&mut victim)?;
    ensure!(status == Some(0), "the program in the lab ended with {status:?}");
    let called: Called = from_str(&last.context("it told nothing")??)?;
    ensure!(called.calls >= CALLS && called.longest_ms < LONGEST, "{called:?}");
    ensure!(called.refused > 0, "the attack was not noticed at all: {called:?}");
    Ok(Held::new(format!(
        "{} calls in a state written anew {} times: the longest took {:.0} ms",
        called.calls, attack.written, called.longest_ms
    ))
    .count("states", attack.written))
}

fn start(lab: &Lab, caller: &str) -> Result<Child> {
    let mut command = Command::new("env");
    command.args(&lab.variables).arg(caller).uid(VICTIM).gid(VICTIM);
    Ok(command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?)
}

/// How it ended: minus the signal, where one ended it.
fn wait(child: &mut Child) -> Result<Option<i32>> {
    use std::os::unix::process::ExitStatusExt;
    let until = Instant::now() + Duration::from_secs(20);
    while Instant::now() < until {
        if let Some(status) = child.try_wait()? {
            return Ok(status.code().or_else(|| status.signal().map(|signal| -signal)));
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    child.kill()?;
    child.wait()?;
    bail!("the program in the lab hangs")
}

/// What others put into the folder for temporary files neither stops a lab, nor does a lab remove it.
pub(super) fn beside_others() -> Result<Held> {
    Need::Root.met()?;
    let (build, folder) = (Build::readable()?, Shared::new("beside")?);
    let precious = folder.path("precious");
    fs::create_dir(&precious)?;
    fs::write(precious.join("alive"), "")?;
    fs::write(precious.join("data"), "")?;
    give_to(VICTIM, &precious)?;
    let made = ["whyoom-lab-1", "whyoom-lab-2", "whyoom-lab-3", "whyoom-lab-4", "whyoom-lab-5"];
    let [fifo, theirs, link, lone, inner] = made.map(|name| folder.path(name));
    for lab in [&fifo, &theirs, &inner] {
        fs::create_dir(lab)?;
    }
    fifo_at(&fifo.join("alive"))?;
    fs::write(theirs.join("alive"), "")?;
    symlink(&precious, &link)?;
    fifo_at(&lone)?;
    symlink("/dev/zero", inner.join("alive"))?;
    for path in [&fifo, &theirs, &link, &lone, &inner] {
        give_to(STRANGER, path)?;
    }
    // And what the victim's own dead lab left, which is the victim's to remove.
    let own = folder.path("whyoom-lab-6");
    fs::create_dir(&own)?;
    fs::write(own.join("alive"), "")?;
    symlink(&precious, own.join("link"))?;
    give_to(VICTIM, &own)?;
    let (whyoom, place) = (text(&build.whyoom()), text(&folder.0));
    for user in [None, Some(VICTIM)] {
        let words = [&whyoom, "lab", "run", "--", "true"];
        let ran = Bounded::run(&words, user, &[("TMPDIR", &place)])?.in_bounds(0)?;
        ensure!(ran.status == Some(0), "whyoom lab: {}", ran.err);
    }
    ensure!(!own.exists(), "the victim's own dead lab is still there");
    for path in [&fifo, &theirs.join("alive"), &link, &lone, &inner, &precious.join("data")] {
        ensure!(path.symlink_metadata().is_ok(), "{} was removed", path.display());
    }
    Ok(Held::new("started beside five traps, and removed none").count("traps", 5))
}

fn fifo_at(path: &Path) -> Result<()> {
    ensure!(Command::new("mkfifo").arg(path).status()?.success(), "mkfifo");
    Ok(())
}

/// What a lab makes is private under any umask; of a shared one only what all need is not.
pub(super) fn modes() -> Result<Held> {
    Need::Root.met()?;
    let (build, folder) = (Build::readable()?, Shared::new("modes")?);
    let (whyoom, place) = (text(&build.whyoom()), text(&folder.0));
    let log = text(&folder.path("log"));
    let list = r#"cd "${WHYOOM_LAB%/*}" && stat -c '%n %a %F' . alive state"#;
    let made = |flags: &[&str]| {
        let run = [&whyoom, "lab", "run", "--log", &log];
        let inside = [flags, &["--", "sh", "-c", list]].concat();
        let words = [&["sh", "-c", r#"umask 0; exec "$@""#, "-"], run.as_slice(), &inside].concat();
        Bounded::run(&words, Some(VICTIM), &[("TMPDIR", &place)])?.in_bounds(0)
    };
    let (private, shared) = (made(&[])?, made(&["--shared"])?);
    let expected = ". 700 directory\nalive 600 regular empty file\nstate 600 regular file\n";
    ensure!(private.out == expected, "a private lab: {}{}", private.out, private.err);
    let expected = ". 711 directory\nalive 600 regular empty file\nstate 666 socket\n";
    ensure!(shared.out == expected, "a shared lab: {}{}", shared.out, shared.err);
    let log = fs::metadata(log)?.permissions().mode() & 0o777;
    ensure!(log == 0o600, "its log has mode {log:o}");
    let left: Vec<OsString> = fs::read_dir(&folder.0)?
        .map(|entry| Ok(entry?.file_name()))
        .collect::<std::io::Result<_>>()?;
    ensure!(left == ["log"], "it left {left:?}");
    Ok(Held::new("0700 and 0600; shared 0711 and a socket").count("modes", 7))
}

/// A lab does not start where another user could put other libraries in the place of its own.
pub(super) fn temporary_folder_of_another() -> Result<Held> {
    Need::Root.met()?;
    let (build, folder) = (Build::readable()?, Shared::new("tmpdir")?);
    let [theirs, below, own, link] =
        ["theirs", "theirs/below", "own", "link"].map(|name| folder.path(name));
    for path in [&theirs, &below, &own] {
        fs::create_dir(path)?;
        fs::set_permissions(path, mode(0o777))?;
    }
    give_to(STRANGER, &theirs)?;
    give_to(VICTIM, &own)?;
    fs::set_permissions(&own, mode(0o700))?;
    give_to(VICTIM, &below)?;
    let whyoom = text(&build.whyoom());
    let run = |user, flags: &[&str], temporary: &Path| {
        let command = ["--", "sh", "-c", r#"printf %s "$WHYOOM_LAB""#];
        let words = [&[whyoom.as_str(), "lab", "run"], flags, &command].concat();
        Bounded::run(&words, user, &[("TMPDIR", &text(temporary))])?.in_bounds(0)
    };
    let mut refused = 0;
    let forms: [&[&str]; 2] = [&[], &["--shared"]];
    for user in [None, Some(VICTIM)] {
        for flags in forms {
            for temporary in [&theirs, &below] {
                let ran = run(user, flags, temporary)?;
                let is_refused = ran.status == Some(1) && ran.out.is_empty();
                ensure!(is_refused, "{flags:?}: {:?}: {}{}", ran.status, ran.out, ran.err);
                let advises = ["other users can change", "TMPDIR must name a folder that others"];
                ensure!(advises.iter().all(|words| ran.err.contains(words)), "{}", ran.err);
                refused += 1;
            }
        }
    }
    let left = fs::read_dir(&theirs)?.count() + fs::read_dir(&below)?.count();
    ensure!(left == 1, "it left something in a stranger's folder");
    // A link of the stranger's may lead elsewhere after the check: programs load nothing through it.
    symlink(&own, &link)?;
    give_to(STRANGER, &link)?;
    let ran = run(Some(VICTIM), &[], &link)?;
    let expected = text(&own.canonicalize()?);
    ensure!(ran.out.starts_with(&expected), "{:?}: {}{}", ran.status, ran.out, ran.err);
    Ok(Held::new("refused").count("starts", refused))
}

/// A lab does not start where the dynamic linker would read another path than that of the lab's folder.
pub(super) fn temporary_folder_with_separators() -> Result<Held> {
    Need::Root.met()?;
    let (build, folder) = (Build::readable()?, Shared::new("separators")?);
    let whyoom = text(&build.whyoom());
    let names = ["a b", "a:b", "a;b", "a\tb", "a\nb", "$LIB"];
    let forms: [&[&str]; 2] = [&[], &["--shared"]];
    for name in names {
        // The folder itself is trusted: it belongs to root.
        let place = folder.path(name);
        fs::create_dir(&place)?;
        for flags in forms {
            let command = ["--", "sh", "-c", r#"printf %s "$LD_PRELOAD""#];
            let words = [&[whyoom.as_str(), "lab", "run"], flags, &command].concat();
            let ran = Bounded::run(&words, None, &[("TMPDIR", &text(&place))])?.in_bounds(0)?;
            let is_refused = ran.status == Some(1) && ran.out.is_empty();
            ensure!(is_refused, "{name:?} {flags:?}: {:?}: {}{}", ran.status, ran.out, ran.err);
            let advises = ran.err.contains("TMPDIR must name a folder whose path has no");
            ensure!(advises, "{name:?} {flags:?}: {}", ran.err);
        }
        let left = fs::read_dir(&place)?.count();
        ensure!(left == 0, "{name:?}: it left {left} entries");
    }
    Ok(Held::new("refused").count("starts", (names.len() * forms.len()) as u64))
}

fn mode(mode: u32) -> Permissions {
    Permissions::from_mode(mode)
}
