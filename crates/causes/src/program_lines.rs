//! The program's own lines, told apart.

use std::hash::{DefaultHasher, Hash, Hasher};

use whyoom_trace::{FrameText, StackId, Tables};

/// Where PyTorch calls modules.
const MODULE_CALLS: &str = "torch/nn/modules/module.py";

/// The program's own lines that led to each stack, down to where the first module was called: a loop over layers
/// is no iteration. A failure has other native frames below it than a request that was served.
pub(crate) struct ProgramLines(Vec<Option<u64>>);

impl ProgramLines {
    pub(crate) fn of(tables: &Tables) -> Self {
        let line = |stack| {
            let mut hasher = DefaultHasher::new();
            let mut known = false;
            let frames = tables.frames(StackId(stack)).rev().filter(FrameText::is_python);
            for frame in frames.take_while(|frame| !frame.file.ends_with(MODULE_CALLS)) {
                (frame.function, frame.file, frame.line).hash(&mut hasher);
                known = true;
            }
            known.then(|| hasher.finish())
        };
        Self((0..tables.stack_count() as u32).map(line).collect())
    }

    /// Nothing for a stack without any.
    pub(crate) fn of_stack(&self, stack: StackId) -> Option<u64> {
        *self.0.get(stack.0 as usize)?
    }
}
