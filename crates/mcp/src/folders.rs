//! Files below the folders that the person gave, and no others.

use std::{
    fs::{self, File},
    io,
    os::fd::AsRawFd,
    path::{Component, Path, PathBuf},
};

use whyoom_files::untrusted::{open_below, open_folder_below};

use crate::refusal::Refusal;

/// The folders, as they were at start.
#[derive(Debug)]
pub(crate) struct Folders(Vec<Folder>);

#[derive(Debug)]
struct Folder {
    /// Without links.
    path: PathBuf,
    handle: File,
}

/// An open file or folder: whatever takes the place of its name later is not read.
#[derive(Debug)]
pub(crate) struct Opened {
    given: String,
    handle: File,
}

impl Opened {
    /// A name under which a process of ours finds it.
    pub(crate) fn name(&self) -> String {
        format!("/proc/{}/fd/{}", std::process::id(), self.handle.as_raw_fd())
    }

    /// The name that the client knows.
    pub(crate) fn given(&self) -> &str {
        &self.given
    }
}

impl Folders {
    /// # Errors
    /// Where one of them is no folder.
    pub(crate) fn new(folders: &[PathBuf]) -> io::Result<Self> {
        let open = |folder: &PathBuf| {
            let path = fs::canonicalize(folder)?;
            let root = whyoom_files::named::open(Path::new("/"))?;
            let below = path.strip_prefix("/").unwrap_or(&path);
            let below = if below.as_os_str().is_empty() { Path::new(".") } else { below };
            Ok(Folder { handle: open_folder_below(&root, below)?, path })
        };
        let named = |folder: &PathBuf| {
            open(folder).map_err(|error: io::Error| {
                io::Error::new(error.kind(), format!("{}: {error}", folder.display()))
            })
        };
        Ok(Self(folders.iter().map(named).collect::<io::Result<_>>()?))
    }

    /// Where relative paths begin, and programs run.
    pub(crate) fn first(&self) -> Option<&Path> {
        self.0.first().map(|folder| folder.path.as_path())
    }

    /// Opens a regular file or a folder. Links are followed once, here; what they lead to must lie in a folder, and
    /// is then opened from that folder without following any.
    pub(crate) fn open(&self, given: &Path) -> Result<Opened, Refusal> {
        let path = self.first().unwrap_or(Path::new("/")).join(given);
        let shown = given.to_string_lossy().into_owned();
        let Ok(found) = fs::canonicalize(&path) else {
            // Whether something exists elsewhere is nobody's business.
            return Err(if self.spells_one_within(&path) {
                Refusal::new(format!("{shown} does not exist, or may not be read; check the path"))
            } else {
                self.outside(&shown)
            });
        };
        let within = |folder: &&Folder| found.starts_with(&folder.path);
        let folder = self.0.iter().find(within).ok_or_else(|| self.outside(&shown))?;
        let below = found.strip_prefix(&folder.path).unwrap_or(&found);
        let handle = open_either(&folder.handle, below).map_err(|error| cannot(&shown, &error))?;
        Ok(Opened { given: shown, handle })
    }

    fn spells_one_within(&self, path: &Path) -> bool {
        let goes_up = path.components().any(|part| part == Component::ParentDir);
        !goes_up && self.0.iter().any(|folder| path.starts_with(&folder.path))
    }

    fn outside(&self, shown: &str) -> Refusal {
        let all: Vec<_> = self.0.iter().map(|folder| folder.path.display().to_string()).collect();
        Refusal::new(format!(
            "{shown} is not in a folder that this server may read: {}. Name a file there, or ask the person to add \
             --folder FOLDER to the arguments of whyoom mcp.",
            all.join(", ")
        ))
    }
}

fn open_either(folder: &File, below: &Path) -> io::Result<File> {
    if below.as_os_str().is_empty() {
        return open_folder_below(folder, Path::new("."));
    }
    match open_folder_below(folder, below) {
        Err(error) if error.kind() == io::ErrorKind::NotADirectory => open_below(folder, below),
        opened => opened,
    }
}

fn cannot(shown: &str, error: &io::Error) -> Refusal {
    Refusal::new(format!(
        "{shown} cannot be read ({error}): name a log, a PyTorch snapshot or the folder of a recording"
    ))
}

