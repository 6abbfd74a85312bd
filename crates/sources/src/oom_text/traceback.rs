//! The Python traceback that led to a message.

use std::sync::LazyLock;

use regex::Regex;
use whyoom_trace::{StackId, Tables};

use super::{
    amount::regex,
    window::{Window, line_marker},
};

static FRAME: LazyLock<Regex> =
    LazyLock::new(|| regex(r#"^\s*File "([^"]+)", line (\d+), in (\S+)"#));

/// The stack of the traceback that ends where the message starts; empty where there is none.
pub(super) fn stack(window: &Window<'_>, tables: &mut Tables) -> StackId {
    let before = window.before();
    let Some(start) = before.rfind("Traceback (most recent call last)") else { return StackId(0) };
    let marker = line_marker(window.prefix());
    // Other ranks write in between: their lines carry another mark.
    let lines = before[start..].lines().filter_map(|line| line.strip_prefix(marker));
    let mut frames: Vec<_> = lines
        .filter_map(|line| FRAME.captures(line))
        .map(|found| tables.frame_text(&found[3], &found[1], found[2].parse().unwrap_or(0)))
        .collect();
    frames.reverse();
    tables.stack(&frames)
}
