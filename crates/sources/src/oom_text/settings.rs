//! Settings that a log shows to be in force.

use std::sync::LazyLock;

use regex::Regex;

use super::{amount::regex, window::Window};

/// The variables that decide how frameworks take memory.
pub(super) const ANCHORS: &[&str] = &[
    "PYTORCH_CUDA_ALLOC_CONF",
    "PYTORCH_HIP_ALLOC_CONF",
    "PYTORCH_ALLOC_CONF",
    "XLA_PYTHON_CLIENT_MEM_FRACTION",
    "XLA_PYTHON_CLIENT_PREALLOCATE",
];

static ASSIGNMENT: LazyLock<Regex> =
    LazyLock::new(|| regex(r#"^(\w+)["']?\]?\s*[=:]\s*["']?([\w:,.\[\]-]+)"#));

/// A variable and its value, where the log shows one being set: not where a message advises it.
pub(super) fn setting(window: &Window) -> Option<(String, String)> {
    let advice = ["try setting", "setting ", "try ", "Try setting", "set "];
    let before = window.prefix.trim_end();
    if advice.iter().any(|words| before.ends_with(words.trim_end())) {
        return None;
    }
    let found = ASSIGNMENT.captures(&window.line).filter(|found| ANCHORS.contains(&&found[1]))?;
    let value = found[2].trim_end_matches(['.', ',']);
    Some((found[1].to_owned(), value.to_owned()))
}
