//! One library or executable on disk, and what it says of its addresses.

use std::fs::File;
use std::path::{Path, PathBuf};

use addr2line::Loader;
use object::{Object, ReadCache};

use crate::names::short;

/// Where distributions put debug information that was split off, by build id.
const DEBUG_FILES: &str = "/usr/lib/debug/.build-id";

/// A frame by name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Named {
    pub(crate) function: String,
    /// The source file; empty where it is not known.
    pub(crate) file: String,
    pub(crate) line: u32,
}

/// A file that is the recorded one, opened.
pub(crate) struct Library {
    program: Loader,
    debug: Option<Loader>,
}

impl Library {
    /// Opens a module's file; none where it is missing, is not the recorded one, or cannot be read.
    ///
    /// A module that was recorded without a build id is believed to be the file at its path if that
    /// has none either: there is nothing to tell them apart by.
    pub(crate) fn open(path: &Path, build_id: &[u8]) -> Option<Self> {
        let found = Identity::of(path)?;
        if found.build_id != build_id {
            return None;
        }
        let debug = debug_file(build_id).filter(|_| !found.has_debug_info);
        Some(Self {
            program: Loader::new(path).ok()?,
            debug: debug.and_then(|file| Loader::new(file).ok()),
        })
    }

    /// The frames at an address of the file, innermost first; none where nothing is known.
    pub(crate) fn frames(&self, address: u64) -> Vec<Named> {
        let source = self.debug.as_ref().unwrap_or(&self.program);
        let symbol = || self.symbol(address);
        let mut frames = inlined(source, address, &symbol).unwrap_or_default();
        if frames.is_empty()
            && let Some(function) = symbol()
        {
            frames.push(Named { function, file: String::new(), line: 0 });
        }
        frames
    }

    fn symbol(&self, address: u64) -> Option<String> {
        let find = |loader: &Loader| loader.find_symbol(address).map(short);
        find(&self.program).or_else(|| self.debug.as_ref().and_then(find))
    }
}

/// The frames that debug information knows at an address.
fn inlined(
    loader: &Loader,
    address: u64,
    symbol: &dyn Fn() -> Option<String>,
) -> Option<Vec<Named>> {
    let mut found = loader.find_frames(address).ok()?;
    let mut frames = Vec::new();
    while let Ok(Some(frame)) = found.next() {
        let name = frame.function.as_ref().and_then(|function| function.raw_name().ok());
        let Some(function) = name.map(|name| short(&name)).or_else(symbol) else { continue };
        let place = frame.location;
        let file = place.as_ref().and_then(|place| place.file).unwrap_or_default().to_owned();
        let line = place.and_then(|place| place.line).unwrap_or_default();
        frames.push(Named { function, file, line });
    }
    Some(frames)
}

/// What tells files apart, read from their headers alone.
struct Identity {
    build_id: Vec<u8>,
    has_debug_info: bool,
}

impl Identity {
    fn of(path: &Path) -> Option<Self> {
        let cache = ReadCache::new(File::open(path).ok()?);
        let file = object::File::parse(&cache).ok()?;
        Some(Self {
            build_id: file.build_id().ok()?.unwrap_or_default().to_vec(),
            has_debug_info: file.section_by_name(".debug_info").is_some(),
        })
    }
}

fn debug_file(build_id: &[u8]) -> Option<PathBuf> {
    let (first, rest) = build_id.split_first()?;
    let rest: String = rest.iter().map(|byte| format!("{byte:02x}")).collect();
    let file = Path::new(DEBUG_FILES).join(format!("{first:02x}/{rest}.debug"));
    Identity::of(&file).is_some_and(|found| found.build_id == build_id).then_some(file)
}
