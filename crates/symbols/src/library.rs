//! One library or executable on disk, and what it says of its addresses.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use addr2line::{Context, LookupContinuation, LookupResult};
use gimli::{Dwarf, EndianArcSlice, LittleEndian, SectionId};

use crate::{elf::Elf, names::short, symbol_table::SymbolTable};

/// Where distributions put debug information that was split off, by build id.
const DEBUG_FILES: &str = "/usr/lib/debug/.build-id";
/// Inlined calls beyond these are not told.
const MOST_INLINED: usize = 64;
/// A longer name of a source file is cut from its start.
const LONGEST_FILE: usize = 512;

type DebugInfo = Context<EndianArcSlice<LittleEndian>>;

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
    symbols: SymbolTable,
    /// Those of the file that was split off, where there is one.
    split_off: SymbolTable,
    debug: Option<DebugInfo>,
}

impl Library {
    /// Reads a module's file; none where it is not the recorded one.
    ///
    /// A module that was recorded without a build id is believed to be the file at its path if that
    /// has none either: there is nothing to tell them apart by.
    pub(crate) fn read(elf: &Elf, build_id: &[u8]) -> Option<Self> {
        if elf.build_id() != build_id {
            return None;
        }
        let symbols = SymbolTable::read(elf);
        if elf.has(".debug_info") {
            return Some(Self {
                symbols,
                split_off: SymbolTable::default(),
                debug: debug_info(elf),
            });
        }
        let file = debug_file(build_id);
        let split_off = file.as_ref().map(SymbolTable::read).unwrap_or_default();
        Some(Self { symbols, split_off, debug: file.as_ref().and_then(debug_info) })
    }

    /// The frames at an address of the file, innermost first; none where nothing is known.
    pub(crate) fn frames(&self, address: u64) -> Vec<Named> {
        let symbol =
            || self.symbols.name(address).or_else(|| self.split_off.name(address)).map(short);
        let debug = self.debug.as_ref();
        let mut frames =
            debug.and_then(|debug| inlined(debug, address, &symbol)).unwrap_or_default();
        if frames.is_empty()
            && let Some(function) = symbol()
        {
            frames.push(Named { function, file: String::new(), line: 0 });
        }
        frames
    }
}

/// The debug information of a file. What names come from is read, and nothing else: where variables lie may be
/// most of it.
fn debug_info(elf: &Elf) -> Option<DebugInfo> {
    let load = |id: SectionId| {
        let wanted = !matches!(
            id,
            SectionId::DebugLoc
                | SectionId::DebugLocLists
                | SectionId::DebugMacinfo
                | SectionId::DebugMacro
                | SectionId::DebugTypes
        );
        let bytes = if wanted { elf.contents(id.name()) } else { None };
        let bytes = bytes.unwrap_or_else(|| Arc::from([]));
        Ok::<_, gimli::Error>(EndianArcSlice::new(bytes, LittleEndian))
    };
    Context::from_dwarf(Dwarf::load(load).ok()?).ok()
}

/// The frames that debug information knows at an address.
fn inlined(
    debug: &DebugInfo,
    address: u64,
    symbol: &dyn Fn() -> Option<String>,
) -> Option<Vec<Named>> {
    let mut lookup = debug.find_frames(address);
    let mut found = loop {
        match lookup {
            LookupResult::Output(found) => break found.ok()?,
            // Split off into a file that only the debug information names: anybody may have put it there.
            LookupResult::Load { continuation, .. } => lookup = continuation.resume(None),
        }
    };
    let mut frames = Vec::new();
    while let Ok(Some(frame)) = found.next()
        && frames.len() < MOST_INLINED
    {
        let name = frame.function.as_ref().and_then(|function| function.raw_name().ok());
        let Some(function) = name.map(|name| short(&name)).or_else(symbol) else { continue };
        let place = frame.location;
        let file = place.as_ref().and_then(|place| place.file).unwrap_or_default();
        let file = &file[file.ceil_char_boundary(file.len().saturating_sub(LONGEST_FILE))..];
        let line = place.as_ref().and_then(|place| place.line).unwrap_or_default();
        frames.push(Named { function, file: file.to_owned(), line });
    }
    Some(frames)
}

fn debug_file(build_id: &[u8]) -> Option<Elf> {
    let (first, rest) = build_id.split_first()?;
    let rest: String = rest.iter().map(|byte| format!("{byte:02x}")).collect();
    let file: PathBuf = Path::new(DEBUG_FILES).join(format!("{first:02x}/{rest}.debug"));
    Elf::open(&file).filter(|found| found.build_id() == build_id)
}
