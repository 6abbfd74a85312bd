//! Loaded code, and names for addresses in it.

use std::{collections::BTreeMap, sync::Arc};

use whyoom_trace::{FrameId, Tables};

/// Code that a recorded process had loaded.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Module {
    /// Its first address.
    pub start: u64,
    /// The address behind it.
    pub end: u64,
    /// What was added to the addresses of its file when it was loaded.
    pub bias: u64,
    /// Its file.
    pub path: Arc<str>,
    /// Its build id; empty where it has none.
    pub build_id: Vec<u8>,
}

/// What is shown of a library's name: each address in it may repeat the name.
const LONGEST_NAME: usize = 80;

impl Module {
    /// The name of its file, without its folder; the end of one that is too long.
    #[must_use]
    pub fn name(&self) -> &str {
        let name = self.path.rsplit('/').next().unwrap_or_default();
        let from = name.len().saturating_sub(LONGEST_NAME);
        &name[name.ceil_char_boundary(from)..]
    }
}

/// Names native addresses.
pub trait Resolve {
    /// The frames at an address, innermost (inlined) first, appended to `out`. `module` is the code
    /// that was loaded there when the stack was taken.
    fn frames(
        &mut self,
        module: Option<&Module>,
        address: u64,
        tables: &mut Tables,
        out: &mut Vec<FrameId>,
    );
}

/// Names an address by its library and the place in it: `libfoo.so+0x1234`.
#[derive(Clone, Copy, Debug, Default)]
pub struct Unresolved;

impl Resolve for Unresolved {
    fn frames(
        &mut self,
        module: Option<&Module>,
        address: u64,
        tables: &mut Tables,
        out: &mut Vec<FrameId>,
    ) {
        let (name, file) = match module {
            None => (format!("{address:#x}"), ""),
            Some(module) => {
                let place = address.wrapping_sub(module.bias);
                (format!("{}+{place:#x}", module.name()), &*module.path)
            }
        };
        out.push(tables.frame_text(&name, file, 0));
    }
}

/// What is loaded, at one moment of the recording.
#[derive(Debug, Default)]
pub(super) struct Loaded {
    /// By the first address, with a number that no other module has had. None overlap.
    modules: BTreeMap<u64, (u32, Module)>,
    numbers: u32,
}

impl Loaded {
    /// Code was loaded: what it overlaps had gone before.
    pub(super) fn load(&mut self, module: Module) {
        let known = self.modules.get(&module.start).is_some_and(|(_, known)| *known == module);
        if module.start >= module.end || known {
            return;
        }
        let before = self.modules.range(..module.end).rev();
        let overlapping: Vec<u64> = before
            .take_while(|(_, (_, loaded))| loaded.end > module.start)
            .map(|(&start, _)| start)
            .collect();
        for start in overlapping {
            self.modules.remove(&start);
        }
        self.numbers += 1;
        self.modules.insert(module.start, (self.numbers, module));
    }

    /// The code at an address, and its number.
    pub(super) fn at(&self, address: u64) -> Option<(u32, &Module)> {
        let (_, (number, module)) = self.modules.range(..=address).next_back()?;
        (address < module.end).then_some((*number, module))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_replaces_what_it_overlaps() {
        let module = |start, end| Module {
            start,
            end,
            bias: 0,
            path: format!("{start}-{end}").into(),
            build_id: Vec::new(),
        };
        let mut loaded = Loaded::default();
        for (start, end) in [(0, 10), (20, 30), (30, 40), (50, 60), (25, 35), (60, 60)] {
            loaded.load(module(start, end));
        }
        let at = |address| loaded.at(address).map(|(_, module)| &*module.path);
        let found = [0, 9, 10, 20, 25, 34, 35, 50, 60].map(at);
        let code = (Some("0-10"), Some("25-35"), Some("50-60"));
        assert_eq!(found, [code.0, code.0, None, None, code.1, code.1, None, code.2, None]);
    }
}
