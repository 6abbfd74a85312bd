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
    "NCCL_BUFFSIZE",
    "CUBLAS_WORKSPACE_CONFIG",
    "gpu_memory_utilization",
    "gpu-memory-utilization",
    "mem_fraction_static",
    "mem-fraction-static",
    "Created device /",
    "Created TensorFlow device",
    "MIG devices:",
    "MIG 1g.",
    "MIG 2g.",
    "MIG 3g.",
    "MIG 4g.",
    "MIG 7g.",
    "NCCL INFO ncclCommInit",
    "XLA backend allocating ",
    "microsoft-standard-WSL",
];

/// A slice of a GPU, as `nvidia-smi` tells of it.
static SLICE: LazyLock<Regex> = LazyLock::new(|| regex(r"^MIG (?:devices:|(\d+g\.\d+gb))"));

/// The GPU that the slices below are of, where its name tells its memory.
static WHOLE: LazyLock<Regex> = LazyLock::new(|| regex(r"GPU \d+: NVIDIA \S*-(\d+)GB\b"));

/// What XLA says when it takes its share.
pub(super) static XLA: LazyLock<Regex> =
    LazyLock::new(|| regex(r"XLA backend allocating (?:\S+ \()?(\d+) bytes\)? on device"));

/// What TensorFlow says when it takes its share, which it keeps to itself.
static TENSORFLOW: LazyLock<Regex> = LazyLock::new(|| {
    regex(r"^Created (?:TensorFlow )?device .*device:GPU:\d+\)? with (\d+) MB memory")
});

/// A server's share (vLLM's, SGLang's), as an option or as its log repeats its arguments.
static SHARE: LazyLock<Regex> = LazyLock::new(|| {
    regex(
        r#"^(gpu[_-]memory[_-]utilization|mem[_-]fraction[_-]static)["']?\s*[=: ]\s*(0?\.\d+|1(?:\.0+)?)\b"#,
    )
});

static ASSIGNMENT: LazyLock<Regex> = LazyLock::new(|| {
    regex(r#"^(\w+)["']?\]?\s*[=:]\s*(?:["']([\w:,.\[\]> -]+)["']|["']?([\w:,.\[\]>-]+))"#)
});
/// What stands before a variable that is being set: a shell's or a Dockerfile's words, Python's
/// environment, a key of JSON, the marks of a trace or a prompt. Anything else may be advice.
static SETS: LazyLock<Regex> = LazyLock::new(|| {
    regex(
        r#"^(?:[+$>#]+\s*)?(?:(?:export|set|env|ENV|declare -x|-e|--env)\s+|.*environ\[["']|["'])?$"#,
    )
});

/// Lines that put something on the GPU: what Python sets behind them, PyTorch has read before.
static USED: LazyLock<Regex> =
    LazyLock::new(|| regex(r#"\.cuda\(\)|\.to\(["']cuda|device=["']cuda|device_map="#));
/// What stands before the name of a variable that was set too late to be in force.
const LATE: &str = "late_";

/// A variable and its value, where the log shows one being set.
pub(super) fn setting(window: &Window<'_>) -> Option<(String, String)> {
    if let Some(found) = SHARE.captures(window.line()) {
        return Some((found[1].replace('-', "_"), found[2].to_owned()));
    }
    if let Some(found) = TENSORFLOW.captures(window.line()) {
        return Some(("tensorflow_share_mb".to_owned(), found[1].to_owned()));
    }
    if window.line().starts_with("NCCL INFO ncclCommInit") {
        return Some(("nccl".to_owned(), "communicators".to_owned()));
    }
    if let Some(found) = XLA.captures(window.line()) {
        return Some(("xla_share".to_owned(), found[1].to_owned()));
    }
    if window.line().starts_with("microsoft-standard-WSL") {
        return Some(("wsl".to_owned(), "2".to_owned()));
    }
    if let Some(found) = SLICE.captures(window.line()) {
        let profile = found.get(1).map_or("a slice", |profile| profile.as_str());
        let whole = WHOLE.captures_iter(window.before()).last();
        let whole = whole.map_or(String::new(), |whole| format!(" of {}GB", &whole[1]));
        return Some(("mig".to_owned(), format!("{profile}{whole}")));
    }
    let prefix = window.prefix().trim_start();
    // Advice that is wrapped goes on in a line that starts with the variable.
    let goes_on = prefix.is_empty() && window.before().trim_end().ends_with("setting");
    if goes_on || !SETS.is_match(prefix) {
        return None;
    }
    let found = ASSIGNMENT.captures(window.line()).filter(|found| ANCHORS.contains(&&found[1]))?;
    let value = found.get(2).or(found.get(3))?.as_str().replace(' ', "");
    let value = value.trim_end_matches(['.', ',']);
    let name = match prefix.contains("environ[") && USED.is_match(window.before()) {
        true => format!("{LATE}{}", &found[1]),
        false => found[1].to_owned(),
    };
    Some((name, value.to_owned()))
}
