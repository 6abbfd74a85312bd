//! The names of a recording's addresses.

use std::collections::HashMap;
use std::path::Path;

use foldhash::fast::RandomState;
use whyoom_recording::{Module, Resolve};
use whyoom_trace::{FrameId, Tables};

use crate::library::{Library, Named};

/// Names addresses by the files of the modules that they lie in. Each file is opened once, at the
/// first address that lies in it. The recording's reader asks for each address once.
#[derive(Default)]
pub struct Symbols {
    /// By path and build id; none for a file that is not there or is another by now.
    libraries: HashMap<(String, Vec<u8>), Option<Library>, RandomState>,
}

impl Symbols {
    fn look_up(&mut self, module: &Module, place: u64) -> Vec<Named> {
        let key = (module.path.clone(), module.build_id.clone());
        let open = || Library::open(Path::new(&module.path), &module.build_id);
        let library = self.libraries.entry(key).or_insert_with(open);
        library.as_ref().map_or_else(Vec::new, |library| library.frames(place))
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
        let library = module.path.rsplit('/').next().unwrap_or_default();
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
