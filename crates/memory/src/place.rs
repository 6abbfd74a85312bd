//! Where in the program a stack leads to, in the words of its author.

use whyoom_trace::{Bytes, FrameText, StackId, Tables};

use crate::block::Usage;

/// Only the largest stacks are looked at: the rest changes no sum that anybody is shown.
const MANY_STACKS: usize = 64;

/// The place in the program that a stack leads to: its innermost frame outside libraries.
#[must_use]
pub fn place(tables: &Tables, stack: StackId) -> String {
    let in_library = |file: &str| {
        file.contains("site-packages")
            || file.contains("dist-packages")
            || file.contains("/lib/python")
    };
    let python = || tables.frames(stack).filter(FrameText::is_python);
    let own = python().find(|frame| !in_library(frame.file));
    if let Some(frame) = own.or_else(|| python().next()) {
        return format!("{}:{} {}", short(frame.file), frame.line, frame.function);
    }
    let backward = tables.frames(stack).find_map(|frame| autograd_node(frame.function));
    match backward {
        Some(node) => format!("backward of {node}"),
        None => "unknown places (no Python frame)".to_owned(),
    }
}

/// Sums by stack as sums by place, the most first: several stacks may lead to one line.
#[must_use]
pub fn sums_by_place(tables: &Tables, stacks: Vec<(StackId, Usage)>) -> Vec<(String, Bytes)> {
    let mut places: Vec<(String, Bytes)> = Vec::new();
    for (stack, usage) in stacks.into_iter().take(MANY_STACKS) {
        let place = place(tables, stack);
        match places.iter_mut().find(|(known, _)| *known == place) {
            Some((_, bytes)) => *bytes = bytes.plus(usage.bytes),
            None => places.push((place, usage.bytes)),
        }
    }
    places.sort_by_key(|(_, bytes)| std::cmp::Reverse(*bytes));
    places
}

/// A path without most of its folders.
fn short(path: &str) -> &str {
    let mut slashes = path.rmatch_indices(['/', '\\']);
    slashes.nth(1).map_or(path, |(at, _)| &path[at + 1..])
}

/// The autograd node that a C++ frame belongs to: `MulBackward0`.
fn autograd_node(function: &str) -> Option<&str> {
    let node = function.strip_prefix("torch::autograd::generated::")?;
    let node = &node[..node.find("::")?];
    node.contains("Backward").then_some(node)
}
