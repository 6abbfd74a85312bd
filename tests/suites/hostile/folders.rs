//! `whyoom run` in folders that other users can change: what it writes, and what Python runs of it.

use std::{
    fs,
    os::unix::fs::{PermissionsExt, chown, symlink},
    path::{Path, PathBuf},
};

use anyhow::{Context, Result, ensure};
use harness::{Bounded, Build, CProgram, Held, Need, STRANGER, VICTIM, fresh, give_to, root, text};

/// What must not change.
const PRECIOUS: &str = "precious\n";
/// Waits for the other user, and starts Python: `sh -c VICTIMS_PROGRAM - FOLDER`.
const VICTIMS_PROGRAM: &str = r#"touch "$1/ready"; n=0
while [ ! -e "$1/swapped" ] && [ $n -lt 100 ]; do sleep 0.02; n=$((n+1)); done
python3 -c 'print("ran")'"#;
/// What the other user wants to be run.
const ATTACK: &str = "import os\nopen(os.environ['OWNED'], 'w').write(str(os.getuid()))\n";
/// Says where Python finds code, with the mode of each folder and file there.
const LIST_CODE: &str = r#"import os
for place in os.environ["PYTHONPATH"].split(":"):
    for folder, _, files in os.walk(place):
        if "__pycache__" not in folder:
            print("folder", oct(os.stat(folder).st_mode & 0o7777), os.path.join(folder, ""))
            for name in files:
                print("file", oct(os.stat(os.path.join(folder, name)).st_mode & 0o7777), name)
"#;

/// A folder in which two users meet, removed at the end.
struct Shared(PathBuf);

