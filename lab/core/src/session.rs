//! A running lab: its machine, a folder with the libraries under the names that programs load, and
//! the programs that run on it.

use std::{
    ffi::{OsStr, OsString},
    fs::{self, DirEntry, File, Permissions},
    hash::{BuildHasher, RandomState},
    io,
    os::unix::{
        fs::{MetadataExt, PermissionsExt, symlink},
        process::{CommandExt, ExitStatusExt},
    },
    path::{Path, PathBuf},
    process::{Child, Command, ExitStatus},
    sync::atomic::{AtomicBool, Ordering::Relaxed},
};

use whyoom_files::{private, temporary, untrusted};

use crate::{
    log::LOG_VARIABLE,
    machine::{Machine, MachineSpec, STATE_VARIABLE},
};

/// The libraries, by the file that is built and the names that programs load. The dynamic linker
/// prefers a program's own search path to ours, so what the last column marks is loaded beforehand.
const LIBRARIES: &[(&str, &[&str], bool)] = &[
    ("libwhyoom_lab_cuda.so", &["libcuda.so.1", "libcuda.so"], false),
    ("libwhyoom_lab_nvml.so", &["libnvidia-ml.so.1", "libnvidia-ml.so"], false),
    ("libwhyoom_lab_cudart.so", &["libcudart.so.13"], true),
    ("libwhyoom_lab_cublas.so", &["libcublas.so.13"], true),
    ("libwhyoom_lab_cublaslt.so", &["libcublasLt.so.13"], true),
    ("libwhyoom_lab_cudnn.so", &["libcudnn.so.9"], true),
    ("libwhyoom_lab_cudart12.so", &["libcudart.so.12"], true),
    ("libwhyoom_lab_cublas12.so", &["libcublas.so.12"], true),
    ("libwhyoom_lab_cublaslt12.so", &["libcublasLt.so.12"], true),
    ("libwhyoom_lab_nccl.so", &["libnccl.so.2"], true),
];

/// What folders of labs begin with; the process's number follows, and what nobody can foresee: in a folder
/// that all users share, another could have made one of that name.
const FOLDER_PREFIX: &str = "whyoom-lab-";

/// The folder of a shared lab: its libraries and its socket can be reached by name.
const SHARED_FOLDER_MODE: u32 = 0o711;

/// A lab holds a lock on this file of its folder. Whoever can take it has found a lab that is dead,
/// which a process's number does not tell where PID namespaces share the folder for temporary files.
const ALIVE: &str = "alive";

/// Names that are tried for the folder of a lab, two for each attempt. Chosen, not measured: no other user can foresee
/// one, so the first attempt succeeds.
const MAX_NAMES: usize = 16;

/// A lab that lives as long as this value.
pub struct Session {
    folder: PathBuf,
    _alive: File,
    machine: Machine,
    log: Option<PathBuf>,
}

impl Session {
    /// Starts a lab with the libraries of a folder.
    ///
    /// # Errors
    /// Also if other users can change the folder for temporary files, or its path cannot stand in `LD_PRELOAD`. Programs
    /// load libraries from a folder in it, by path, and would run what another user puts there.
    pub fn start(spec: &MachineSpec, libraries: &Path, log: Option<PathBuf>) -> io::Result<Self> {
        let temporary = temporary::trusted_folder()?;
        check_list_item(&temporary)?;
        remove_abandoned(&temporary);
        let names = std::iter::repeat_with(unforeseen_name).take(MAX_NAMES);
        let LabFolder { path: folder, alive } = LabFolder::create(&temporary, names, spec.shared)?;
        let machine = Machine::create(&folder.join("state"), spec);
        let session = Self { folder, _alive: alive, machine: machine?, log };
        for (built, names, _) in LIBRARIES {
            for name in *names {
                symlink(libraries.join(built), session.folder.join(name))?;
            }
        }
        Ok(session)
    }

    /// Where the lab keeps its files, as long as it lives.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The machine.
    #[must_use]
    pub fn machine(&self) -> Machine {
        self.machine
    }