#[cfg(test)]
mod tests {
    use std::{
        ffi::OsStr,
        io::Read,
        os::unix::{ffi::OsStrExt, fs::symlink},
    };

    use rustix::fs::{CWD, FileType, Mode, mknodat};

    use super::*;

    struct Place {
        folder: tempfile::TempDir,
        folders: Folders,
    }

    /// A folder `open` that may be read, with a file, and one beside it that may not.
    fn place() -> Place {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::create_dir_all(at("open/deep")).unwrap();
        fs::create_dir_all(at("openly")).unwrap();
        fs::write(at("open/deep/a b.log"), "allowed").unwrap();
        fs::write(at("secret"), "secret").unwrap();
        let folders = Folders::new(&[at("open")]).unwrap();
        Place { folder, folders }
    }

    impl Place {
        fn at(&self, name: &str) -> PathBuf {
            self.folder.path().join(name)
        }

        fn read(&self, path: impl AsRef<Path>) -> Result<String, String> {
            let opened = self.folders.open(path.as_ref()).map_err(|refusal| refusal.to_string())?;
            let mut text = String::new();
            File::open(opened.name()).unwrap().read_to_string(&mut text).unwrap();
            Ok(text)
        }
    }

    #[test]
    fn what_lies_within_is_read_however_it_is_named() {
        let place = place();
        symlink("deep/a b.log", place.at("open/link")).unwrap();
        symlink(place.at("open/deep"), place.at("open/whole")).unwrap();
        let strange = place.at("open").join(OsStr::from_bytes(b"\xff.log"));
        fs::write(&strange, "strange").unwrap();
        for name in ["deep/a b.log", "link", "whole/a b.log", "deep/../deep/a b.log"] {
            assert_eq!(place.read(name).unwrap(), "allowed", "{name}");
        }
        assert_eq!(place.read(place.at("open/deep/a b.log")).unwrap(), "allowed");
        assert_eq!(place.read(&strange).unwrap(), "strange");
        assert!(place.folders.open(Path::new("deep")).is_ok(), "a recording is a folder");
        assert!(place.folders.open(Path::new("")).is_ok());
    }

    #[test]
    fn nothing_outside_is_read_nor_told_of() {
        let place = place();
        symlink("../secret", place.at("open/out")).unwrap();
        symlink("/proc/self/environ", place.at("open/environ")).unwrap();
        symlink("..", place.at("open/up")).unwrap();
        let beside = place.at("openly").display().to_string();
        for name in [
            "../secret",
            "out",
            "environ",
            "up/secret",
            "/etc/passwd",
            "/proc/self/environ",
            "/",
            &beside,
        ] {
            let told = place.read(name).unwrap_err();
            assert!(told.contains("--folder"), "{name}: {told}");
        }
        let absent = place.read("/etc/absent-file").unwrap_err();
        assert_eq!(absent.replace("absent-file", "passwd"), place.read("/etc/passwd").unwrap_err());
        assert!(place.read("../absent").unwrap_err().contains("--folder"));
        assert!(place.read("absent").unwrap_err().contains("does not exist"));
    }

    #[test]
    fn only_files_and_folders_are_opened() {
        let place = place();
        mknodat(CWD, place.at("open/fifo"), FileType::Fifo, Mode::from_raw_mode(0o600), 0).unwrap();
        let _socket = std::os::unix::net::UnixListener::bind(place.at("open/socket")).unwrap();
        for name in ["fifo", "socket"] {
            assert!(place.read(name).unwrap_err().contains("cannot be read"), "{name}");
        }
    }

    #[test]
    fn what_takes_the_place_of_an_open_file_is_not_read() {
        let place = place();
        let opened = place.folders.open(Path::new("deep/a b.log")).unwrap();
        fs::remove_file(place.at("open/deep/a b.log")).unwrap();
        symlink(place.at("secret"), place.at("open/deep/a b.log")).unwrap();
        assert_eq!(fs::read_to_string(opened.name()).unwrap(), "allowed");
        // A folder that becomes a link between the check and the opening.
        fs::rename(place.at("open/deep"), place.at("elsewhere")).unwrap();
        symlink(place.at("elsewhere"), place.at("open/deep")).unwrap();
        let within = &place.folders.0[0].handle;
        assert!(open_either(within, Path::new("deep/a b.log")).is_err());
    }
}
