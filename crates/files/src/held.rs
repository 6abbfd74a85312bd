//! A folder of this user's own that is held open, so that its contents can be removed even if another user puts
//! something else in its place.

use std::{
    ffi::{OsStr, OsString},
    fs::File,
    io,
    os::{
        fd::{AsRawFd as _, OwnedFd},
        unix::{ffi::OsStrExt as _, fs::MetadataExt as _},
    },
    path::{Path, PathBuf},
};

use rustix::fs::{AtFlags, CWD, Dir, FileType, Mode, OFlags, openat, statat, unlinkat};

use crate::private::refused;

/// A folder that is held open. Names given to its functions are those of its entries, not paths. No link is followed,
/// which holds on kernels without `openat2` too, because each folder is opened from the one that holds it.
#[derive(Debug)]
pub struct HeldFolder(File);

impl HeldFolder {
    /// Opens a folder of this user's. The last part of its path may be no link.
    ///
    /// # Errors
    /// Returns an error if it cannot be opened, is no folder, or belongs to another user.
    pub fn open(path: &Path) -> io::Result<Self> {
        let held = open_folder(CWD, path.as_os_str())?;
        if held.0.metadata()?.uid() != rustix::process::geteuid().as_raw() {
            return Err(refused(format!("{} belongs to another user", path.display())));
        }
        Ok(held)
    }

    /// Returns a path that leads to this folder, as long as it is held. It does not exist without `/proc`.
    #[must_use]
    pub fn path(&self) -> PathBuf {
        PathBuf::from(format!("/proc/self/fd/{}", self.0.as_raw_fd()))
    }

    /// Opens a folder in this one.
    ///
    /// # Errors
    /// Returns an error if it cannot be opened, or is no folder.
    pub fn folder(&self, name: impl AsRef<OsStr>) -> io::Result<Self> {
        open_folder(&self.0, name.as_ref())
    }

    /// Removes anything but a folder. A link is removed itself.
    ///
    /// # Errors
    /// Returns an error if it cannot be removed.
    pub fn remove_file(&self, name: impl AsRef<OsStr>) -> io::Result<()> {
        Ok(unlinkat(&self.0, name.as_ref(), AtFlags::empty())?)
    }

    /// Removes a folder that is empty.
    ///
    /// # Errors
    /// Returns an error if it cannot be removed.
    pub fn remove_folder(&self, name: impl AsRef<OsStr>) -> io::Result<()> {
        Ok(unlinkat(&self.0, name.as_ref(), AtFlags::REMOVEDIR)?)
    }

    /// Removes all that is in the folder. The folder itself stays.
    ///
    /// # Errors
    /// Returns the first error. What comes after it stays.
    pub fn remove_contents(&self) -> io::Result<()> {
        for name in self.names()? {
            let found = statat(&self.0, &name, AtFlags::SYMLINK_NOFOLLOW)?;
            if FileType::from_raw_mode(found.st_mode) == FileType::Directory {
                self.folder(&name)?.remove_contents()?;
                self.remove_folder(&name)?;
            } else {
                self.remove_file(&name)?;
            }
        }
        Ok(())
    }

    fn names(&self) -> io::Result<Vec<OsString>> {
        let mut names = Vec::new();
        for entry in Dir::read_from(&self.0)? {
            let name = OsStr::from_bytes(entry?.file_name().to_bytes()).to_owned();
            if name != "." && name != ".." {
                names.push(name);
            }
        }
        Ok(names)
    }
}

fn open_folder(place: impl std::os::fd::AsFd, name: &OsStr) -> io::Result<HeldFolder> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let folder: OwnedFd = openat(place, name, flags, Mode::empty())?;
    Ok(HeldFolder(File::from(folder)))
}

#[cfg(test)]
mod tests {
    use std::{fs, os::unix::fs::symlink};

    use super::*;

    #[test]
    fn contents_are_removed_and_no_link_is_followed() {
        let outer = tempfile::tempdir().unwrap();
        let [folder, other] = ["folder", "other"].map(|name| outer.path().join(name));
        fs::create_dir_all(folder.join("a/b")).unwrap();
        fs::create_dir(&other).unwrap();
        for file in [folder.join("a/file"), folder.join("file"), other.join("precious")] {
            fs::write(file, "").unwrap();
        }
        symlink(&other, folder.join("a/link")).unwrap();
        HeldFolder::open(&folder).unwrap().remove_contents().unwrap();
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 0);
        assert!(other.join("precious").exists());
    }

    #[test]
    fn what_takes_the_place_of_the_folder_stays() {
        let outer = tempfile::tempdir().unwrap();
        let [folder, moved, other] =
            ["folder", "moved", "other"].map(|name| outer.path().join(name));
        for made in [&folder, &other] {
            fs::create_dir(made).unwrap();
            fs::write(made.join("file"), "").unwrap();
        }
        let held = HeldFolder::open(&folder).unwrap();
        fs::rename(&folder, &moved).unwrap();
        symlink(&other, &folder).unwrap();
        assert!(HeldFolder::open(&folder).is_err(), "a link is refused");
        held.remove_contents().unwrap();
        assert!(other.join("file").exists() && !moved.join("file").exists());
    }
}
