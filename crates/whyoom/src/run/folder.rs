//! Where a recording goes: a folder of the user's own, which nobody else can read or change.

use std::{
    ffi::OsStr,
    fs,
    io::{self, Write},
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
    sync::Arc,
    time::{SystemTime, UNIX_EPOCH},
};

use anyhow::{Context, Result, ensure};
use whyoom_files::{held::HeldFolder, private, temporary};
use whyoom_reading::TORCH_FOLDER;
use whyoom_sources::recording::ENDING;

use super::{keepers, modules, say};
use crate::sitecustomize;

/// Two runs may start in one second.
const MOST_OF_A_SECOND: u32 = 100;
const DAY: u64 = 24 * 60 * 60;

/// Tells git which files of the folder it ignores: all.
const GITIGNORE: &str = ".gitignore";
/// What the folder of a run is called, before the time.
const RUN: &str = "whyoom-run";

/// The folder of a recording.
#[derive(Clone, Debug)]
pub(super) struct RunFolder {
    /// An absolute path.
    pub(super) path: PathBuf,
    /// The folder itself. What takes its place under the path is never removed.
    held: Arc<HeldFolder>,
}

impl RunFolder {
    fn open(path: PathBuf) -> Result<Self> {
        let held = HeldFolder::open(&path)
            .with_context(|| format!("cannot open the folder {}", path.display()))?;
        let folder = Self { path, held: Arc::new(held) };
        // A recording is as good without it.
        let _ = folder.hide_from_git();
        Ok(folder)
    }

    /// Keeps the recording out of a repository that it is made in. A file of that name stays as it is.
    fn hide_from_git(&self) -> io::Result<()> {
        private::create_file(&self.held_path().join(GITIGNORE))?.write_all(b"*\n")
    }

    /// Returns a path that leads to the folder itself, whatever takes its place under its name.
    pub(super) fn held_path(&self) -> PathBuf {
        let held = self.held.path();
        if held.exists() { held } else { self.path.clone() }
    }

    /// Removes the folder if nothing was recorded into it.
    pub(super) fn discard_empty(&self) {
        let _ = self.held.remove_file(ENDING);
        let _ = self.held.remove_file(GITIGNORE);
        for asked in [TORCH_FOLDER, keepers::FOLDER, modules::FOLDER] {
            let Ok(folder) = self.held.folder(asked) else { continue };
            // What Python would have run first.
            if let Ok(startup) = folder.folder(sitecustomize::FOLDER) {
                let _ = startup.remove_contents();
            }
            let _ = folder.remove_folder(sitecustomize::FOLDER);
            let _ = self.held.remove_folder(asked);
        }
        // Fails where there is anything else in it, and then it stays.
        let _ = fs::remove_dir(&self.path);
    }

    /// Removes the folder with all that is in it.
    ///
    /// # Errors
    /// Returns an error if something of it stays.
    pub(super) fn discard(&self) -> io::Result<()> {
        self.held.remove_contents()?;
        fs::remove_dir(&self.path)
    }
}

/// Makes the folder of a run.
pub(super) fn make(asked_for: Option<&Path>) -> Result<RunFolder> {
    RunFolder::open(make_for(RUN, asked_for)?)
}

/// Makes the folder that was asked for, or one with the time in its name, here. Its path is absolute:
/// programs change their directory.
pub(crate) fn make_for(prefix: &str, asked_for: Option<&Path>) -> Result<PathBuf> {
    let folder = match asked_for {
        Some(folder) => named(folder)?,
        None => dated(prefix, Path::new(""), &temporary::folder())?,
    };
    Ok(std::path::absolute(folder)?)
}

/// Checks that a folder can be made where it would be, before work is done for it.
///
/// # Errors
/// Returns an error that says what to do if other users can change the place.
pub(crate) fn check_place(asked_for: Option<&Path>) -> Result<()> {
    match asked_for {
        Some(folder) => safe_name(folder).map(drop),
        None if private::check_way_of_output(Path::new(".")).is_err() => {
            Ok(temporary::trusted_folder().map(drop)?)
        }
        None => Ok(()),
    }
}

