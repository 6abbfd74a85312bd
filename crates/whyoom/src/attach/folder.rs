//! The folder in which the process and whyoom meet, seen by the helper.
//!
//! The process's user decides what the paths of the process lead to. Each step is therefore taken from an open folder,
//! and only names that are made or expected here are read or removed.

use std::{
    fs::File,
    io::Write,
    os::fd::{AsFd, BorrowedFd, OwnedFd},
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context, Result, bail, ensure};
use rustix::{
    fs::{
        AtFlags, FileType, Mode, OFlags, ResolveFlags, fstat, mkdirat, mknodat, openat, openat2,
        statat, unlinkat,
    },
    io::Errno,
};
use whyoom_files::untrusted;

use super::protocol::Entry;

/// The folder of the process in which the other one is made, without the root's slash.
const TEMPORARY: &str = "tmp";
/// Mode bits by which the group or others may write.
const GROUP_OR_OTHERS_WRITE: u32 = 0o022;
/// Mode bit of a folder in which only the owner of a file, or of the folder, may rename or remove the file.
const STICKY: u32 = 0o1000;
/// What stands in the folder: what the helper writes, and what the process does.
const FILES: [&str; 11] = [
    "start.py",
    "look.py",
    "pipe",
    "watching.json",
    "watching.json.part",
    "answer.json",
    "answer.json.part",
    "snapshot.pickle",
    "snapshot.pickle.part",
    "keepers.json",
    "keepers.json.part",
];
/// The folder in it, by which a thread says that it has begun.
const BEGUN: &str = "begun";
/// How long removing is tried again while the process still writes. Chosen, not measured.
const REMOVAL_RETRY_LIMIT: Duration = Duration::from_secs(1);
const BETWEEN_REMOVALS: Duration = Duration::from_millis(50);

/// The folder, held open.
pub(super) struct Folder {
    temporary: OwnedFd,
    folder: OwnedFd,
    name: String,
    /// User of the process, whose files alone are read.
    user: u32,
    /// While it is open, the process is watched.
    pipe: Option<OwnedFd>,
}

/// The texts of the scripts in the folder.
pub(super) struct Scripts<'a> {
    pub(super) start: &'a str,
    pub(super) look: &'a str,
}

impl Folder {
    /// Makes the folder below the root of a process, with what the process runs.
    pub(super) fn make(
        root: &OwnedFd,
        user: u32,
        name: &str,
        scripts: &Scripts<'_>,
    ) -> Result<Self> {
        ensure!(!name.contains('/'), "{name} is no name of a folder");
        let temporary = open_temporary(root)?;
        check_temporary(&temporary, root, user)?;
        mkdirat(&temporary, name, Mode::RWXU)?;
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let folder = match openat(&temporary, name, flags, Mode::empty()) {
            Ok(folder) => folder,
            Err(error) => {
                let _ = unlinkat(&temporary, name, AtFlags::REMOVEDIR);
                return Err(error.into());
            }
        };
        let mut made = Self { temporary, folder, name: name.to_owned(), user, pipe: None };
        if let Err(error) = made.fill(scripts) {
            let _ = made.remove();
            return Err(error);
        }
        Ok(made)
    }

    fn fill(&mut self, scripts: &Scripts<'_>) -> Result<()> {
        ensure!(fstat(&self.folder)?.st_uid == self.user, "it was replaced while it was made");
        self.write("start.py", scripts.start)?;
        self.write("look.py", scripts.look)?;
        mknodat(&self.folder, "pipe", FileType::Fifo, Mode::RUSR | Mode::WUSR, 0)?;
        // For reading too: a FIFO is then opened at once.
        let flags = OFlags::RDWR | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY;
        let pipe = openat(&self.folder, "pipe", flags | OFlags::CLOEXEC, Mode::empty())?;
        let kind = FileType::from_raw_mode(fstat(&pipe)?.st_mode);
        ensure!(kind == FileType::Fifo, "its pipe was replaced while it was made");
        self.pipe = Some(pipe);
        Ok(())
    }

    fn write(&self, name: &str, text: &str) -> Result<()> {
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW;
        let mode = Mode::RUSR | Mode::WUSR;
        let file = openat(&self.folder, name, flags | OFlags::CLOEXEC, mode)?;
        Ok(File::from(file).write_all(text.as_bytes())?)
    }

    /// Closes the pipe: the process sees that it is watched no longer.
    pub(super) fn release(&mut self) {
        self.pipe = None;
    }

