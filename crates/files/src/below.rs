//! Files below a folder that other people write to, too.
//!
//! Paths are resolved from the open folder, without links. If someone swaps a folder for a link, the call fails. Needs
//! Linux 5.6.

use std::{
    ffi::{OsStr, OsString},
    fs::File,
    io::{self, Write as _},
    os::unix::ffi::OsStrExt as _,
    path::{Component, Path},
};

use rustix::{
    fs::{
        AtFlags, Dir, FileType, Mode, OFlags, fsync, linkat, mkdirat, openat, renameat, statat,
        unlinkat,
    },
    io::Errno,
};

use crate::{private::refused, untrusted};

/// Attempts to find an unused name for a file that is being written. Chosen, not measured: each attempt that fails
/// stands for a writer that was killed or is at work now.
const MAX_TEMPORARY_NAMES: u32 = 10_000;

/// The permissions of new files and folders.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// As the umask of the process has them.
    Umask,
    /// For the owner alone: files of mode 0600, folders of mode 0700.
    Private,
}

impl Access {
    fn file_mode(self) -> Mode {
        match self {
            Self::Umask => Mode::from_raw_mode(0o666),
            Self::Private => Mode::from_raw_mode(0o600),
        }
    }

    fn folder_mode(self) -> Mode {
        match self {
            Self::Umask => Mode::from_raw_mode(0o777),
            Self::Private => Mode::from_raw_mode(0o700),
        }
    }
}

/// The kind of an entry of a folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EntryKind {
    /// A regular file.
    File {
        /// Its length.
        bytes: u64,
    },
    /// A folder.
    Folder,
    /// A link, a FIFO, a socket or a device.
    Other,
}

/// An entry of a folder.
#[derive(Clone, Debug)]
pub struct Entry {
    /// Its name.
    pub name: OsString,
    /// Its kind when the folder was listed.
    pub kind: EntryKind,
}

/// A folder that is held open. Paths given to its functions are relative to it.
#[derive(Debug)]
pub struct OpenFolder {
    folder: File,
    access: Access,
}

impl OpenFolder {
    /// Opens a folder that a person named: on the way to it, links are followed. New files and folders below it have
    /// the given permissions.
    ///
    /// # Errors
    /// Returns an error if the path is no folder or cannot be opened.
    #[allow(clippy::disallowed_methods, reason = "the folder that a person named")]
    pub fn open(path: &Path, access: Access) -> io::Result<Self> {
        let folder = File::open(path)?;
        if !folder.metadata()?.is_dir() {
            return Err(io::ErrorKind::NotADirectory.into());
        }
        Ok(Self { folder, access })
    }

    /// Opens a regular file. It never waits.
    ///
    /// # Errors
    /// Returns an error if a part of the path is a link, or the file is not a regular one.
    pub fn open_file(&self, path: &Path) -> io::Result<File> {
        untrusted::open_below(&self.folder, path).map_err(without_link_number)
    }

    /// Returns the entries of a folder, in no order.
    ///
    /// # Errors
    /// Returns an error if the path is no folder, or a part of it is a link.
    pub fn entries(&self, path: &Path) -> io::Result<Vec<Entry>> {
        let folder = self.open_folder(path)?;
        let mut entries = Vec::new();
        for entry in Dir::read_from(&folder)? {
            let name = OsStr::from_bytes(entry?.file_name().to_bytes()).to_owned();
            if name == "." || name == ".." {
                continue;
            }
            match kind_of(&folder, &name) {
                Ok(kind) => entries.push(Entry { name, kind }),
                // It was removed meanwhile.
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(error),
            }
        }
        Ok(entries)
    }

    /// Writes a new file as a whole. When this returns, the file survives a loss of power. Folders on the way are
    /// made.
    ///
    /// # Errors
    /// Returns `AlreadyExists` if anything has this name, also a link. The entry stays as it was.
    pub fn create(&self, path: &Path, bytes: &[u8]) -> io::Result<()> {
        self.publish(path, bytes, Publish::New)
    }

