//! Where the Python of a process is.

use std::{ffi::OsStr, fs::File, os::unix::fs::MetadataExt, path::Path};

use whyoom_files::untrusted;

use crate::{
    elf::Image,
    error::AttachError,
    maps::{self, MappedFile},
    memory::Memory,
    root::ProcessRoot,
    target::Target,
};

/// An interpreter's file is not longer.
const LONGEST: u64 = 512 << 20;
/// Most bytes of files that are looked into, together. One interpreter's file has some 50 MB; chosen, not measured. Several
/// names may lead to one long file.
const MAX_TOTAL_BYTES: u64 = 1 << 30;
/// Most files that are looked into. A program with PyTorch has a few whose names have "python"; chosen, not measured.
const MAX_FILES: usize = 64;

const ADD_PENDING_CALL: &str = "Py_AddPendingCall";
const RUN_STRING: &str = "PyRun_SimpleString";
const ENSURE: &str = "PyGILState_Ensure";
const RELEASE: &str = "PyGILState_Release";
const CHECK: &str = "PyGILState_Check";
const IS_INITIALIZED: &str = "Py_IsInitialized";
const RUNTIME: &str = "_PyRuntime";
const VERSION: &str = "Py_Version";
const WANTED: &[&str] =
    &[ADD_PENDING_CALL, RUN_STRING, ENSURE, RELEASE, CHECK, IS_INITIALIZED, RUNTIME, VERSION];

/// A version of Python: 3.11 is `Version(3, 11)`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Version(pub u8, pub u8);

/// The interpreter of a process, by addresses there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Interpreter {
    /// Its version; before 3.11 only a file's name tells it.
    pub version: Option<Version>,
    /// The runtime's state.
    pub runtime: Option<u64>,
    pub(crate) calls: Calls,
    /// Behind its last variable, up to the end of its page.
    pub(crate) unused: Option<(u64, u64)>,
    place: Place,
}

/// The file of an interpreter, and where the process has it mapped.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Place {
    start: u64,
    device: String,
    inode: u64,
}

/// The functions that are called.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Calls {
    pub(crate) add_pending_call: u64,
    pub(crate) run_string: u64,
    pub(crate) ensure: u64,
    pub(crate) release: u64,
    pub(crate) check: u64,
    pub(crate) is_initialized: u64,
}

impl Interpreter {
    /// Finds that of a process.
    ///
    /// # Errors
    /// Where it has none, or its file was replaced.
    pub fn find(target: &Target) -> Result<Self, AttachError> {
        let text = target.maps()?;
        let program = std::fs::read_link(format!("/proc/{}/exe", target.pid())).ok();
        let is_candidate = |file: &&MappedFile<'_>| {
            let name = Path::new(file.path).file_name().and_then(OsStr::to_str).unwrap_or_default();
            name.contains("python") || program.as_deref() == Some(Path::new(file.path))
        };
        let root = target.root()?;
        let mut left_bytes = MAX_TOTAL_BYTES;
        for file in maps::files(&text).iter().filter(is_candidate).take(MAX_FILES) {
            if let Some(found) = Self::in_file(target, &root, file, &mut left_bytes)? {
                return Ok(found);
            }
        }
        Err(AttachError::NotPython(target.pid()))
    }

    fn in_file(
        target: &Target,
        root: &ProcessRoot,
        file: &MappedFile<'_>,
        left_bytes: &mut u64,
    ) -> Result<Option<Self>, AttachError> {
        let replaced = || AttachError::Replaced { pid: target.pid(), path: file.path.to_owned() };
        let opened = root.file(Path::new(file.path)).ok();
        let Some(opened) = opened.filter(|opened| inode(opened) == Some(file.inode)) else {
            return if file.path.contains("libpython") { Err(replaced()) } else { Ok(None) };
        };
        let Some(bytes) = contents(&opened, left_bytes) else { return Ok(None) };
        let Some(image) = Image::parse(&bytes, WANTED) else { return Ok(None) };
        let found = Self::of(&image, file);
        Ok(found.map(|found| found.with_version(&image, file, target.memory())))
    }

    /// That of an image, where it has all that is called.
    fn of(image: &Image, file: &MappedFile<'_>) -> Option<Self> {
        let at = |offset: u64| file.start.checked_add(offset);
        let symbol = |name: &str| image.symbol(name).and_then(at);
        let calls = Calls {
            add_pending_call: symbol(ADD_PENDING_CALL)?,
            run_string: symbol(RUN_STRING)?,
            ensure: symbol(ENSURE)?,
            release: symbol(RELEASE)?,
            check: symbol(CHECK)?,
            is_initialized: symbol(IS_INITIALIZED)?,
        };
        let runtime = symbol(RUNTIME).or(image.runtime_section.and_then(at));
        let unused = image.unused.and_then(|(start, length)| Some((at(start)?, length)));
        let place = Place { start: file.start, device: file.device.to_owned(), inode: file.inode };
        Some(Self { version: None, runtime, calls, unused, place })
    }

    /// Checks that the process still is what it was when it was opened and its interpreter was found: the same process,
    /// users, groups and program, and the same file where the interpreter was.
    ///
    /// A process keeps its PID and the time of its start when it starts another program (`execve`), which may be a setuid
    /// program of root's. The addresses of the functions are in the earlier program's file, whose author chose them.
    pub(crate) fn check_unchanged(&self, target: &Target) -> Result<(), AttachError> {
        if !target.is_alive() {
            return Err(AttachError::EndedMeanwhile(target.pid()));
        }
        let is_same_program = target.has_same_program();
        let text = target.maps()?;
        if !is_same_program || !maps::files(&text).iter().any(|file| self.is_in(file)) {
            return Err(AttachError::Changed(target.pid()));
        }
        Ok(())
    }

    /// Returns true if this is the file of the interpreter, mapped where the interpreter was found.
    fn is_in(&self, file: &MappedFile<'_>) -> bool {
        let Place { start, device, inode } = &self.place;
        *start == file.start && device == file.device && *inode == file.inode
    }

    /// Since 3.11 it is a variable; the file's name tells of older ones.
    fn with_version(mut self, image: &Image, file: &MappedFile<'_>, memory: &impl Memory) -> Self {
        let variable = image.symbol(VERSION).and_then(|offset| file.start.checked_add(offset));
        let told = variable.and_then(|address| memory.word(address).ok());
        self.version = match told {
            Some(word) => Some(Version((word >> 24) as u8, (word >> 16) as u8)),
            None => version_in(file.path),
        };
        self
    }
}