impl Shared {
    fn new(name: &str) -> Result<Self> {
        let name = format!("whyoom-hostile-{name}-{}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        fs::create_dir(&folder)?;
        let shared = Self(folder);
        chmod(&shared.0, 0o1777)?;
        // What the victim has, and what only it can write to.
        fs::create_dir(shared.path("home"))?;
        fs::write(shared.path("home/precious"), PRECIOUS)?;
        give_to(VICTIM, &shared.path("home"))?;
        Ok(shared)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    /// A folder of the stranger's that all can write to.
    fn of_stranger(&self, name: &str) -> Result<PathBuf> {
        let folder = self.path(name);
        fs::create_dir_all(&folder)?;
        give_to(STRANGER, &folder)?;
        chmod(&folder, 0o777)?;
        Ok(folder)
    }

    /// A folder of a user's that a group can write to.
    fn of_group(&self, name: &str, user: u32, group: u32) -> Result<PathBuf> {
        let folder = self.path(name);
        fs::create_dir(&folder)?;
        chown(&folder, Some(user), Some(group))?;
        chmod(&folder, 0o775)?;
        Ok(folder)
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn chmod(path: &Path, mode: u32) -> Result<()> {
    Ok(fs::set_permissions(path, fs::Permissions::from_mode(mode))?)
}

/// Runs a command of the victim's under `whyoom run`.
fn victims_run(options: &[&str], command: &[&str], variables: &[(&str, &str)]) -> Result<Bounded> {
    let whyoom = text(&Build::readable()?.whyoom());
    let words = [&[&whyoom, "run"], options, &["--"], command].concat();
    Bounded::run(&words, Some(VICTIM), variables)
}

/// The end of a run is written into a folder that a stranger has made.
pub(super) fn made_by_another() -> Result<Held> {
    Need::Root.met()?;
    let shared = Shared::new("made")?;
    let folder = shared.of_stranger("out")?;
    let precious = shared.path("home/precious");
    symlink(&precious, folder.join("run.json"))?;
    give_to(STRANGER, &folder.join("run.json"))?;
    let ran = victims_run(&["-o", &text(&folder)], &["sh", "-c", "exit 7"], &[])?.in_bounds(0)?;
    let now = fs::read_to_string(&precious)?;
    ensure!(now == PRECIOUS, "run.json was followed, and the victim's file is now: {now}");
    ensure!(ran.status == Some(7), "exit status {:?}: {}", ran.status, ran.err);
    ensure!(ran.err.contains("belongs to another user"), "it said: {}", ran.err);
    let link = shared.path("link");
    symlink(shared.path("home"), &link)?;
    let ran = victims_run(&["-o", &text(&link)], &["sh", "-c", "exit 7"], &[])?.in_bounds(0)?;
    ensure!(ran.status == Some(7) && ran.err.contains("is a symlink"), "{}", ran.err);
    Ok(Held::new("refused, the victim's file and its status unchanged"))
}

/// Waits for the victim's program and puts other code where Python looks for it.
fn swap(shared: &Shared, folder: &Path, option: &str, way: &str) -> Result<Bounded> {
    let (home, out) = (text(&shared.path("home")), text(folder));
    let owned = text(&shared.path("home/owned"));
    let code = folder.join(way);
    let attack = format!(
        r#"n=0; while [ ! -e "{home}/ready" ] && [ $n -lt 200 ]; do sleep 0.02; n=$((n+1)); done
        mv "{out}" "{out}-old"; mkdir -p "{code}"; printf '%s' "$ATTACK" > "{code}/sitecustomize.py"
        chmod -R a+rX "{out}"; exit 0"#,
        code = code.display()
    );
    std::thread::scope(|scope| {
        let stranger = scope.spawn(|| -> Result<()> {
            let attack = ["sh", "-c", &attack];
            let done = Bounded::run(&attack, Some(STRANGER), &[("ATTACK", ATTACK)]);
            fs::write(shared.path("home/swapped"), "")?;
            ensure!(done?.status == Some(0), "the stranger's own script failed");
            Ok(())
        });
        let command = ["sh", "-c", VICTIMS_PROGRAM, "-", &home];
        let ran = victims_run(&["-o", &out, option], &command, &[("OWNED", &owned)]);
        stranger.join().ok().context("the stranger broke off")??;
        ran
    })
}

/// A folder on the way belongs to a stranger, or to a group that the stranger is in. The stranger puts other code in the
/// place of ours while a program runs.
pub(super) fn code_swapped() -> Result<Held> {
    Need::Root.met()?;
    let shared = Shared::new("code")?;
    let theirs = shared.of_stranger("project")?;
    let of_group = shared.of_group("group", VICTIM, STRANGER)?;
    let mut runs = 0;
    for (project, name, option, way) in [
        (&theirs, "keepers", "--keepers", "keepers/startup"),
        (&theirs, "history", "--torch-history", "torch/startup"),
        (&of_group, "keepers", "--keepers", "keepers/startup"),
        (&of_group, "history", "--torch-history", "torch/startup"),
    ] {
        let ran = swap(&shared, &project.join(name), option, way)?;
        ensure!(ran.status == Some(0), "{option}: {:?}: {}", ran.status, ran.err);
        ensure!(ran.out == "ran\n", "{option}: the program printed {:?}", ran.out);
        let owned = shared.path("home/owned");
        ensure!(!owned.exists(), "{option}: the stranger's code ran as the victim");
        for mark in ["ready", "swapped"] {
            fs::remove_file(shared.path("home").join(mark))?;
        }
        runs += 1;
    }
    Ok(Held::new("a stranger's code is not run").count("runs", runs))
}

/// Prints the folder of the recording, and puts a link in its place: `sh -c SWAP - HOME`. Root becomes the stranger for
/// that, so that nothing is exchanged that a stranger could not exchange.
const SWAP: &str = r#"echo "$WHYOOM_RECORDING"
[ "$(id -u)" != 0 ] || become="setpriv --reuid $STRANGER --regid $STRANGER --clear-groups"
$become sh -c '
for run in whyoom-run-*; do [ -d "$run" ] && mv "$run" old && ln -s "$1" "$run"; done' - "$1"
exit 7"#;

/// A recording does not go where a stranger could lead it, and its end removes nothing elsewhere.
pub(super) fn current_folder_of_another() -> Result<Held> {
    Need::Root.met()?;
    let whyoom = text(&Build::readable()?.whyoom());
    let shared = Shared::new("current")?;
    let theirs = shared.of_stranger("project")?;
    let below = theirs.join("below");
    fs::create_dir(&below)?;
    let of_group = shared.of_group("group", 0, STRANGER)?;
    // The last one can be entered by its owner, root, alone.
    let places = [(&theirs, None), (&theirs, Some(VICTIM)), (&of_group, None), (&below, None)];
    // What the end of a run would remove, under the names that it would remove.
    let home = shared.path("home");
    let startup = home.join("torch/startup");
    fs::create_dir_all(&startup)?;
    let precious = [home.join("run.json"), startup.join("precious")];
    for file in &precious {
        fs::write(file, PRECIOUS)?;
    }
    give_to(VICTIM, &home)?;
    let (home, stranger) = (text(&home), STRANGER.to_string());
    let mut runs = 0;
    for (place, user) in places {
        let context = || format!("{} as {user:?}", place.display());
        let before = fs::read_dir(place)?.count();
        let here = text(place);
        let in_place = ["env", "-C", &here, &whyoom, "run"];
        let command = ["--", "sh", "-c", SWAP, "-", &home];
        let words = [&in_place[..], &command].concat();
        let ran = Bounded::run(&words, user, &[("STRANGER", &stranger)])?.in_bounds(0)?;
        for file in &precious {
            let is_kept = fs::read_to_string(file).is_ok_and(|now| now == PRECIOUS);
            ensure!(is_kept, "{}: {} was changed or removed", context(), file.display());
        }
        ensure!(ran.status == Some(7), "{}: {:?}: {}", context(), ran.status, ran.err);
        let folder = ran.out.lines().next().unwrap_or_default();
        let is_elsewhere = folder.starts_with('/') && !folder.starts_with(&text(&shared.0));
        ensure!(is_elsewhere, "{}: recorded into {folder:?}: {}", context(), ran.err);
        let said = ["other users can change what is in", "recording into /"];
        ensure!(said.iter().all(|words| ran.err.contains(words)), "{}: {}", context(), ran.err);
        ensure!(!Path::new(folder).exists(), "{}: {folder} is left", context());
        // A folder that was named is refused, with its parents.
        for name in ["named", "named/deep"] {
            let options = ["-o", name, "--", "sh", "-c", "exit 7"];
            let words = [&in_place[..], &options].concat();
            let ran = Bounded::run(&words, user, &[])?.in_bounds(0)?;
            ensure!(ran.status == Some(7), "{} -o {name}: {:?}", context(), ran.status);
            let advises = ran.err.contains("Name a folder that only you or root can change");
            ensure!(advises, "{} -o {name}: {}", context(), ran.err);
        }
        let after = fs::read_dir(place)?.count();
        ensure!(after == before, "{}: {after} entries, {before} before", context());
        runs += 3;
    }
    Ok(Held::new("recorded elsewhere or refused, nothing removed").count("runs", runs))
}

/// Folders that people use every day: their own, a sticky one, and those that a group shares.
pub(super) fn ordinary_folders() -> Result<Held> {
    Need::Root.met()?;
    let whyoom = text(&Build::readable()?.whyoom());
    let shared = Shared::new("ordinary")?;
    let own_of_group = shared.of_group("own", VICTIM, STRANGER)?;
    let of_colleague = shared.of_group("colleague", STRANGER, VICTIM)?;
    let below = of_colleague.join("below");
    fs::create_dir(&below)?;
    give_to(VICTIM, &below)?;
    let home = shared.path("home");
    let places = [
        (&home, Some(VICTIM)),
        (&shared.0, Some(VICTIM)),
        (&own_of_group, Some(VICTIM)),
        (&of_colleague, Some(VICTIM)),
        (&below, Some(VICTIM)),
        (&shared.0, None),
    ];
    let mut runs = 0;
    for (place, user) in places {
        for options in [&[][..], &["-o", "named"]] {
            let context = || format!("{} as {user:?}: {options:?}", place.display());
            let here = text(place);
            let in_place = ["env", "-C", &here, &whyoom, "run"];
            let command = ["--", "sh", "-c", r#"echo "$WHYOOM_RECORDING""#];
            let words = [&in_place[..], options, &command].concat();
            let ran = Bounded::run(&words, user, &[])?.in_bounds(0)?;
            ensure!(ran.status == Some(0), "{}: {}", context(), ran.err);
            let is_here = Path::new(ran.out.trim_end()).parent() == Some(place.as_path());
            ensure!(is_here, "{}: recorded into {}: {}", context(), ran.out, ran.err);
            ensure!(!ran.err.contains("other users"), "{}: {}", context(), ran.err);
            let _ = fs::remove_dir_all(place.join("named"));
            runs += 1;
        }
    }
    Ok(Held::new("recorded where it was asked for").count("runs", runs))
}

/// Whatever the umask: nobody else reads a recording, nor changes what Python runs.
pub(super) fn modes() -> Result<Held> {
    let whyoom = text(&Build::ready()?.whyoom());
    let program = text(&root().join("tests/suites/hostile/cutter.py"));
    let folder = fresh("hostile-modes")?;
    let run = format!(
        r#"umask 0; exec "{whyoom}" lab run --memory 4GiB -- "{whyoom}" run --pool --keepers -o "{}" -- "$@""#,
        folder.display()
    );
    let listed = Bounded::run(&["sh", "-c", &run, "-", "python3", "-c", LIST_CODE], None, &[])?;
    ensure!(listed.status == Some(0), "{}", listed.err);
    let count = listed.out.lines().count();
    ensure!(count > 10, "only {count} files of code: {}", listed.out);
    for line in listed.out.lines() {
        let right = line.starts_with("folder 0o700 ") || line.starts_with("file 0o600 ");
        ensure!(right, "code that others may read or change: {line}");
    }
    fs::remove_dir_all(&folder)?;
    let ran = Bounded::run(&["sh", "-c", &run, "-", "python3", &program, ".part"], None, &[])?;
    let files = checked_modes(&folder)?;
    ensure!(files >= 5, "only {files} files were recorded: {}", ran.err);
    Ok(Held::new("0700 and 0600").count("files", files + count as u64))
}

/// Runs a program of the lab that records onto a small disk, and asks why: `FOLDER SIZE FILLED WHYOOM CALLER MODE…`.
const ON_SMALL_DISK: &str = r#"folder=$1; size=$2; filled=$3; whyoom=$4; caller=$5; shift 5
mount -t tmpfs -o "size=$size" tmpfs "$folder" || exit 99
[ "$filled" = no ] || cat /dev/zero > "$folder/filled" 2> /dev/null
"$whyoom" lab run --memory 4GiB -- "$whyoom" run "$@" -o "$folder/out" -- "$caller" < /dev/null > /dev/null
echo "status $?"
exec "$whyoom" why "$folder/out""#;

/// Seconds that the script may take: it starts four programs, a lab among them. Chosen, not measured.
const SECONDS_ON_SMALL_DISK: f64 = 10.0;

/// A recording that found no room on its disk says so later, too.
pub(super) fn full_disk() -> Result<Held> {
    Need::Root.met()?;
    let (whyoom, folder) = (text(&Build::ready()?.whyoom()), fresh("hostile-full-disk")?);
    fs::create_dir_all(&folder)?;
    let place = text(&folder);
    let caller = text(&CProgram::new("tests/scenarios/hostile/caller.c")?.built()?);
    let script = ["unshare", "-m", "sh", "-c", ON_SMALL_DISK, "-"];
    let modes: [&[&str]; 4] = [&[], &["--flight"], &["--keepers"], &["--torch-history"]];
    let small = modes.iter().map(|mode| ("64k", "no", *mode));
    let rest = [("256k", "no", modes[1]), ("1m", "no", modes[1]), ("64k", "yes", modes[0])];
    let mut runs = 0;
    for (size, filled, mode) in small.chain(rest) {
        let disk = [place.as_str(), size, filled, whyoom.as_str(), caller.as_str()];
        let words = [&script[..], &disk, mode].concat();
        let ran = Bounded::run(&words, None, &[])?.in_bounds_with_time(0, SECONDS_ON_SMALL_DISK)?;
        let context = format!("{size} {mode:?}: {}{}", ran.out, ran.err);
        ensure!(ran.out.starts_with("status 0\n"), "the program: {context}");
        ensure!(!ran.out.contains("used CUDA\n"), "{context}");
        ensure!(ran.out.contains("the disk of the recording was"), "{context}");
        ensure!(ran.out.contains("on another disk"), "no advice: {context}");
        runs += 1;
    }
    Ok(Held::new("each says that the disk was full").count("runs", runs))
}

/// Counts the files below a folder; an error where others may read one.
fn checked_modes(folder: &Path) -> Result<u64> {
    let mode = fs::symlink_metadata(folder)?.permissions().mode() & 0o7777;
    ensure!(mode == 0o700, "{} has mode {mode:o}", folder.display());
    let mut files = 0;
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            // Python's own.
            files += if path.ends_with("__pycache__") { 0 } else { checked_modes(&path)? };
            continue;
        }
        let mode = fs::symlink_metadata(&path)?.permissions().mode() & 0o7777;
        ensure!(mode == 0o600, "{} has mode {mode:o}", path.display());
        files += 1;
    }
    Ok(files)
}