    /// Writes a file as a whole, in place of one that may be there: a link is replaced and not followed. When this
    /// returns, the file survives a loss of power. Folders on the way are made.
    ///
    /// # Errors
    /// Returns an error if the file cannot be written. The old one stays then.
    pub fn replace(&self, path: &Path, bytes: &[u8]) -> io::Result<()> {
        self.publish(path, bytes, Publish::Replace)
    }

    /// Removes a regular file. A link that takes its place meanwhile is removed itself and not followed.
    ///
    /// # Errors
    /// Returns an error if a part of the path is a link, or the entry is not a regular file.
    pub fn remove(&self, path: &Path) -> io::Result<()> {
        let split = SplitPath::of(path)?;
        let folder = self.open_folder(split.folder)?;
        match kind_of(&folder, split.name)? {
            EntryKind::File { .. } => {}
            EntryKind::Folder | EntryKind::Other => return Err(untrusted::not_regular()),
        }
        Ok(unlinkat(&folder, split.name, AtFlags::empty())?)
    }

    fn publish(&self, path: &Path, bytes: &[u8], publish: Publish) -> io::Result<()> {
        let split = SplitPath::of(path)?;
        let folder = self.open_or_create_folder(split.folder)?;
        let mut temporary = TemporaryFile::create(&folder, split.name, self.access)?;
        let published = temporary.write(bytes).and_then(|()| match publish {
            Publish::New => {
                linkat(&folder, &temporary.name, &folder, split.name, AtFlags::empty())?;
                Ok(())
            }
            Publish::Replace => {
                renameat(&folder, &temporary.name, &folder, split.name)?;
                Ok(())
            }
        });
        if published.is_err() || publish == Publish::New {
            // A left-over temporary file is no object; the next writer uses another number.
            let _ = unlinkat(&folder, &temporary.name, AtFlags::empty());
        }
        published?;
        sync(&folder)
    }

    /// Opens a folder below this one. The empty path is this folder.
    fn open_folder(&self, path: &Path) -> io::Result<File> {
        let path = if path.as_os_str().is_empty() { Path::new(".") } else { path };
        untrusted::open_folder_below(&self.folder, path).map_err(without_link_number)
    }

