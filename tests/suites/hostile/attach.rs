//! `whyoom attach` as root: the process's user decides what every path of the process leads to, and what it answers.

use std::{
    fs,
    io::{BufRead, BufReader},
    os::unix::{
        fs::{MetadataExt, PermissionsExt},
        process::CommandExt,
    },
    path::{Path, PathBuf},
    process::{Child, Command, Output, Stdio},
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context, Result, ensure};
use harness::{Build, Held, Need, STRANGER, root, text};
use rustix::process::{Pid, Signal, kill_process};

/// An interpreter that every user can run.
const SYSTEM_PYTHON: &str = "/usr/bin/python3";
/// A visit takes no longer: more is a hang.
const LONGEST_VISIT: Duration = Duration::from_secs(15);
/// Visits in which the folder may be swapped at the right moment, and the time for them. Before it was mended, the first
/// few of these visits were enough.
const SWAPPED_VISITS: usize = 150;
const SWAPPED_TIME: Duration = Duration::from_secs(8);
/// A user of its own, by whom its folders are known.
const PASSING: u32 = 61_003;

/// What stands in gdb's place: a visit then needs no gdb, and takes as long as the check wants.
const SLOW_GDB: &str = "sleep 1";
const NO_GDB: &str = "exit 1";
/// One that says that all went well.
const QUICK_GDB: &str = "for word in 'attaching 0' 'attached 1' 'writes 1' 'initialized 1' \
                         'holds 1' 'called 0' 'over 0' 'detached 0'; do echo WHYOOM $word; done; \
                         cat > /dev/null";
/// One whose call never returns.
const STUCK_GDB: &str = "for word in 'attaching 0' 'attached 1' 'writes 1' 'initialized 1' \
                         'holds 1'; do echo WHYOOM $word; done; exec sleep 600";
/// One during which the process ends.
const KILLING_GDB: &str =
    "while read word pid; do [ $word = attach ] && kill -KILL $pid && exit; done";

/// A folder of a check, which every user may enter. It goes with this value.
struct Place(PathBuf);

