//! What events name by id: strings, frames, stacks, pools, processes.

use std::collections::HashMap;

use foldhash::fast::RandomState;
use indexmap::IndexSet;
use serde::{Deserialize, Serialize};

use crate::{
    ids::{FrameId, PoolId, ProcessId, StackId, StringId},
    module::{InModule, MODULE_FILE, ModuleRole},
};

/// One frame of a call stack. An unknown file or line is empty or 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Frame {
    /// The function.
    pub function: StringId,
    /// The source file, or the library where no source is known.
    pub file: StringId,
    /// The line in that file.
    pub line: u32,
}

/// A frame with its strings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FrameText<'a> {
    /// The function.
    pub function: &'a str,
    /// The source file or library.
    pub file: &'a str,
    /// The line in that file.
    pub line: u32,
    /// The library or program that the code lies in; empty where nobody told, or it is the file.
    pub library: &'a str,
}

impl FrameText<'_> {
    /// Whether this is a frame of Python code.
    #[must_use]
    pub fn is_python(&self) -> bool {
        self.file.ends_with(".py")
            || self.file.starts_with('<')
            || self.file.starts_with("/tmp/ipy")
    }
}

/// The interned things of one stream of events. Ids are dense and grow in order of first sight.
#[derive(Debug, Serialize, Deserialize)]
pub struct Tables {
    strings: IndexSet<Box<str>, RandomState>,
    frames: IndexSet<Frame, RandomState>,
    stacks: IndexSet<Box<[FrameId]>, RandomState>,
    pools: IndexSet<(u64, u64), RandomState>,
    processes: Vec<String>,
    libraries: HashMap<FrameId, StringId, RandomState>,
    /// The file of frames that stand for modules, once there is one.
    module_file: StringId,
}

impl Default for Tables {
    fn default() -> Self {
        let mut tables = Self {
            strings: IndexSet::default(),
            frames: IndexSet::default(),
            stacks: IndexSet::default(),
            pools: IndexSet::default(),
            processes: Vec::new(),
            libraries: HashMap::default(),
            module_file: NO_STRING,
        };
        tables.string("");
        tables.stack(&[]);
        tables.pool(0, 0);
        tables
    }
}

/// An id that no string has.
const NO_STRING: StringId = StringId(u32::MAX);

/// An index as an id. Inputs are bounded far below 2³² distinct things; beyond that ids collapse
/// into one instead of wrapping into each other.
fn id(index: usize) -> u32 {
    u32::try_from(index).unwrap_or(u32::MAX)
}

impl Tables {
    /// The id of a string.
    pub fn string(&mut self, text: &str) -> StringId {
        if let Some(index) = self.strings.get_index_of(text) {
            return StringId(id(index));
        }
        let new = StringId(id(self.strings.insert_full(text.into()).0));
        if text == MODULE_FILE {
            self.module_file = new;
        }
        new
    }

    /// The id of a frame.
    pub fn frame(&mut self, frame: Frame) -> FrameId {
        FrameId(id(self.frames.insert_full(frame).0))
    }

    /// The id of a frame that is given by its strings.
    pub fn frame_text(&mut self, function: &str, file: &str, line: u32) -> FrameId {
        let frame = Frame { function: self.string(function), file: self.string(file), line };
        self.frame(frame)
    }

    /// The id of a frame that stands for a module. In a stack it is the last.
    pub fn module_frame(&mut self, name: &str, role: ModuleRole) -> FrameId {
        self.frame_text(name, MODULE_FILE, role.line())
    }

    /// A stack with the frame of a module behind it.
    pub fn stack_in_module(&mut self, stack: StackId, module: FrameId) -> StackId {
        let frames = self.stacks.get_index(stack.0 as usize).map_or(&[][..], |frames| frames);
        let frames: Vec<FrameId> = frames.iter().copied().chain([module]).collect();
        self.stack(&frames)
    }