/// `libpython3.9.so.1.0`, `python3.10`.
fn version_in(path: &str) -> Option<Version> {
    let (_, name) = path.rsplit_once("python3.")?;
    let digits = name.split(|c: char| !c.is_ascii_digit()).next()?;
    Some(Version(3, digits.parse().ok()?))
}

/// Returns the bytes of a file, and subtracts them from what may still be read. Returns `None` for a file that cannot be
/// read, is too long, or is almost only holes, which cost the process nothing.
fn contents(file: &File, left_bytes: &mut u64) -> Option<Vec<u8>> {
    let length = file.metadata().ok()?.len();
    let most = LONGEST.min(*left_bytes);
    if length > most || untrusted::paid_length(file, length) < length {
        return None;
    }
    *left_bytes -= length;
    // The file may have become longer: then it is refused.
    untrusted::whole(file, length).ok()
}

/// Returns the number of an open file in its file system.
fn inode(file: &File) -> Option<u64> {
    file.metadata().ok().map(|found| found.ino())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_in_names() {
        assert_eq!(version_in("/usr/lib/libpython3.9.so.1.0"), Some(Version(3, 9)));
        assert_eq!(version_in("/opt/bin/python3.10"), Some(Version(3, 10)));
        assert_eq!(version_in("/opt/bin/python3"), None);
        assert_eq!(version_in("/opt/python3./x"), None);
        assert!(Version(3, 9) < Version(3, 14));
    }

    #[test]
    fn holes_and_too_much_are_not_read() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("file");
        std::fs::write(&path, [7; 5000]).expect("it is written");
        let file = untrusted::open(&path).expect("it is there");
        let mut left = 12_000;
        assert_eq!(contents(&file, &mut left).map(|bytes| bytes.len()), Some(5000));
        let again = untrusted::open(&path).expect("it is there");
        assert!(contents(&again, &mut left).is_some() && left == 2000);
        assert!(contents(&again, &mut left).is_none() && left == 2000, "more than was left");
        let long = File::options().write(true).open(&path).expect("it is there");
        long.set_len(256 << 20).expect("a hole");
        let holes = untrusted::open(&path).expect("it is there");
        assert!(contents(&holes, &mut (1 << 30)).is_none(), "a hole was read");
    }

    #[test]
    fn a_process_without_python_has_none() {
        let own = Target::open(std::process::id()).expect("our own process");
        let none = Interpreter::find(&own).expect_err("it is Rust");
        assert!(matches!(none, AttachError::NotPython(_)), "{none}");
    }
}
