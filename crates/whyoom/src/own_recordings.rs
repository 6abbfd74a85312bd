//! The register of this user's recordings: `~/.local/state/whyoom/recordings` has an empty file for each, named by a hash
//! of its files at the end of `whyoom run`. No other user can add a file there, so a recording in it is this user's own.

use std::{
    collections::BTreeMap,
    env,
    fs::{self, DirBuilder},
    io,
    os::unix::fs::{DirBuilderExt, MetadataExt},
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, SystemTime},
};

use rustix::process::geteuid;
use sha2::{Digest, Sha256};
use whyoom_files::{
    folder::{Contents, Folder, Unpacked},
    private,
};
use whyoom_sources::recording::{
    ENDING, MACHINE_SAMPLES, MAX_ENDING_BYTES, MAX_MACHINE_SAMPLES_BYTES,
};

/// How long the register keeps a recording. Chosen, not measured: a recording counts as own until the next boot at most.
const KEPT: Duration = Duration::from_secs(90 * 24 * 60 * 60);

/// Names of the recordings that this process registered. Where the register cannot be written, these are all.
static REGISTERED_HERE: Mutex<Vec<String>> = Mutex::new(Vec::new());

/// Registers a recording that this process has just finished.
pub(crate) fn register(folder: &Path) {
    let Some(recording) = Recording::read(folder) else { return };
    // A home that is read-only, full or another user's. Later commands then take the recording for another's.
    let _ = add_to_register(&recording.name);
    REGISTERED_HERE.lock().unwrap_or_else(PoisonError::into_inner).push(recording.name);
}

/// Reads `run.json` and `machine.jsonl` of a recording. Returns `None` if this user did not register a recording with
/// these contents in this folder.
pub(crate) fn read_registered(folder: &Path) -> Option<Folder> {
    let recording = Recording::read(folder)?;
    let registered_here = REGISTERED_HERE.lock().unwrap_or_else(PoisonError::into_inner);
    let is_own = registered_here.contains(&recording.name) || is_in_register(&recording.name);
    is_own.then(|| recording.into_folder())
}

/// The files of a recording that a command or a process ID may be taken from.
struct Recording {
    /// Hash of both files, and of the numbers of the folder: a copy that somebody may have changed is another recording.
    name: String,
    files: Vec<(&'static str, Vec<u8>)>,
}

impl Recording {
    fn read(path: &Path) -> Option<Self> {
        let found = fs::metadata(path).ok()?;
        let mut hasher = Sha256::new();
        hasher.update(format!("{} {}\n", found.dev(), found.ino()));
        let folder = Folder::from(path);
        let ending = folder.entry(ENDING).read(MAX_ENDING_BYTES).ok()?;
        let samples = match folder.entry(MACHINE_SAMPLES).read(MAX_MACHINE_SAMPLES_BYTES) {
            Ok(samples) => samples,
            Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
            Err(_) => return None,
        };
        for contents in [&ending, &samples] {
            hasher.update(format!("{}\n", hex(&Sha256::digest(contents))));
        }
        let files = vec![(ENDING, ending), (MACHINE_SAMPLES, samples)];
        Some(Self { name: hex(&hasher.finalize()), files })
    }

    fn into_folder(self) -> Folder {
        let mut files: BTreeMap<String, Arc<dyn Contents>> = BTreeMap::new();
        for (name, contents) in self.files {
            files.insert(name.to_owned(), Arc::new(contents));
        }
        Folder::Memory(Arc::new(Unpacked { name: String::new(), files }))
    }
}

fn add_to_register(name: &str) -> io::Result<()> {
    let register = register_folder().ok_or(io::ErrorKind::NotFound)?;
    let existing = register.ancestors().find(|folder| folder.exists());
    private::check_way(existing.ok_or(io::ErrorKind::NotFound)?)?;
    DirBuilder::new().recursive(true).mode(0o700).create(&register)?;
    private::check_way(&register)?;
    match private::create_file(&register.join(name)) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
        _ => {}
    }
    // Another process may remove the same file.
    let _ = remove_old(&register);
    Ok(())
}

fn is_in_register(name: &str) -> bool {
    let Some(register) = register_folder() else { return false };
    let is_own_file = fs::symlink_metadata(register.join(name))
        .is_ok_and(|found| found.is_file() && found.uid() == geteuid().as_raw());
    is_own_file && private::check_way(&register).is_ok()
}

fn remove_old(register: &Path) -> io::Result<()> {
    let now = SystemTime::now();
    for entry in fs::read_dir(register)? {
        let entry = entry?;
        let modified = entry.metadata().and_then(|found| found.modified());
        let age = modified.ok().and_then(|modified| now.duration_since(modified).ok());
        if age.is_some_and(|age| age > KEPT) {
            let _ = fs::remove_file(entry.path());
        }
    }
    Ok(())
}

/// Returns the folder of the register, as the XDG Base Directory Specification has it. `None` without a home.
fn register_folder() -> Option<PathBuf> {
    let named = env::var_os("XDG_STATE_HOME").map(PathBuf::from);
    let state = match named.filter(|folder| folder.is_absolute()) {
        Some(folder) => folder,
        None => {
            let home = PathBuf::from(env::var_os("HOME")?);
            if !home.is_absolute() || !home.is_dir() {
                return None;
            }
            home.join(".local/state")
        }
    };
    Some(state.join("whyoom/recordings"))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
