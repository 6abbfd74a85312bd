//! An archive that is a folder, in which somebody who may write there has put links and other things.

use std::{
    fs::{self, File},
    os::fd::AsRawFd as _,
    os::unix::fs::{PermissionsExt as _, symlink},
    path::{Path, PathBuf},
    process::{Command, Output},
    sync::atomic::{AtomicBool, Ordering},
    thread,
};

use anyhow::{Result, ensure};
use harness::{Build, Held, Random, empty_folder, files, must_succeed, text};
use rustix::fs::{CWD, RenameFlags, renameat_with};
use whyoom_incident::parquet;

use super::{super::engines, links::SECRET};

/// Incidents of the honest objects.
const INCIDENTS: u64 = 6;
/// Entries that are no objects: a link to a file, a link to a folder, a link to the archive itself, a FIFO, and a
/// Parquet file that whyoom-fleet did not name.
const PASSED_OVER: usize = 5;
/// Commands that are run while a folder is swapped for a link all the time.
const RACES: usize = 30;
/// Numbers of the objects outside.
const OUTSIDE: [u64; 2] = [100, 101];
const DAY: &str = "incidents/date=2026-10-19";

struct Place {
    archive: PathBuf,
    outside: PathBuf,
    folder: PathBuf,
}

impl Place {
    /// An honest archive, and a folder beside it with a secret and with objects that are not the archive's.
    fn new(name: &str) -> Result<Self> {
        let folder = empty_folder(name)?;
        let (archive, outside) = (folder.join("archive"), folder.join("outside"));
        let mut random = Random::default();
        for object in 0..INCIDENTS / 2 {
            let rows = [2 * object, 2 * object + 1];
            let incidents = rows.map(|number| engines::incident(number, 0, &mut random));
            engines::write(&archive, object, 0, &incidents)?;
        }
        for object in OUTSIDE {
            let foreign = engines::incident(object, 0, &mut random);
            engines::write(&outside, object, 0, &[foreign])?;
        }
        fs::write(outside.join("secret"), SECRET)?;
        Ok(Self { archive, outside, folder })
    }

    /// Puts in what is no object of the archive.
    fn plant(&self) -> Result<()> {
        let day = self.archive.join(DAY);
        let object = |number: u64| day.join(format!("00-n-a-{number:010}.parquet"));
        symlink(self.outside.join("secret"), object(7))?;
        symlink(self.outside.join(DAY), self.archive.join("incidents/date=2026-10-20"))?;
        symlink("..", self.archive.join("incidents/date=2026-10-21"))?;
        must_succeed(Command::new("mkfifo").arg(object(8)))?;
        fs::copy(object(0), day.join("mine.parquet"))?;
        Ok(())
    }

    fn fleet(&self, words: &[&str]) -> Result<Output> {
        let mut fleet = Command::new(Build::fleet()?);
        fleet
            .args(words)
            .current_dir(&self.folder)
            .env("XDG_CACHE_HOME", self.folder.join("cache"));
        let path = std::env::var("PATH").unwrap_or_default();
        Ok(fleet.env("PATH", format!("{}:{path}", text(&self.folder))).output()?)
    }

    /// Runs a command that must succeed. Returns what it printed.
    fn said(&self, words: &[&str]) -> Result<String> {
        let ended = self.fleet(words)?;
        let said = [ended.stdout, ended.stderr].concat();
        let said = String::from_utf8_lossy(&said).into_owned();
        ensure!(ended.status.success(), "{words:?}: {}: {said}", ended.status);
        Ok(said)
    }

    /// Nothing outside has changed, and the secret is in no folder of copies.
    fn check(&self, copies: &str) -> Result<()> {
        ensure!(fs::read_to_string(self.outside.join("secret"))? == SECRET, "the secret is gone");
        let left = files(&self.outside.join(DAY))?.len();
        ensure!(left == 2, "{left} objects outside are left of 2");
        let copies = self.folder.join(copies);
        if !copies.exists() {
            return Ok(());
        }
        for path in entries_below(&copies)? {
            let found = fs::symlink_metadata(&path)?;
            ensure!(found.is_file(), "{} is no regular file", path.display());
            let mode = found.permissions().mode() & 0o777;
            ensure!(mode == 0o600, "{}: mode {mode:o}", path.display());
            let bytes = fs::read(&path)?;
            ensure!(!bytes.starts_with(SECRET.as_bytes()), "the secret is in {}", path.display());
        }
        Ok(())
    }
}

/// All below a folder that is no folder itself.
fn entries_below(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            found.extend(entries_below(&entry.path())?);
        } else {
            found.push(entry.path());
        }
    }
    Ok(found)
}

