//! The files of a process, from the root folder that it has.
//!
//! The process's user decides what a path leads to: links, mounts and the root itself are that user's. A path is
//! therefore never given to the kernel as `/proc/PID/root/…`, where an absolute link would lead into our own root.

use std::{
    fs::File,
    io,
    os::fd::{AsFd, AsRawFd, OwnedFd},
    path::{Component, Path},
};

use rustix::fs::{Mode, OFlags, open, openat};
use whyoom_files::untrusted;

/// The root folder of a process, held open: it stays the same folder when the process ends or changes its root.
#[derive(Debug)]
pub struct ProcessRoot(OwnedFd);

impl ProcessRoot {
    /// Opens the root folder of a process.
    ///
    /// # Errors
    /// Returns an error if the process has ended, or the kernel does not permit it.
    pub fn open(pid: u32) -> io::Result<Self> {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        Ok(Self(open(format!("/proc/{pid}/root"), flags, Mode::empty())?))
    }

    /// Returns the open folder.
    #[must_use]
    pub fn folder(&self) -> &OwnedFd {
        &self.0
    }

    /// Opens a regular file for reading, by its path in the process. No part of the path may be a link.
    ///
    /// # Errors
    /// Returns an error if there is no such file, or a part of its path is a link.
    pub(crate) fn file(&self, path: &Path) -> io::Result<File> {
        let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let mut at = openat(&self.0, ".", flags, Mode::empty())?;
        for part in path.components() {
            match part {
                Component::RootDir => {}
                // A link is opened itself here, and no folder: the next step fails.
                Component::Normal(name) => at = openat(at.as_fd(), name, flags, Mode::empty())?,
                _ => return Err(io::ErrorKind::InvalidInput.into()),
            }
        }
        // Opened again for reading: what it is, is looked at first, because to open a device may do something by itself.
        let found = File::from(at);
        if !found.metadata()?.is_file() {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        untrusted::open(Path::new(&format!("/proc/self/fd/{}", found.as_raw_fd())))
    }
}

#[cfg(test)]
mod tests {
    use std::{fs, io::Read, os::unix::fs::symlink};

    use super::*;

    #[test]
    fn a_file_is_found_and_no_link_is_followed() {
        let folder = tempfile::tempdir().expect("a folder");
        // Its own path may lead over links.
        let folder = folder.path().canonicalize().expect("it is there");
        fs::create_dir(folder.join("inner")).expect("a folder");
        fs::write(folder.join("inner/file"), "text").expect("it is written");
        symlink("inner", folder.join("link")).expect("a link");
        symlink("file", folder.join("inner/link")).expect("a link");
        let root = ProcessRoot::open(std::process::id()).expect("our own");
        let mut text = String::new();
        let mut file = root.file(&folder.join("inner/file")).expect("it is there");
        file.read_to_string(&mut text).expect("it is read");
        assert_eq!(text, "text");
        for name in ["link/file", "inner/link", "inner", "absent", "inner/../inner/file"] {
            assert!(root.file(&folder.join(name)).is_err(), "{name}");
        }
    }
}
