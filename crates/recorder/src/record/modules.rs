//! The loaded code that native frames lie in, as far as the recording knows it.

use std::{collections::HashMap, os::unix::ffi::OsStrExt, sync::Arc};

use foldhash::fast::FixedState;
use whyoom_recording::{Definition, Part};
use whyoom_stacks::Module;

use super::names::{Names, define};

/// The modules that the recording has, by their first address.
#[derive(Default)]
pub(super) struct Modules {
    defined: HashMap<u64, Arc<Module>, FixedState>,
}

impl Modules {
    /// Defines what is new. True where something that was defined is gone: its addresses may come
    /// to mean other code.
    pub(super) fn renew(&mut self, loaded: &[Arc<Module>], part: &Part, names: &Names) -> bool {
        let before = self.defined.len();
        let is_same = |known: &Arc<Module>, found: &Arc<Module>| {
            Arc::ptr_eq(known, found) || (known.end == found.end && known.path == found.path)
        };
        let now: HashMap<u64, &Arc<Module>> =
            loaded.iter().map(|module| (module.start, module)).collect();
        self.defined
            .retain(|start, known| now.get(start).is_some_and(|found| is_same(known, found)));
        let gone = self.defined.len() < before;
        for module in loaded {
            self.defined.entry(module.start).or_insert_with(|| {
                // Without room no stack is defined that would name it.
                if part.has_room() {
                    write(module, part, names);
                }
                Arc::clone(module)
            });
        }
        gone
    }
}

fn write(module: &Module, part: &Part, names: &Names) {
    let path = names.string(part, module.path.as_os_str().as_bytes());
    define(
        part,
        Definition::Module {
            start: module.start,
            end: module.end,
            bias: module.bias,
            path,
            build_id: &module.build_id,
        },
    );
}