/// The folder of a second run, beside the first one's.
pub(super) fn beside(first: &Path) -> Result<RunFolder> {
    let name = first.file_name().unwrap_or_default().to_string_lossy();
    RunFolder::open(numbered(&first.with_file_name(format!("{name}-applied")))?)
}

/// Returns the path of a folder that a person named, without links before its last part, if no other user can
/// change these parts. Otherwise that user could put a link in the place of the folder, and what is written and removed
/// by path would be written and removed elsewhere.
fn safe_name(folder: &Path) -> Result<PathBuf> {
    // What the path ends with besides the name would follow a link of that name.
    let folder: PathBuf = folder.components().collect();
    let absolute = std::path::absolute(&folder)?;
    let parents = absolute.ancestors().skip(1);
    let Some(existing) = parents.into_iter().find(|parent| parent.exists()) else {
        return Ok(folder);
    };
    // Nothing can be made below a file. Its permissions do not matter, those of its folder do.
    let parent = if existing.is_dir() { existing } else { existing.parent().unwrap_or(existing) };
    if let Err(error) = private::check_way_of_output(parent) {
        anyhow::bail!(
            "cannot record into {}: {error}. Name a folder that only you or root can change, \
             such as one in your home, or leave -o out",
            folder.display()
        );
    }
    let below = absolute.strip_prefix(existing).unwrap_or(&absolute);
    Ok(existing.canonicalize()?.join(below))
}

fn named(folder: &Path) -> Result<PathBuf> {
    let context = || format!("cannot create the folder {}", folder.display());
    let folder: &Path = &safe_name(folder)?;
    let mut made = private::create_folder(folder);
    if let (Err(error), Some(parent)) = (&made, folder.parent())
        && error.kind() == io::ErrorKind::NotFound
    {
        // These are ordinary folders, which the umask is for.
        fs::create_dir_all(parent).with_context(context)?;
        made = private::create_folder(folder);
    }
    match made {
        Ok(()) => return Ok(folder.to_owned()),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
        Err(error) => return Err(error).with_context(context),
    }
    check_owner(folder)?;
    // It becomes private only where it is used: it may be a project's. Nobody else puts anything into it then.
    if is_empty(folder).with_context(context)? {
        private::adopt_folder(folder).with_context(context)?;
        if is_empty(folder).with_context(context)? {
            return Ok(folder.to_owned());
        }
    }
    // What somebody types again should neither be lost nor overwrite what he has.
    let other = numbered(folder)?;
    say(&format!("{} is not empty: recording into {}", folder.display(), other.display()));
    Ok(other)
}

/// What is in another user's folder is that user's choice, as is what becomes of what we put there.
fn check_owner(folder: &Path) -> Result<()> {
    let (found, shown) = (fs::symlink_metadata(folder)?, folder.display());
    ensure!(!found.is_symlink(), "{shown} is a symlink: name its target instead");
    ensure!(found.is_dir(), "{shown} is not a folder: name another one");
    ensure!(
        found.uid() == rustix::process::geteuid().as_raw(),
        "{shown} belongs to another user (UID {}), who could read and change the recording: name a \
         folder of your own, or one that does not exist yet",
        found.uid()
    );
    Ok(())
}

/// Returns true if nothing was recorded into a folder: `run.json` of such a run may be left.
fn is_empty(folder: &Path) -> io::Result<bool> {
    let is_left = |name: &OsStr| name == ENDING || name == GITIGNORE;
    Ok(fs::read_dir(folder)?.all(|entry| entry.is_ok_and(|entry| is_left(&entry.file_name()))))
}