    /// The module that a stack carries.
    #[must_use]
    pub fn module(&self, stack: StackId) -> Option<InModule<'_>> {
        let &last = self.stacks.get_index(stack.0 as usize)?.last()?;
        let frame = self.frames.get_index(last.0 as usize)?;
        if frame.file != self.module_file {
            return None;
        }
        let role = ModuleRole::of_line(frame.line)?;
        Some(InModule { name: self.text(frame.function), role })
    }

    /// Tells the library or program that a frame's code lies in, where its file is a source file.
    pub fn set_library(&mut self, frame: FrameId, library: &str) {
        let library = self.string(library);
        self.libraries.entry(frame).or_insert(library);
    }

    /// The id of a stack, innermost frame first.
    pub fn stack(&mut self, frames: &[FrameId]) -> StackId {
        if let Some(index) = self.stacks.get_index_of(frames) {
            return StackId(id(index));
        }
        StackId(id(self.stacks.insert_full(frames.into()).0))
    }

    /// The id of a pool that its allocator names by two numbers; (0, 0) is the default pool.
    pub fn pool(&mut self, first: u64, second: u64) -> PoolId {
        PoolId(id(self.pools.insert_full((first, second)).0))
    }

    /// A new process with the name that people should read.
    pub fn process(&mut self, name: impl Into<String>) -> ProcessId {
        self.processes.push(name.into());
        ProcessId(id(self.processes.len() - 1))
    }

    /// The id that the next new process gets.
    #[must_use]
    pub fn next_process(&self) -> ProcessId {
        ProcessId(id(self.processes.len()))
    }

    /// The string of an id; empty where there is none.
    #[must_use]
    pub fn text(&self, id: StringId) -> &str {
        self.strings.get_index(id.0 as usize).map_or("", |text| text)
    }

    /// The frames of a stack, innermost first, without the module that it may carry.
    pub fn frames(&self, stack: StackId) -> impl DoubleEndedIterator<Item = FrameText<'_>> {
        self.frame_ids(stack).iter().filter_map(|&frame| self.frame_of(frame))
    }

    /// The ids of the frames of a stack, innermost first, with that of the module that it may carry.
    #[must_use]
    pub fn frame_ids(&self, stack: StackId) -> &[FrameId] {
        self.stacks.get_index(stack.0 as usize).map_or(&[][..], |frames| frames)
    }

    /// A frame with its strings; nothing where it stands for a module, or there is none.
    #[must_use]
    pub fn frame_of(&self, id: FrameId) -> Option<FrameText<'_>> {
        let frame = self.frames.get_index(id.0 as usize)?;
        (frame.file != self.module_file).then(|| FrameText {
            function: self.text(frame.function),
            file: self.text(frame.file),
            line: frame.line,
            library: self.libraries.get(&id).map_or("", |&library| self.text(library)),
        })
    }

    /// The two numbers by which its allocator names a pool.
    #[must_use]
    pub fn pool_name(&self, pool: PoolId) -> (u64, u64) {
        self.pools.get_index(pool.0 as usize).copied().unwrap_or_default()
    }

    /// The process of that name.
    #[must_use]
    pub fn process_named(&self, name: &str) -> Option<ProcessId> {
        let index = self.processes.iter().position(|process| process == name);
        index.map(|index| ProcessId(id(index)))
    }

    /// The name of a process.
    #[must_use]
    pub fn process_name(&self, process: ProcessId) -> &str {
        self.processes.get(process.0 as usize).map_or("", String::as_str)
    }

    /// How many stacks there are; their ids are below this.
    #[must_use]
    pub fn stack_count(&self) -> usize {
        self.stacks.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_thing_has_one_id() {
        let mut tables = Tables::default();
        let frame = tables.frame_text("forward", "model.py", 7);
        let stack = tables.stack(&[frame]);
        assert_eq!(tables.frame_text("forward", "model.py", 7), frame);
        assert_eq!(tables.stack(&[frame]), stack);
        assert_eq!(tables.stack_count(), 2, "the empty stack is one of them");
        let read: Vec<_> = tables.frames(stack).map(|f| (f.function, f.file, f.line)).collect();
        assert_eq!(read, [("forward", "model.py", 7)]);
    }

    #[test]
    fn zero_names_nothing() {
        let tables = Tables::default();
        assert_eq!(tables.text(StringId(0)), "");
        assert_eq!(tables.frames(StackId(0)).count(), 0);
        assert_eq!(tables.pool_name(PoolId(0)), (0, 0));
    }

    #[test]
    fn a_frame_of_a_source_file_knows_its_library() {
        let mut tables = Tables::default();
        let frame = tables.frame_text("leaky_scale", "leaky.cu", 11);
        tables.set_library(frame, "libleaky.so");
        let other = tables.frame_text("main", "program", 0);
        let stack = tables.stack(&[frame, other]);
        let libraries: Vec<_> = tables.frames(stack).map(|frame| frame.library).collect();
        assert_eq!(libraries, ["libleaky.so", ""]);
    }

    #[test]
    fn a_stack_carries_a_module_behind_its_frames() {
        let mut tables = Tables::default();
        let frame = tables.frame_text("forward", "model.py", 7);
        let module = tables.module_frame("GPT.layers.3", ModuleRole::Backward);
        let plain = tables.stack(&[frame]);
        let stack = tables.stack(&[frame, module]);
        assert_ne!(plain, stack);
        assert_eq!(tables.module(plain), None);
        let expected = InModule { name: "GPT.layers.3", role: ModuleRole::Backward };
        assert_eq!(tables.module(stack), Some(expected));
        assert_eq!(tables.frames(stack).count(), 1);
        assert_eq!(tables.frames(stack).next(), tables.frames(plain).next());
    }

    #[test]
    fn an_unknown_id_reads_as_nothing() {
        let tables = Tables::default();
        assert_eq!(tables.text(StringId(99)), "");
        assert_eq!(tables.frames(StackId(99)).count(), 0);
        assert_eq!(tables.process_name(ProcessId(99)), "");
    }
}