    /// Returns what stands under a name.
    pub(super) fn find(&self, name: &str) -> Entry {
        if !is_known(name) {
            return Entry::Nothing;
        }
        let Ok(found) = statat(&self.folder, name, AtFlags::SYMLINK_NOFOLLOW) else {
            return Entry::Nothing;
        };
        match FileType::from_raw_mode(found.st_mode) {
            FileType::RegularFile => Entry::File,
            FileType::Directory => Entry::Folder,
            _ => Entry::Nothing,
        }
    }

    /// Opens a regular file of the process, and returns its length. A file that is longer than `most_bytes`, or almost all
    /// of which is holes, is refused: it would cost the process's user nothing and us a disk.
    pub(super) fn open(&self, name: &str, most_bytes: u64) -> Result<Opened> {
        // Looked at first: opening a device may do something by itself.
        ensure!(self.find(name) == Entry::File, "{name} is not a regular file");
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY;
        let file = File::from(openat(&self.folder, name, flags | OFlags::CLOEXEC, Mode::empty())?);
        let found = file.metadata()?;
        let is_own = found.is_file() && untrusted::belongs_to(&file, self.user);
        ensure!(is_own, "{name} is not a file of the process");
        let bytes = found.len();
        ensure!(
            bytes <= most_bytes,
            "{name} has {bytes} bytes, more than the {most_bytes} that are read"
        );
        let paid = untrusted::paid_length(&file, bytes);
        ensure!(paid == bytes, "{name} is {bytes} bytes long, and hardly any of it is data");
        Ok(Opened { file, bytes })
    }

    /// Removes what may stand in the folder, and the folder.
    pub(super) fn remove(&mut self) -> Result<()> {
        self.release();
        let until = Instant::now() + REMOVAL_RETRY_LIMIT;
        loop {
            let removed = self.remove_once();
            if removed.is_ok() || Instant::now() >= until {
                return removed;
            }
            // The process may have written another file meanwhile.
            thread::sleep(BETWEEN_REMOVALS);
        }
    }

    fn remove_once(&self) -> Result<()> {
        for name in FILES {
            let _ = unlinkat(&self.folder, name, AtFlags::empty());
        }
        let _ = unlinkat(&self.folder, BEGUN, AtFlags::REMOVEDIR);
        let own = fstat(&self.folder)?;
        let found = match statat(&self.temporary, self.name.as_str(), AtFlags::SYMLINK_NOFOLLOW) {
            Err(Errno::NOENT) => return Ok(()),
            found => found?,
        };
        if (found.st_dev, found.st_ino) != (own.st_dev, own.st_ino) {
            bail!("something else stands in its place");
        }
        Ok(unlinkat(&self.temporary, self.name.as_str(), AtFlags::REMOVEDIR)?)
    }
}

/// An open file of the process.
pub(super) struct Opened {
    pub(super) file: File,
    /// Its length when it was opened.
    pub(super) bytes: u64,
}

/// Returns true if a name is one that is made or expected here.
fn is_known(name: &str) -> bool {
    name == BEGUN || FILES.contains(&name)
}

/// Opens `/tmp` below the root of the process. A link leads no further than that root.
fn open_temporary(root: &OwnedFd) -> Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let inside = ResolveFlags::IN_ROOT | ResolveFlags::NO_MAGICLINKS;
    match openat2(root, TEMPORARY, flags, Mode::empty(), inside) {
        // Linux before 5.6: then it may be no link.
        Err(Errno::NOSYS) => Ok(openat(root, TEMPORARY, flags | OFlags::NOFOLLOW, Mode::empty())?),
        opened => Ok(opened?),
    }
}

/// Refuses a `/tmp` in which a third user can replace files. It must be the process's user's own or root's, and sticky if
/// others may write to it. Root is the owner of `/`, too: in a container the machine's root may have no number.
fn check_temporary(temporary: &OwnedFd, root: &OwnedFd, user: u32) -> Result<()> {
    let found = fstat(temporary)?;
    let root = owner(root.as_fd()).context("its root cannot be looked at")?;
    ensure!(
        [0, user, root].contains(&found.st_uid),
        "it belongs to a third user (UID {}), who could replace files in it",
        found.st_uid
    );
    let mode = found.st_mode;
    ensure!(
        mode & GROUP_OR_OTHERS_WRITE == 0 || mode & STICKY != 0,
        "others can replace files in it: it must be sticky (chmod 1777 /tmp)"
    );
    Ok(())
}

fn owner(folder: BorrowedFd<'_>) -> Result<u32> {
    Ok(fstat(folder)?.st_uid)
}

#[cfg(test)]
#[allow(clippy::disallowed_methods, reason = "the test's own files")]
mod tests {
    use std::{
        fs,
        io::Read,
        os::unix::fs::{MetadataExt, PermissionsExt, symlink},
        path::Path,
    };

    use rustix::process::geteuid;

    use super::*;