/// A folder with the time in its name: here, or elsewhere where nothing can be written here, or where other users can
/// change what is here.
fn dated(prefix: &str, here: &Path, elsewhere: &Path) -> Result<PathBuf> {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let name = format!("{prefix}-{}", moment(since.as_secs()));
    let current = if here.as_os_str().is_empty() { Path::new(".") } else { here };
    if let Err(error) = private::check_way_of_output(current) {
        let trusted =
            temporary::trusted_folder().with_context(|| format!("cannot record here: {error}"))?;
        let folder = numbered(&trusted.join(&name))?;
        say(&format!("{error}: recording into {}", folder.display()));
        return Ok(folder);
    }
    numbered(&here.join(&name)).or_else(|error| {
        let folder = numbered(&elsewhere.join(&name)).map_err(|_| error)?;
        say(&format!("cannot write here: recording into {}", folder.display()));
        Ok(folder)
    })
}

/// Makes a new folder of this name; with a number behind it where there is one already.
fn numbered(name: &Path) -> Result<PathBuf> {
    let mut folder = name.to_owned();
    for number in 2..MOST_OF_A_SECOND {
        match private::create_folder(&folder) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                folder = name.with_file_name(format!(
                    "{}-{number}",
                    name.file_name().unwrap_or_default().to_string_lossy()
                ));
            }
            made => {
                return made
                    .map(|()| folder)
                    .with_context(|| format!("cannot create the folder {}", name.display()));
            }
        }
    }
    anyhow::bail!("there are too many folders named {}", name.display())
}

/// Seconds since 1970 as YYYYMMDD-HHMMSS, in universal time.
fn moment(seconds: u64) -> String {
    let (year, month, day) = date(seconds / DAY);
    let time = seconds % DAY;
    let (hours, minutes, seconds) = (time / 3600, time / 60 % 60, time % 60);
    format!("{year:04}{month:02}{day:02}-{hours:02}{minutes:02}{seconds:02}")
}

