//! The names of a recording's addresses.

use std::{collections::HashMap, path::Path, rc::Rc, sync::Arc};

use foldhash::fast::RandomState;
use whyoom_recording::{Module, Resolve};
use whyoom_trace::{FrameId, Tables};

use crate::{
    elf::{Elf, FileNumber},
    library::{Library, Named},
};

/// Files beyond these are not opened.
const MOST_FILES: usize = 4096;

/// Libraries by what names a file, and its build id.
type Libraries<Name> = HashMap<(Name, Vec<u8>), Option<Rc<Library>>, RandomState>;

/// Names addresses by the files of the modules that they lie in. Each file is opened once, at the
/// first address that lies in it. The recording's reader asks for each address once.
#[derive(Default)]
pub struct Symbols {
    /// By path and build id; none for a file that is not there or is another by now.
    libraries: Libraries<Arc<str>>,
    /// The same by what the file system calls them: many paths may lead to one.
    files: Libraries<FileNumber>,
}

impl Symbols {
    fn look_up(&mut self, module: &Module, place: u64) -> Vec<Named> {
        let key = (Arc::clone(&module.path), module.build_id.clone());
        if !self.libraries.contains_key(&key) && self.libraries.len() < MOST_FILES {
            let library = self.open(module);
            self.libraries.insert(key.clone(), library);
        }
        let library = self.libraries.get(&key).and_then(Option::as_ref);
        library.map_or_else(Vec::new, |library| library.frames(place))
    }

    /// A module's file; none where it is missing, is not the recorded one, or cannot be read.
    fn open(&mut self, module: &Module) -> Option<Rc<Library>> {
        let path = Path::new(&*module.path);
        // The recorder writes whole paths; others would lead elsewhere from each folder.
        let elf = path.is_absolute().then(|| Elf::open(path)).flatten()?;
        let read = || Library::read(&elf, &module.build_id).map(Rc::new);
        self.files.entry((elf.number, module.build_id.clone())).or_insert_with(read).clone()
    }
}

impl Resolve for Symbols {
    fn frames(
        &mut self,
        module: Option<&Module>,
        address: u64,
        tables: &mut Tables,
        out: &mut Vec<FrameId>,
    ) {
        let Some(module) = module else {
            out.push(tables.frame_text(&format!("{address:#x}"), "", 0));
            return;
        };
        let library = module.name();
        let place = address.wrapping_sub(module.bias);
        let frames = self.look_up(module, place);
        if frames.is_empty() {
            out.push(tables.frame_text(&format!("{library}+{place:#x}"), library, 0));
        }
        out.extend(frames.iter().map(|frame| {
            if frame.file.is_empty() {
                return tables.frame_text(&frame.function, library, frame.line);
            }
            let named = tables.frame_text(&frame.function, &frame.file, frame.line);
            tables.set_library(named, library);
            named
        }));
    }
}