impl Place {
    fn new(name: &str) -> Result<Self> {
        let name = format!("whyoom-hostile-attach-{name}-{}", std::process::id());
        let place = Self(std::env::temp_dir().join(name));
        fs::create_dir(&place.0)?;
        fs::set_permissions(&place.0, fs::Permissions::from_mode(0o755))?;
        fs::copy(root().join("tests/suites/hostile/attached.py"), place.path("attached.py"))?;
        Ok(place)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    /// A folder of root's with a file and a folder in it.
    fn victim(&self) -> Result<PathBuf> {
        let victim = self.path("victim");
        fs::create_dir_all(victim.join("inner"))?;
        for file in ["start.py", "precious", "inner/precious"] {
            fs::write(victim.join(file), "precious")?;
            fs::set_permissions(victim.join(file), fs::Permissions::from_mode(0o600))?;
        }
        Ok(victim)
    }

    /// A folder of the attacker's.
    fn own(&self) -> Result<PathBuf> {
        let own = self.path("own");
        fs::create_dir(&own)?;
        std::os::unix::fs::chown(&own, Some(STRANGER), Some(STRANGER))?;
        Ok(own)
    }

    /// Puts something in gdb's place.
    fn gdb(&self, script: &str) -> Result<()> {
        fs::create_dir_all(self.path("bin"))?;
        let gdb = self.path("bin/gdb");
        fs::write(&gdb, format!("#!/bin/sh\n{script}\n"))?;
        Ok(fs::set_permissions(gdb, fs::Permissions::from_mode(0o755))?)
    }

    /// `whyoom attach`, as root.
    fn attach(&self, attacker: &Attacker) -> Result<Command> {
        let mut command = Command::new(Build::ready()?.whyoom());
        command.args(["attach", &attacker.pid.to_string(), "--wait", "1s", "-o"]);
        command.arg(self.path("out")).stdin(Stdio::null()).stdout(Stdio::null());
        command.env("PATH", format!("{}:/usr/bin:/bin", text(&self.path("bin"))));
        command.stderr(Stdio::piped());
        Ok(command)
    }

    fn visit(&self, attacker: &Attacker) -> Result<Output> {
        let mut child = self.attach(attacker)?.spawn()?;
        let ended = ends_within(&mut child, LONGEST_VISIT)?;
        let output = child.wait_with_output()?;
        ensure!(ended, "it hangs: {}", said(&output));
        Ok(output)
    }
}

/// Waits for a process, and kills one that takes longer. Returns true if it ended by itself.
fn ends_within(child: &mut Child, most: Duration) -> Result<bool> {
    let until = Instant::now() + most;
    while Instant::now() < until {
        if child.try_wait()?.is_some() {
            return Ok(true);
        }
        thread::sleep(Duration::from_millis(5));
    }
    child.kill()?;
    Ok(false)
}

fn send(signal: Signal, to: &Child) -> Result<()> {
    let pid = Pid::from_raw(i32::try_from(to.id())?).context("no PID")?;
    Ok(kill_process(pid, signal)?)
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// A process of another user, which is attached to. It ends with this value.
struct Attacker {
    child: Child,
    pid: u32,
}

impl Attacker {
    fn start(place: &Place, user: u32, before: &[&str], words: &[&str]) -> Result<Self> {
        let script = text(&place.path("attached.py"));
        Self::start_program(user, &[before, &[SYSTEM_PYTHON, "-S", &script], words].concat())
    }

    fn start_program(user: u32, words: &[&str]) -> Result<Self> {
        let mut command = Command::new(words[0]);
        command.args(&words[1..]).uid(user).gid(user).current_dir("/");
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        let mut line = String::new();
        BufReader::new(child.stdout.take().context("no output")?).read_line(&mut line)?;
        let pid = line.trim().strip_prefix("ready ").and_then(|pid| pid.parse().ok());
        let mut attacker = Self { child, pid: 0 };
        attacker.pid = pid.with_context(|| format!("the attacker said {line:?}"))?;
        Ok(attacker)
    }

    /// In a namespace of users and mounts of its own.
    fn apart(place: &Place, words: &[&str]) -> Result<Self> {
        Self::start(place, STRANGER, &["unshare", "-Urm"], words)
    }
}

impl Drop for Attacker {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Nothing in root's folder was removed, added, or given away.
fn is_untouched(victim: &Path) -> Result<()> {
    for file in ["start.py", "precious", "inner/precious"] {
        let found = fs::metadata(victim.join(file)).with_context(|| format!("{file} is gone"))?;
        ensure!(found.uid() == 0 && found.mode() & 0o777 == 0o600, "{file} was given away");
    }
    let owner = fs::metadata(victim)?.uid();
    ensure!(owner == 0, "the folder belongs to user {owner}");
    let count = fs::read_dir(victim)?.count();
    ensure!(count == 3, "{count} entries in it");
    Ok(())
}

/// The folder of the visit becomes a mount of root's folder while gdb is at work.
pub(super) fn mounted_over() -> Result<Held> {
    Need::Root.met()?;
    let place = Place::new("mounted")?;
    let victim = place.victim()?;
    place.gdb(SLOW_GDB)?;
    let attacker = Attacker::apart(&place, &["mount", &text(&victim)])?;
    let output = place.visit(&attacker)?;
    drop(attacker);
    is_untouched(&victim).with_context(|| said(&output))?;
    ensure!(output.status.code() == Some(1), "{:?}: {}", output.status, said(&output));
    // Under the mount it stays: whyoom says so.
    let said = said(&output);
    let left = said.split_whitespace().find(|word| word.starts_with("/tmp/whyoom-attach-"));
    fs::remove_dir(left.with_context(|| said.clone())?)?;
    Ok(Held::new("a folder that is mounted over the visit's is not emptied"))
}

/// The folder of the visit becomes a link to root's folder as soon as it is made.
pub(super) fn swapped() -> Result<Held> {
    Need::Root.met()?;
    let place = Place::new("swapped")?;
    let (victim, own) = (place.victim()?, place.own()?);
    place.gdb(NO_GDB)?;
    // Then the visit writes, too.
    fs::remove_file(victim.join("start.py"))?;
    let attacker = Attacker::apart(&place, &["swap", &text(&victim), &text(&own)])?;
    let (began, mut visits) = (Instant::now(), 0);
    while visits < SWAPPED_VISITS && began.elapsed() < SWAPPED_TIME {
        place.visit(&attacker)?;
        visits += 1;
        let owner = fs::metadata(&victim)?.uid();
        ensure!(owner == 0, "after {visits} visits root's folder belongs to user {owner}");
        let count = fs::read_dir(&victim)?.count();
        ensure!(count == 2, "after {visits} visits there are {count} entries in root's folder");
    }
    Ok(Held::new("nothing is written or given away").count("visits", visits as u64))
}

/// The process has another root, in which `/tmp` is a link to root's folder.
pub(super) fn linked() -> Result<Held> {
    Need::Root.met()?;
    let place = Place::new("linked")?;
    let (victim, own) = (place.victim()?, place.own()?);
    place.gdb(SLOW_GDB)?;
    let attacker = Attacker::apart(&place, &["link", &text(&victim), &text(&own)])?;
    let changed = fs::metadata(&victim)?.mtime_nsec();
    let output = place.visit(&attacker)?;
    is_untouched(&victim).with_context(|| said(&output))?;
    ensure!(fs::metadata(&victim)?.mtime_nsec() == changed, "something was made in it");
    ensure!(said(&output).contains("cannot use /tmp"), "{}", said(&output));
    Ok(Held::new("an absolute link leads into the process's own root"))
}

/// Files that cost the process nothing.
pub(super) fn holes() -> Result<Held> {
    Need::Root.met()?;
    let place = Place::new("holes")?;
    place.gdb(QUICK_GDB)?;
    let attacker = Attacker::start(&place, STRANGER, &["env"], &["answer"])?;
    let output = place.visit(&attacker)?;
    ensure!(output.status.code() == Some(1), "{:?}: {}", output.status, said(&output));
    ensure!(said(&output).contains("hardly any of it is data"), "{}", said(&output));
    ensure!(!place.path("out").exists(), "a folder was left");
    Ok(Held::new("files of holes are not copied"))
}

/// A library with many names that never end. A signal ends whyoom meanwhile, and it does not take long.
pub(super) fn endless_names() -> Result<Held> {
    Need::Root.met()?;
    let place = Place::new("names")?;
    place.gdb(NO_GDB)?;
    let library = place.path("libpython-evil.so");
    fs::write(&library, endless_library())?;
    let attacker = Attacker::start(&place, STRANGER, &["env"], &["map", &text(&library)])?;
    let began = Instant::now();
    let mut child = place.attach(&attacker)?.spawn()?;
    while child.try_wait()?.is_none() && began.elapsed() < Duration::from_secs(5) {
        thread::sleep(Duration::from_millis(5));
    }
    if child.try_wait()?.is_none() {
        // As long as nothing is done to the process, a signal ends whyoom at once.
        send(Signal::TERM, &child)?;
        let ended = ends_within(&mut child, Duration::from_secs(1))?;
        child.wait()?;
        ensure!(ended, "it takes more than 5 s, and SIGTERM does not end it");
    }
    let seconds = began.elapsed().as_secs_f64();
    Ok(Held::new(format!("names are cut before they are compared: {seconds:.1} s")))
}

/// 200,000 symbols whose names all begin in 64 MiB without an end.
fn endless_library() -> Vec<u8> {
    const SYMBOLS: usize = 200_000;
    const NAMES: usize = 64 << 20;
    let section = |kind: u32, offset: usize, size: usize, link: u32, entry: u64| {
        let words = [1, kind].map(u32::to_le_bytes).concat();
        let places = [0, 0, offset as u64, size as u64].map(u64::to_le_bytes).concat();
        let rest = [link, 1].map(u32::to_le_bytes).concat();
        let last = [8, entry].map(u64::to_le_bytes).concat();
        [words, places, rest, last].concat()
    };
    let segment = [
        [1_u32, 4].map(u32::to_le_bytes).concat(),
        [0_u64, 0, 0, 4096, 4096, 4096].map(u64::to_le_bytes).concat(),
    ]
    .concat();
    let mut bytes = vec![0; 64];
    bytes[..7].copy_from_slice(b"\x7fELF\x02\x01\x01");
    bytes[16..20].copy_from_slice(&[3, 0, 62, 0]);
    bytes[32..40].copy_from_slice(&64_u64.to_le_bytes());
    bytes[54..58].copy_from_slice(&[56, 0, 1, 0]);
    bytes[58..64].copy_from_slice(&[64, 0, 3, 0, 2, 0]);
    bytes.extend(segment);
    let symbols_at = bytes.len();
    for symbol in 0..SYMBOLS as u32 {
        bytes.extend(symbol.to_le_bytes());
        bytes.extend([0x12, 0, 1, 0]);
        bytes.extend([0; 16]);
    }
    let names_at = bytes.len();
    bytes.resize(names_at + NAMES, b'P');
    let sections_at = bytes.len() as u64;
    bytes[40..48].copy_from_slice(&sections_at.to_le_bytes());
    bytes.extend(section(0, 0, 0, 0, 0));
    bytes.extend(section(11, symbols_at, SYMBOLS * 24, 2, 24));
    bytes.extend(section(3, names_at, NAMES, 0, 0));
    bytes
}

/// A call that never returns: the second Ctrl-C ends whyoom. gdb must not be ended, and is named.
pub(super) fn endless_call() -> Result<Held> {
    Need::Root.met()?;
    let place = Place::new("call")?;
    place.gdb(&format!("echo $$ > {}; {STUCK_GDB}", text(&place.path("gdb-pid"))))?;
    let attacker = Attacker::start(&place, STRANGER, &["env"], &["idle"])?;
    let mut child = place.attach(&attacker)?.spawn()?;
    thread::sleep(Duration::from_secs(2));
    let began = Instant::now();
    for _ in 0..2 {
        send(Signal::INT, &child)?;
        thread::sleep(Duration::from_millis(500));
    }
    let ended = ends_within(&mut child, Duration::from_secs(8))?;
    let seconds = began.elapsed().as_secs_f64();
    let gdb: u32 = fs::read_to_string(place.path("gdb-pid"))?.trim().parse()?;
    let gdb_lives = ends_gdb(gdb)?;
    let output = child.wait_with_output()?;
    ensure!(ended, "it does not end: {}", said(&output));
    ensure!(gdb_lives, "gdb was ended in the middle of a call: {}", said(&output));
    for words in [&format!("gdb (process {gdb})"), "Ctrl-C again", "giving up"] {
        ensure!(said(&output).contains(words), "it does not say “{words}”: {}", said(&output));
    }
    Ok(Held::new(format!("{seconds:.1} s after the first Ctrl-C it has ended")))
}

/// Ends what stands in gdb's place. Returns true if it still ran.
fn ends_gdb(pid: u32) -> Result<bool> {
    // It is a `sleep` by then: another process of that number is left alone.
    let name = fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
    if name.trim() != "sleep" {
        return Ok(false);
    }
    let pid = Pid::from_raw(i32::try_from(pid)?).context("no PID")?;
    kill_process(pid, Signal::KILL)?;
    Ok(true)
}

/// The process ends meanwhile: the folder in `/tmp` does not stay.
pub(super) fn ended_meanwhile() -> Result<Held> {
    Need::Root.met()?;
    let place = Place::new("ended")?;
    place.gdb(KILLING_GDB)?;
    let attacker = Attacker::start(&place, PASSING, &["env"], &["idle"])?;
    let output = place.visit(&attacker)?;
    ensure!(said(&output).contains("ended meanwhile"), "{}", said(&output));
    for entry in fs::read_dir("/tmp")?.flatten() {
        let is_left = entry.file_name().to_string_lossy().starts_with("whyoom-attach-")
            && entry.metadata().is_ok_and(|found| found.uid() == PASSING);
        ensure!(!is_left, "{} stays", entry.path().display());
    }
    Ok(Held::new("the folder is removed, though the process has ended"))
}

/// Variables that would make gdb load code.
pub(super) fn variables_of_gdb() -> Result<Held> {
    Need::Root.met()?;
    const VARIABLES: [&str; 6] =
        ["PYTHONPATH", "PYTHONHOME", "PYTHONSTARTUP", "LD_LIBRARY_PATH", "GDBHISTFILE", "BASH_ENV"];
    let place = Place::new("variables")?;
    place.gdb(&format!("env > {}", text(&place.path("env"))))?;
    let attacker = Attacker::start(&place, STRANGER, &["env"], &["idle"])?;
    let mut command = place.attach(&attacker)?;
    for name in VARIABLES {
        command.env(name, text(&place.path("absent")));
    }
    let output = command.output()?;
    let seen = fs::read_to_string(place.path("env")).with_context(|| said(&output))?;
    ensure!(seen.contains("PATH="), "it has no PATH: {seen}");
    for name in VARIABLES {
        let is_seen = seen.lines().any(|line| line.starts_with(&format!("{name}=")));
        ensure!(!is_seen, "gdb has {name}");
    }
    Ok(Held::new("gdb does not get them").count("variables", VARIABLES.len() as u64))
}

/// A setuid program of root's, and a process of another user that becomes this program while root attaches.
struct Setuid {
    place: Place,
    victim: PathBuf,
    attacker: PathBuf,
    /// What the program writes to if it was logged in to.
    door: PathBuf,
}

/// The functions of the interpreter that whyoom looks for.
const FUNCTIONS: [&str; 6] = [
    "Py_IsInitialized",
    "PyGILState_Check",
    "PyGILState_Ensure",
    "PyGILState_Release",
    "Py_AddPendingCall",
    "PyRun_SimpleString",
];

impl Setuid {
    /// Compiles both. In the attacker these functions are at the address of `logged_in` in the setuid program.
    fn make(name: &str, functions: &[&str], options: &[&str]) -> Result<Self> {
        let place = Place::new(name)?;
        let (victim, attacker) = (place.path("setuid"), place.path("python-evil"));
        fs::create_dir(place.path("root"))?;
        fs::set_permissions(place.path("root"), fs::Permissions::from_mode(0o700))?;
        let door = place.path("root/door");
        // Above the attacker: whyoom takes no function from an address below its file.
        let above = "-Wl,-Ttext-segment=0x10000000";
        compile("setuid_victim.c", &victim, &[above, &format!("-DDOOR=\"{}\"", text(&door))])?;
        fs::set_permissions(&victim, fs::Permissions::from_mode(0o4755))?;
        let made = Self { place, victim, attacker, door };
        let mut works = Command::new(&made.victim);
        let works = works.arg("works").uid(STRANGER).gid(STRANGER).status()?;
        ensure!(works.success(), "the temporary folder's file system ignores the setuid bit");
        let address = made.address("logged_in")?;
        let symbols: Vec<String> =
            functions.iter().map(|name| format!("-Wl,--defsym={name}={address:#x}")).collect();
        let symbols: Vec<&str> = symbols.iter().map(String::as_str).collect();
        compile("becomes_setuid.c", &made.attacker, &[options, &symbols].concat())?;
        Ok(made)
    }

    /// Returns the address of a symbol of the setuid program.
    fn address(&self, symbol: &str) -> Result<u64> {
        let output = Command::new("nm").arg(&self.victim).output()?;
        let names = String::from_utf8(output.stdout)?;
        let line = names.lines().find(|line| line.ends_with(&format!(" {symbol}")));
        let digits = line.and_then(|line| line.split(' ').next()).context("no such symbol")?;
        Ok(u64::from_str_radix(digits, 16)?)
    }

    /// `whyoom attach` as root, with the gdb that is in PATH.
    fn visit(&self, words: &[&str]) -> Result<Output> {
        let (victim, attacker) = (text(&self.victim), text(&self.attacker));
        let words = [&[attacker.as_str(), &victim], words].concat();
        let attacker = Attacker::start_program(STRANGER, &words)?;
        let mut command = self.place.attach(&attacker)?;
        command.env("PATH", std::env::var_os("PATH").context("no PATH")?);
        let mut child = command.spawn()?;
        let ended = ends_within(&mut child, LONGEST_VISIT)?;
        let output = child.wait_with_output()?;
        ensure!(ended, "it hangs: {}", said(&output));
        Ok(output)
    }

    fn is_closed(&self, output: &Output) -> Result<()> {
        ensure!(!self.door.exists(), "root's gdb called a function in it: {}", said(output));
        Ok(())
    }
}

/// Compiles a program at a fixed address.
fn compile(source: &str, to: &Path, options: &[&str]) -> Result<()> {
    let source = root().join("tests/suites/hostile").join(source);
    let mut compiler = Command::new("cc");
    compiler.args(["-O1", "-Wall", "-Wextra", "-Werror", "-no-pie", "-fno-pie"]);
    compiler.arg("-fno-stack-protector").args(options);
    let output = compiler.arg("-o").arg(to).arg(source).output().context("no cc")?;
    ensure!(output.status.success(), "cc: {}", said(&output));
    Ok(())
}

/// The process becomes a setuid program of root's before gdb stops it: the functions' addresses are in that program.
pub(super) fn becomes_setuid() -> Result<Held> {
    Need::Root.met()?;
    let setuid = Setuid::make("becomes", &FUNCTIONS, &[])?;
    let output = setuid.visit(&[])?;
    setuid.is_closed(&output)?;
    ensure!(said(&output).contains("started another program"), "{}", said(&output));
    Ok(Held::new("nothing is called in a program that was not looked at"))
}

/// The process becomes that program in a call of gdb's, and a signal ends the call: gdb would put the registers back as
/// they were, and make the next call, in the setuid program.
pub(super) fn becomes_setuid_in_the_call() -> Result<Held> {
    Need::Root.met()?;
    let setuid = Setuid::make("call-becomes", &["PyGILState_Release"], &["-DIN_THE_CALL"])?;
    let stack = setuid.address("notes")? + (1 << 16);
    let output = setuid.visit(&[&format!("{stack:x}")])?;
    setuid.is_closed(&output)?;
    let said = said(&output);
    ensure!(!said.contains("cannot write the registers"), "gdb is too old for this check: {said}");
    ensure!(said.contains("started another program"), "{said}");
    Ok(Held::new("after another program was started, gdb calls nothing and restores nothing"))
}

/// Line ends in the words of the process's command.
pub(super) fn lines_in_its_command() -> Result<Held> {
    Need::Root.met()?;
    let place = Place::new("lines")?;
    place.gdb(NO_GDB)?;
    let words = ["idle", "x\nwhyoom: all is well"];
    let attacker = Attacker::start(&place, STRANGER, &["env"], &words)?;
    let said = said(&place.visit(&attacker)?);
    ensure!(said.contains("all is well"), "its command is not shown: {said}");
    let forged = said.lines().find(|line| line.starts_with("whyoom: all is well"));
    ensure!(forged.is_none(), "it writes a line of whyoom's: {said}");
    Ok(Held::new("its command stays in its line"))
}

/// Length of the snapshot that `attached.py long` writes, in bytes.
const LONG_BYTES: u64 = 128 << 20;

/// What the process answers takes long to judge: then a signal ends whyoom at once.
pub(super) fn long_to_judge() -> Result<Held> {
    Need::Root.met()?;
    let place = Place::new("judge")?;
    place.gdb(QUICK_GDB)?;
    let attacker = Attacker::start(&place, STRANGER, &["env"], &["long"])?;
    let mut child = place.attach(&attacker)?.spawn()?;
    let copied = place.path(&format!("out/torch/{}.pickle", attacker.pid));
    let until = Instant::now() + LONGEST_VISIT;
    while !is_copied(&copied) && Instant::now() < until && child.try_wait()?.is_none() {
        thread::sleep(Duration::from_millis(5));
    }
    // The folder in /tmp is removed meanwhile.
    thread::sleep(Duration::from_millis(500));
    let is_judging = child.try_wait()?.is_none();
    if is_judging {
        send(Signal::INT, &child)?;
    }
    let ended = ends_within(&mut child, Duration::from_secs(1))?;
    let output = child.wait_with_output()?;
    ensure!(is_judging, "it had ended before the signal: {}", said(&output));
    ensure!(ended, "SIGINT did not end it within a second: {}", said(&output));
    Ok(Held::new("one signal ends it while it judges"))
}

fn is_copied(file: &Path) -> bool {
    fs::metadata(file).is_ok_and(|found| found.len() == LONG_BYTES)
}