    const SCRIPTS: Scripts<'_> = Scripts { start: "start", look: "look" };

    fn opened(path: &Path) -> OwnedFd {
        let flags = OFlags::PATH | OFlags::DIRECTORY;
        rustix::fs::open(path, flags, Mode::empty()).expect("a folder")
    }

    fn with_tmp() -> tempfile::TempDir {
        let root = tempfile::tempdir().expect("a folder");
        fs::create_dir(root.path().join("tmp")).expect("a folder");
        root
    }

    fn make(root: &Path) -> Result<Folder> {
        Folder::make(&opened(root), geteuid().as_raw(), "visit", &SCRIPTS)
    }

    #[test]
    fn it_is_private_and_removed() {
        let root = with_tmp();
        let path = root.path().join("tmp/visit");
        let mut folder = make(root.path()).expect("it is made");
        assert_eq!(fs::metadata(&path).expect("it is there").mode() & 0o777, 0o700);
        assert_eq!(fs::read(path.join("start.py")).expect("it is there"), b"start");
        fs::create_dir(path.join("begun")).expect("a folder");
        fs::write(path.join("answer.json"), "{}").expect("it is written");
        assert_eq!(folder.find("begun"), Entry::Folder);
        let mut answer = folder.open("answer.json", 2).expect("it is a file");
        let mut text = String::new();
        answer.file.read_to_string(&mut text).expect("it is read");
        assert_eq!((text.as_str(), answer.bytes), ("{}", 2));
        folder.remove().expect("nothing else is in it");
        assert!(!path.exists());
    }

    #[test]
    fn only_expected_names_are_removed() {
        let root = with_tmp();
        let path = root.path().join("tmp/visit");
        let mut folder = make(root.path()).expect("it is made");
        fs::write(path.join("other"), "precious").expect("it is written");
        assert!(folder.remove().is_err(), "it is not empty");
        assert_eq!(fs::read(path.join("other")).expect("it is there"), b"precious");
        // Another folder in its place is left alone.
        fs::rename(&path, root.path().join("moved")).expect("it is moved");
        fs::create_dir(&path).expect("a folder");
        fs::write(path.join("start.py"), "precious").expect("it is written");
        assert!(folder.remove().is_err());
        assert_eq!(fs::read(path.join("start.py")).expect("it is there"), b"precious");
    }

    #[test]
    fn a_file_that_is_none_is_refused() {
        let root = with_tmp();
        let path = root.path().join("tmp/visit");
        let mut folder = make(root.path()).expect("it is made");
        symlink("/etc/passwd", path.join("answer.json")).expect("a link");
        fs::write(path.join("keepers.json"), "long").expect("it is written");
        File::create(path.join("snapshot.pickle"))
            .and_then(|file| file.set_len(1 << 30))
            .expect("a hole");
        for (name, most) in [("answer.json", 10), ("keepers.json", 3), ("snapshot.pickle", 1 << 32)]
        {
            assert!(folder.open(name, most).is_err(), "{name}");
        }
        assert!(folder.open("pipe", 10).is_err() && folder.open("../../x", 10).is_err());
        folder.remove().expect("all of these are removed");
    }

    #[test]
    fn a_link_leads_no_further_than_the_root() {
        let (root, victim) = (tempfile::tempdir().expect("a folder"), with_tmp());
        symlink(victim.path(), root.path().join("tmp")).expect("a link");
        assert!(make(root.path()).is_err(), "there is no such folder in the root");
        fs::remove_file(root.path().join("tmp")).expect("it is removed");
        fs::create_dir(root.path().join("inner")).expect("a folder");
        symlink("/inner", root.path().join("tmp")).expect("a link");
        make(root.path()).expect("it is made").remove().expect("it is removed");
        assert_eq!(fs::read_dir(victim.path().join("tmp")).expect("it is there").count(), 0);
    }

    #[test]
    fn others_must_not_replace_files() {
        let root = with_tmp();
        let temporary = root.path().join("tmp");
        fs::set_permissions(&temporary, fs::Permissions::from_mode(0o777)).expect("ours");
        let error = make(root.path()).err().expect("it is not sticky");
        assert!(error.to_string().contains("sticky"), "{error}");
        fs::set_permissions(&temporary, fs::Permissions::from_mode(0o1777)).expect("ours");
        make(root.path()).expect("it is made").remove().expect("it is removed");
        if geteuid().is_root() {
            // As a third user's: not the process's, nor that of the root folder.
            std::os::unix::fs::chown(&temporary, Some(61_002), None).expect("we are root");
            let error = make(root.path()).err().expect("it is another's");
            assert!(error.to_string().contains("third user"), "{error}");
        }
    }
}