    /// Opens a folder, and creates it and those on the way if they are missing.
    fn open_or_create_folder(&self, path: &Path) -> io::Result<File> {
        let mut folder = self.open_folder(Path::new(""))?;
        for part in path.components() {
            let Component::Normal(name) = part else { return Err(leaves_the_folder()) };
            match mkdirat(&folder, name, self.access.folder_mode()) {
                Ok(()) | Err(Errno::EXIST) => {}
                Err(error) => return Err(error.into()),
            }
            let next = untrusted::open_folder_below(&folder, Path::new(name))
                .map_err(without_link_number)?;
            // Also if it exists: another program may have made it and not have synced it yet.
            sync(&folder)?;
            folder = next;
        }
        Ok(folder)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Publish {
    New,
    Replace,
}

/// A path, split into the folder and the name in it.
struct SplitPath<'a> {
    folder: &'a Path,
    name: &'a OsStr,
}

impl<'a> SplitPath<'a> {
    fn of(path: &'a Path) -> io::Result<Self> {
        let Some(Component::Normal(name)) = path.components().next_back() else {
            return Err(leaves_the_folder());
        };
        let folder = path.parent().unwrap_or(Path::new(""));
        Ok(Self { folder, name })
    }
}

/// A file under a temporary name.
struct TemporaryFile {
    file: File,
    name: OsString,
}

impl TemporaryFile {
    fn create(folder: &File, name: &OsStr, access: Access) -> io::Result<Self> {
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW;
        for number in 1..=MAX_TEMPORARY_NAMES {
            let mut temporary = name.to_owned();
            // As LocalFileSystem of the crate object_store calls it, which earlier versions of whyoom-fleet used.
            temporary.push(format!("#{number}"));
            match openat(folder, &temporary, flags | OFlags::CLOEXEC, access.file_mode()) {
                Ok(file) => return Ok(Self { file: File::from(file), name: temporary }),
                Err(Errno::EXIST) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Err(io::Error::new(
            io::ErrorKind::AlreadyExists,
            format!(
                "{MAX_TEMPORARY_NAMES} files {}#NUMBER are left over in its folder: remove them",
                name.display()
            ),
        ))
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.file.write_all(bytes)?;
        self.file.sync_all()
    }
}

/// Writes a folder's entries to the disk.
fn sync(folder: &File) -> io::Result<()> {
    #[cfg(test)]
    tests::note_sync(folder);
    Ok(fsync(folder)?)
}

fn kind_of(folder: &File, name: &OsStr) -> io::Result<EntryKind> {
    let found = statat(folder, name, AtFlags::SYMLINK_NOFOLLOW)?;
    Ok(match FileType::from_raw_mode(found.st_mode) {
        FileType::RegularFile => {
            EntryKind::File { bytes: u64::try_from(found.st_size).unwrap_or_default() }
        }
        FileType::Directory => EntryKind::Folder,
        _ => EntryKind::Other,
    })
}

fn leaves_the_folder() -> io::Error {
    refused("the path leads out of the folder".to_owned())
}

/// Returns true if a path was refused because a part of it is a link, or because it leads out of the folder.
#[must_use]
pub fn is_refused(error: &io::Error) -> bool {
    // The system's own EACCES has a number.
    error.kind() == io::ErrorKind::PermissionDenied && error.raw_os_error().is_none()
}

/// Explains ELOOP and EXDEV.
fn without_link_number(error: io::Error) -> io::Error {
    match error.raw_os_error().map(Errno::from_raw_os_error) {
        Some(Errno::LOOP) => {
            refused("a part of the path is a link, which is not followed".to_owned())
        }
        Some(Errno::XDEV) => leaves_the_folder(),
        _ => error,
    }
}

#[cfg(test)]
mod tests {
    use std::{
        cell::RefCell,
        fs,
        os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink},
        sync::atomic::{AtomicBool, Ordering},
        thread,
    };

    use super::*;

    thread_local! {
        /// Inodes of the folders that were synced by this thread.
        static SYNCED: RefCell<Vec<u64>> = const { RefCell::new(Vec::new()) };
    }

    pub(super) fn note_sync(folder: &File) {
        let inode = folder.metadata().unwrap().ino();
        SYNCED.with_borrow_mut(|synced| synced.push(inode));
    }

    struct Scene {
        outer: tempfile::TempDir,
        root: OpenFolder,
    }

    /// A folder `in` that is opened, beside a folder `out` with the file `secret`.
    fn scene(access: Access) -> Scene {
        let outer = tempfile::tempdir().unwrap();
        for name in ["in", "out"] {
            fs::create_dir(outer.path().join(name)).unwrap();
        }
        fs::write(outer.path().join("out/secret"), "secret").unwrap();
        let root = OpenFolder::open(&outer.path().join("in"), access).unwrap();
        Scene { outer, root }
    }

    /// Returns the umask of this process.
    fn umask() -> u32 {
        let status = fs::read_to_string("/proc/self/status").unwrap();
        let octal = status.lines().find_map(|line| line.strip_prefix("Umask:")).unwrap();
        u32::from_str_radix(octal.trim(), 8).unwrap()
    }

    fn read(root: &OpenFolder, path: &str) -> io::Result<Vec<u8>> {
        untrusted::whole(&root.open_file(Path::new(path))?, 100)
    }

    #[test]
    fn create_and_replace_write_whole_files_with_the_permissions_of_the_root() {
        for (access, file_mode, folder_mode) in
            [(Access::Private, 0o600, 0o700), (Access::Umask, 0o666, 0o777)]
        {
            let scene = scene(access);
            let path = Path::new("a/b/file");
            scene.root.create(path, b"one").unwrap();
            let again = scene.root.create(path, b"two").unwrap_err();
            assert_eq!(again.kind(), io::ErrorKind::AlreadyExists);
            assert_eq!(read(&scene.root, "a/b/file").unwrap(), b"one");
            scene.root.replace(path, b"three").unwrap();
            assert_eq!(read(&scene.root, "a/b/file").unwrap(), b"three");
            assert_eq!(scene.root.entries(Path::new("a/b")).unwrap().len(), 1, "nothing is left");
            let mode = |name: &str| {
                let found = fs::metadata(scene.outer.path().join("in").join(name)).unwrap();
                found.permissions().mode() & 0o777
            };
            assert_eq!(mode("a/b/file"), file_mode & !umask());
            assert_eq!(mode("a/b"), folder_mode & !umask());
            scene.root.remove(path).unwrap();
            let gone = scene.root.remove(path).unwrap_err();
            assert_eq!(gone.kind(), io::ErrorKind::NotFound);
        }
    }

    /// Another program may have made the folders a moment ago and not have synced them yet.
    #[test]
    fn folders_that_exist_already_are_synced_too() {
        let scene = scene(Access::Umask);
        let inner = scene.outer.path().join("in");
        fs::create_dir_all(inner.join("a/b")).unwrap();
        scene.root.create(Path::new("a/b/file"), b"one").unwrap();
        let synced = SYNCED.take();
        for folder in ["", "a", "a/b"] {
            let inode = fs::metadata(inner.join(folder)).unwrap().ino();
            assert!(synced.contains(&inode), "the folder {folder:?} was not synced");
        }
    }

    #[test]
    fn no_link_is_followed_and_nothing_outside_is_touched() {
        let scene = scene(Access::Umask);
        let inner = scene.outer.path().join("in");
        symlink("../out", inner.join("folder")).unwrap();
        symlink("../out/secret", inner.join("file")).unwrap();
        for path in ["folder/secret", "file", "../out/secret", "/etc/passwd", ".."] {
            assert!(read(&scene.root, path).is_err(), "{path}");
            assert!(scene.root.create(Path::new(path), b"x").is_err(), "{path}");
            assert!(scene.root.remove(Path::new(path)).is_err(), "{path}");
        }
        for path in ["folder", "..", "../out", "/"] {
            assert!(scene.root.entries(Path::new(path)).is_err(), "{path}");
        }
        assert!(scene.root.replace(Path::new("folder/new"), b"x").is_err());
        scene.root.replace(Path::new("file"), b"ours").unwrap();
        let out = scene.outer.path().join("out");
        assert_eq!(fs::read(out.join("secret")).unwrap(), b"secret");
        assert_eq!(fs::read_dir(out).unwrap().count(), 1);
        let entries = scene.root.entries(Path::new("")).unwrap();
        let folder = entries.iter().find(|entry| entry.name == "folder").unwrap();
        assert_eq!(folder.kind, EntryKind::Other, "a link is no folder");
    }

    /// Somebody swaps a folder for a link to the folder outside, all the time.
    #[test]
    fn a_folder_that_is_swapped_for_a_link_leads_nowhere() {
        let scene = scene(Access::Umask);
        let inner = scene.outer.path().join("in");
        let out = scene.outer.path().join("out");
        fs::create_dir(inner.join("day")).unwrap();
        symlink("../out", inner.join("link")).unwrap();
        let is_over = AtomicBool::new(false);
        thread::scope(|scope| {
            scope.spawn(|| {
                while !is_over.load(Ordering::Relaxed) {
                    let _ = rustix::fs::renameat_with(
                        rustix::fs::CWD,
                        inner.join("day"),
                        rustix::fs::CWD,
                        inner.join("link"),
                        rustix::fs::RenameFlags::EXCHANGE,
                    );
                }
            });
            for _ in 0..2000 {
                assert!(read(&scene.root, "day/secret").is_err());
                let _ = scene.root.remove(Path::new("day/secret"));
                let _ = scene.root.replace(Path::new("day/new"), b"x");
            }
            is_over.store(true, Ordering::Relaxed);
        });
        assert_eq!(fs::read(out.join("secret")).unwrap(), b"secret");
        assert_eq!(fs::read_dir(out).unwrap().count(), 1, "nothing was written outside");
    }
}