/// The date of a day since 1970, by eras of 400 years that begin on 1 March.
fn date(day: u64) -> (u64, u64, u64) {
    let shifted = day + 719_468;
    let (era, of_era) = (shifted / 146_097, shifted % 146_097);
    let year_of_era = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let from_march = (5 * of_year + 2) / 153;
    let day = of_year - (153 * from_march + 2) / 5 + 1;
    let month = if from_march < 10 { from_march + 3 } else { from_march - 9 };
    (year_of_era + era * 400 + u64::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    fn make(asked_for: Option<&Path>) -> Result<PathBuf> {
        Ok(super::make(asked_for)?.path)
    }

    fn beside(first: &Path) -> Result<PathBuf> {
        Ok(super::beside(first)?.path)
    }

    #[test]
    fn a_place_that_others_can_change_is_not_used() {
        let outer = tempfile::tempdir().expect("a folder");
        let open = fs::Permissions::from_mode(0o777);
        fs::set_permissions(outer.path(), open).expect("it is ours");
        let folder = dated(RUN, outer.path(), Path::new("/nowhere")).expect("a folder elsewhere");
        assert!(!folder.starts_with(outer.path()));
        fs::remove_dir(folder).expect("our own folder");
        for name in ["new", "new/deep"] {
            let error = make(Some(&outer.path().join(name))).expect_err("others can change it");
            assert!(format!("{error:#}").contains("Name a folder"), "{error:#}");
        }
        assert_eq!(fs::read_dir(outer.path()).expect("it is there").count(), 0);
    }

    #[test]
    fn only_what_was_made_is_discarded() {
        let outer = tempfile::tempdir().expect("a folder");
        let [path, moved, other] = ["run", "moved", "other"].map(|name| outer.path().join(name));
        let run = super::make(Some(&path)).expect("a folder");
        assert_eq!(fs::metadata(path.join(GITIGNORE)).expect("it is there").len(), 2);
        for folder in [&path, &other] {
            fs::create_dir_all(folder.join("torch/startup/__pycache__")).expect("a folder");
            fs::write(folder.join("torch/startup/sitecustomize.py"), "").expect("a file");
            fs::write(folder.join(ENDING), "").expect("a file");
        }
        fs::rename(&path, &moved).expect("it is ours");
        std::os::unix::fs::symlink(&other, &path).expect("a link");
        run.discard_empty();
        assert!(run.discard().is_err(), "a link is no folder");
        assert!(
            other.join("torch/startup/sitecustomize.py").exists() && other.join(ENDING).exists()
        );
        fs::remove_file(&path).expect("the link");
        fs::rename(&moved, &path).expect("it is ours");
        run.discard_empty();
        assert!(!path.exists());
    }

    #[test]
    fn moments_read_as_dates() {
        assert_eq!(moment(0), "19700101-000000");
        assert_eq!(moment(951_782_400), "20000229-000000");
        assert_eq!(moment(1_798_859_045), "20270102-030405");
        assert_eq!(moment(4_107_542_399), "21000228-235959");
    }

    #[test]
    fn where_nothing_can_be_written_it_goes_elsewhere() {
        let folder =
            dated(RUN, Path::new("/proc"), &std::env::temp_dir()).expect("a folder elsewhere");
        assert!(folder.starts_with(std::env::temp_dir()));
        fs::remove_dir(folder).expect("our own folder");
        assert!(dated(RUN, Path::new("/proc"), Path::new("/proc")).is_err());
    }

    #[test]
    fn a_folder_that_is_in_use_is_left_alone() {
        let folder = std::env::temp_dir().join(format!("whyoom-folder-{}", std::process::id()));
        assert!(make(Some(&folder)).is_ok());
        assert!(make(Some(&folder)).is_ok(), "an empty one may be used");
        let second = beside(&folder).expect("a second folder");
        let third = beside(&folder).expect("a third one");
        assert_ne!(second, third);
        fs::write(folder.join("x"), "").expect("a file");
        let other = make(Some(&folder)).expect("another folder");
        assert_ne!(other, folder);
        for folder in [folder, second, third, other] {
            assert_eq!(mode(&folder), 0o700);
            fs::remove_dir_all(folder).expect("our own folder");
        }
    }

    fn mode(folder: &Path) -> u32 {
        fs::metadata(folder).expect("it is there").mode() & 0o777
    }

    #[test]
    fn a_folder_becomes_private_where_it_is_used() {
        let outer = tempfile::tempdir().expect("a folder");
        let deep = outer.path().join("new/deep");
        assert_eq!(make(Some(&deep)).expect("with its parents"), deep);
        assert_eq!(mode(&deep), 0o700);
        let [used, project] = ["used", "project"].map(|name| outer.path().join(name));
        for folder in [&used, &project] {
            fs::create_dir(folder).expect("a folder");
            let open = fs::Permissions::from_mode(0o777);
            fs::set_permissions(folder, open).expect("it is ours");
        }
        fs::write(project.join("train.py"), "").expect("a file");
        assert_eq!(make(Some(&used)).expect("it is empty"), used);
        assert_eq!(mode(&used), 0o700);
        assert_ne!(make(Some(&project)).expect("beside it"), project);
        assert_eq!(mode(&project), 0o777);
    }

    #[test]
    fn a_link_and_a_file_are_refused() {
        let outer = tempfile::tempdir().expect("a folder");
        let [folder, link, file] = ["folder", "link", "file"].map(|name| outer.path().join(name));
        fs::create_dir(&folder).expect("a folder");
        std::os::unix::fs::symlink(&folder, &link).expect("a link");
        fs::write(&file, "").expect("a file");
        for wrong in [link.clone(), link.join(""), file] {
            let error = make(Some(&wrong)).expect_err("not a folder");
            assert!(format!("{error:#}").contains(": name "), "{error:#}");
        }
    }
}