pub(super) fn run() -> Result<Held> {
    let place = Place::new("fleet-archives")?;
    place.plant()?;
    let passed_over = format!("{PASSED_OVER} entries passed over");
    let report = place.said(&["report", "archive", "--json"])?;
    ensure!(report.contains(&format!("\"incidents\": {INCIDENTS},")), "{report}");
    ensure!(report.contains(&passed_over), "the report counts no links: {report}");
    let copied = place.said(&["copy", "archive", "copies"])?;
    ensure!(copied.contains("3 objects in copies, 3 new"), "{copied}");
    ensure!(copied.contains(&passed_over), "{copied}");
    place.check("copies")?;
    // A program that shows which folder the engine would read.
    let engine = place.folder.join("duckdb");
    fs::write(&engine, "#!/bin/sh\nprintf '%s' \"$2\"\n")?;
    fs::set_permissions(&engine, fs::Permissions::from_mode(0o755))?;
    let asked = place.said(&["sql", "archive", "causes"])?;
    ensure!(!asked.contains(&text(&place.archive)), "DuckDB reads the links, too: {asked}");
    place.check("cache")?;
    fs::write(place.archive.join(DAY).join("00-n-a-0000000006.parquet"), SECRET)?;
    let copied = place.said(&["copy", "archive", "copies"])?;
    ensure!(copied.contains("1 objects are no Parquet files"), "{copied}");
    place.check("copies")?;
    fs::remove_file(place.archive.join(DAY).join("00-n-a-0000000006.parquet"))?;
    keep_hidden_copies(&place)?;
    let compacted = place.said(&["compact", "archive"])?;
    ensure!(compacted.contains(&format!("3 objects are 1, {INCIDENTS} incidents")), "{compacted}");
    ensure!(compacted.contains(&passed_over), "{compacted}");
    place.check("copies")?;
    let forgotten = place.said(&["forget", "archive", "--days", "0"])?;
    ensure!(forgotten.starts_with("1 objects"), "{forgotten}");
    ensure!(forgotten.contains(&passed_over), "{forgotten}");
    place.check("copies")?;
    let left = fs::read_dir(place.archive.join(DAY))?.count();
    ensure!(left == 3, "{left} entries of 3 that are no objects are left");
    let races = race()?;
    Ok(Held::new(format!(
        "{PASSED_OVER} links and other things are counted by report, copy, sql, compact and forget; nothing outside is \
         read, copied or removed, also in {races} runs while a folder is swapped for a link; copies of a day that a link \
         hides are kept"
    )))
}

/// While a link is in place of the day's folder, its copies stay.
fn keep_hidden_copies(place: &Place) -> Result<()> {
    let (day, moved) = (place.archive.join(DAY), place.folder.join("moved"));
    let copies =
        || Ok::<usize, anyhow::Error>(files(&place.folder.join("copies").join(DAY))?.len());
    let before = copies()?;
    fs::rename(&day, &moved)?;
    symlink(&moved, &day)?;
    let copied = place.said(&["copy", "archive", "copies"])?;
    ensure!(copied.contains(&format!("{before} copies kept")), "{copied}");
    ensure!(before > 0 && copies()? == before, "{} copies of {before} are left", copies()?);
    fs::remove_file(&day)?;
    Ok(fs::rename(&moved, &day)?)
}

/// The folder of a day and a link to the folder outside take each other's place all the time. Objects of the same names
/// are in both.
fn race() -> Result<usize> {
    let place = Place::new("fleet-archives-race")?;
    let link = place.archive.join("link");
    symlink(place.outside.join(DAY), &link)?;
    let day = place.archive.join(DAY);
    let opened = File::open(&day)?;
    let is_over = AtomicBool::new(false);
    let raced = thread::scope(|scope| {
        scope.spawn(|| {
            while !is_over.load(Ordering::Relaxed) {
                let _ = renameat_with(CWD, &day, CWD, &link, RenameFlags::EXCHANGE);
            }
        });
        let raced = run_races(&place, &opened);
        is_over.store(true, Ordering::Relaxed);
        raced
    });
    raced?;
    Ok(2 * RACES)
}

fn run_races(place: &Place, day: &File) -> Result<()> {
    let incident = engines::incident(0, 0, &mut Random::default());
    let own = parquet::write(&[incident])?;
    for number in 0..RACES {
        for object in OUTSIDE {
            // By its descriptor, wherever the folder is now.
            let path = format!("/proc/self/fd/{}/00-n-a-{object:010}.parquet", day.as_raw_fd());
            fs::write(path, &own)?;
        }
        // A command may fail, because the folder is a link when it is asked for.
        let copies = format!("copies{number}");
        place.fleet(&["copy", "archive", &copies])?;
        for object in OUTSIDE {
            let copy = place.folder.join(&copies).join(DAY);
            let copy = copy.join(format!("00-n-a-{object:010}.parquet"));
            let is_own = !copy.exists() || fs::read(copy)? == own;
            ensure!(is_own, "an object from outside was copied");
        }
        place.fleet(&["forget", "archive", "--days", "0"])?;
        place.check(&copies)?;
    }
    Ok(())
}
