//! Stacks as text, made once each.

use whyoom_memory::call_site;
use whyoom_trace::{StackId, Tables};

/// Something made of each stack, once.
pub(crate) struct ByStack<T> {
    made: Vec<Option<T>>,
    make: fn(&Tables, StackId) -> T,
}

impl<T: Clone> ByStack<T> {
    pub(crate) fn new(make: fn(&Tables, StackId) -> T) -> Self {
        Self { made: Vec::new(), make }
    }

    /// What is made of a stack.
    pub(crate) fn get(&mut self, tables: &Tables, stack: StackId) -> T {
        let index = stack.0 as usize;
        // Ids are dense; one that names nothing must not make this large.
        if index >= tables.stack_count() {
            return (self.make)(tables, StackId(0));
        }
        if index >= self.made.len() {
            self.made.resize(index + 1, None);
        }
        self.made[index].get_or_insert_with(|| (self.make)(tables, stack)).clone()
    }
}

/// The frames of a stack, the innermost first, one a line.
pub(crate) fn stack_text(tables: &Tables, stack: StackId) -> String {
    let line = |frame: whyoom_trace::FrameText<'_>| match frame.line {
        0 => format!("{} ({})", frame.function, frame.file),
        line => format!("{} ({}:{line})", frame.function, frame.file),
    };
    tables.frames(stack).map(line).collect::<Vec<_>>().join("\n")
}

/// The place in the program that a stack leads to; nothing for the empty stack.
pub(crate) fn place_text(tables: &Tables, stack: StackId) -> Option<String> {
    tables.frames(stack).next().map(|_| call_site(tables, stack))
}