    /// A command that runs in the lab.
    #[must_use]
    pub fn command(&self, program: &OsStr) -> Command {
        let mut command = Command::new(program);
        let early = LIBRARIES.iter().filter(|(_, _, early)| *early);
        let early = early.flat_map(|(_, names, _)| names.iter().map(|name| self.folder.join(name)));
        let early = early.map(PathBuf::into_os_string);
        command
            .env(STATE_VARIABLE, self.folder.join("state"))
            .env("LD_LIBRARY_PATH", prepended("LD_LIBRARY_PATH", [self.folder.clone().into()]))
            .env("LD_PRELOAD", prepended("LD_PRELOAD", early))
            .env_remove(LOG_VARIABLE);
        if let Some(log) = &self.log {
            command.env(LOG_VARIABLE, log);
        }
        command
    }

    /// Runs a command to its end.
    pub fn run(&self, command: Command) -> io::Result<ExitStatus> {
        self.spawn(command)?.wait()
    }

    /// Starts a command. It gets the terminal's interrupts; this process outlives them.
    pub fn spawn(&self, mut command: Command) -> io::Result<Child> {
        outlive_interrupts();
        // SAFETY: the closure makes one system call, which is allowed between fork and exec.
        unsafe {
            command.pre_exec(|| {
                libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGTERM);
                Ok(())
            });
        }
        command.spawn()
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        // Whatever still runs in the lab keeps its mapping; nothing new can join.
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// The folder that holds the libraries: beside the program, or where an installation puts them.
#[must_use]
pub fn libraries_of(program: &Path) -> Option<PathBuf> {
    let beside = program.parent()?.to_path_buf();
    let installed = beside.parent()?.join("lib/whyoom");
    [beside, installed].into_iter().find(|folder| folder.join(LIBRARIES[0].0).is_file())
}

/// The files that must be in that folder.
pub fn built_libraries() -> impl Iterator<Item = &'static str> {
    LIBRARIES.iter().map(|(built, _, _)| *built)
}

/// The exit code that a shell gives for a status.
#[must_use]
pub fn exit_code(status: ExitStatus) -> u8 {
    let signal = || status.signal().map_or(1, |signal| 128 + signal);
    status.code().unwrap_or_else(signal) as u8
}

/// A list of paths with ours before what the variable has already.
fn prepended(variable: &str, first: impl IntoIterator<Item = OsString>) -> OsString {
    let existing = std::env::var_os(variable).filter(|value| !value.is_empty());
    let all: Vec<OsString> = first.into_iter().chain(existing).collect();
    all.join(OsStr::new(":"))
}

/// Refuses a folder that the dynamic linker would not find as one item of `LD_PRELOAD` and `LD_LIBRARY_PATH`. It splits
/// the first at spaces and colons, the second at colons and semicolons, and replaces words such as `$LIB`. What it then
/// loads has another path, which another user may have made.
fn check_list_item(folder: &Path) -> io::Result<()> {
    let is_special = |byte: &u8| byte.is_ascii_whitespace() || b":;$".contains(byte);
    if !folder.as_os_str().as_encoded_bytes().iter().any(is_special) {
        return Ok(());
    }
    Err(io::Error::new(
        io::ErrorKind::InvalidInput,
        format!(
            "TMPDIR must name a folder whose path has no white space, ':', ';' or '$', because the \
             dynamic linker would load libraries from another path: {}",
            folder.display()
        ),
    ))
}

/// Returns a name for the folder of a lab that no other user can foresee.
fn unforeseen_name() -> String {
    let unforeseen = RandomState::new().hash_one(());
    format!("{FOLDER_PREFIX}{}-{unforeseen:016x}", std::process::id())
}

/// The folder of a lab, with its lock from the moment that it has its name.
struct LabFolder {
    path: PathBuf,
    alive: File,
}

