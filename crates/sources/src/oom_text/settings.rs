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
    LazyLock::new(|| regex(r#"^(\w+)["']?\]?\s*[=:]\s*["']?([\w:,.\[\]>-]+)"#));
/// What stands before a variable that is being set: a shell's or a Dockerfile's words, Python's
/// environment, a key of JSON, the marks of a trace or a prompt. Anything else may be advice.
static SETS: LazyLock<Regex> = LazyLock::new(|| {
    regex(
        r#"^(?:[+$>#]+\s*)?(?:(?:export|set|env|ENV|declare -x|-e|--env)\s+|.*environ\[["']|["'])?$"#,
    )
});

/// A variable and its value, where the log shows one being set.
pub(super) fn setting(window: &Window<'_>) -> Option<(String, String)> {
    let prefix = window.prefix().trim_start();
    // Advice that is wrapped goes on in a line that starts with the variable.
    let goes_on = prefix.is_empty() && window.before().trim_end().ends_with("setting");
    if goes_on || !SETS.is_match(prefix) {
        return None;
    }
    let found = ASSIGNMENT.captures(window.line()).filter(|found| ANCHORS.contains(&&found[1]))?;
    let value = found[2].trim_end_matches(['.', ',']);
    Some((found[1].to_owned(), value.to_owned()))
}