impl LabFolder {
    /// Makes the folder under the first name that is free. Each attempt takes two names: the first is that of a hidden
    /// folder, which others see before it has its own name. They cannot foresee the second from it.
    fn create(
        temporary: &Path,
        mut names: impl Iterator<Item = String>,
        shared: bool,
    ) -> io::Result<Self> {
        let mut last = io::Error::from(io::ErrorKind::AlreadyExists);
        while let (Some(hidden), Some(name)) = (names.next(), names.next()) {
            let hidden = temporary.join(format!(".{hidden}"));
            private::create_folder(&hidden)?;
            match Self::fill(&hidden, temporary.join(name), shared) {
                Ok(folder) => return Ok(folder),
                Err(error) => {
                    let _ = fs::remove_file(hidden.join(ALIVE));
                    let _ = fs::remove_dir(&hidden);
                    last = error;
                }
            }
        }
        Err(last)
    }

    fn fill(hidden: &Path, path: PathBuf, shared: bool) -> io::Result<Self> {
        let alive = private::create_file(&hidden.join(ALIVE))?;
        alive.lock()?;
        if shared {
            fs::set_permissions(hidden, Permissions::from_mode(SHARED_FOLDER_MODE))?;
        }
        fs::rename(hidden, &path)?;
        Ok(Self { path, alive })
    }
}

/// Removes folders of our own labs whose process has died without doing so.
fn remove_abandoned(temporary: &Path) {
    for entry in fs::read_dir(temporary).into_iter().flatten().flatten() {
        let is_lab = entry.file_name().to_string_lossy().starts_with(FOLDER_PREFIX);
        if is_lab && is_own_folder(&entry) && is_abandoned(&entry.path()) {
            // It follows no link.
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

/// A folder, not a link to one, that this user made: what others made is theirs to remove.
fn is_own_folder(entry: &DirEntry) -> bool {
    let own = rustix::process::geteuid().as_raw();
    entry.metadata().is_ok_and(|found| found.is_dir() && found.uid() == own)
}

fn is_abandoned(lab: &Path) -> bool {
    untrusted::open_entry(&lab.join(ALIVE)).is_ok_and(|alive| alive.try_lock().is_ok())
}

static INTERRUPTED: AtomicBool = AtomicBool::new(false);

/// Whether the terminal has interrupted what runs in labs of this process.
#[must_use]
pub fn interrupted() -> bool {
    INTERRUPTED.load(Relaxed)
}

extern "C" fn note_interrupt(_: libc::c_int) {
    INTERRUPTED.store(true, Relaxed);
}

/// Ctrl-C is for the program in the lab: a handler, unlike ignoring, does not reach what we start. From then on
/// [`interrupted`] says whether one came.
pub fn outlive_interrupts() {
    let handler = note_interrupt as extern "C" fn(libc::c_int);
    // SAFETY: the handler stores one atomic word, which is safe at any moment.
    unsafe { libc::signal(libc::SIGINT, handler as libc::sighandler_t) };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_that_the_linker_splits_is_refused() {
        check_list_item(Path::new("/tmp/a-b_c.d")).unwrap();
        for path in ["/tmp/a b", "/tmp/a:b", "/tmp/a;b", "/tmp/a\tb", "/tmp/a\nb", "/tmp/$LIB"] {
            let error = check_list_item(Path::new(path)).unwrap_err();
            assert!(error.to_string().contains("TMPDIR must name"), "{path}: {error}");
        }
    }

    #[test]
    fn a_name_that_is_taken_is_no_obstacle_and_nothing_is_left() {
        let temporary = std::env::temp_dir().join(format!("whyoom-names-{}", std::process::id()));
        fs::create_dir(&temporary).unwrap();
        fs::create_dir_all(temporary.join("taken/full")).unwrap();
        let names = |names: &[&str]| names.iter().map(ToString::to_string).collect::<Vec<_>>();
        let refused = LabFolder::create(&temporary, names(&["a", "taken"]).into_iter(), false);
        assert!(refused.is_err());
        let all = names(&["b", "taken", "c", "free"]);
        let made = LabFolder::create(&temporary, all.into_iter(), false).unwrap();
        assert_eq!(made.path, temporary.join("free"));
        assert_eq!(fs::read_dir(&temporary).unwrap().count(), 2, "no hidden folder is left");
        fs::remove_dir_all(temporary).unwrap();
    }
}
