//! llama.cpp (format L).

use std::sync::LazyLock;

use regex::Regex;
use whyoom_trace::{Bytes, Counter, Software, Symptom};

use super::Format;
use crate::oom_text::{
    amount::{amount, regex, whole},
    message::Message,
    window::Window,
};

pub(super) const FORMAT: Format = Format {
    anchors: &["ggml_backend_cuda_buffer_type_alloc_buffer: allocating", "failed to allocate "],
    parse,
};

static ALLOCATING: LazyLock<Regex> = LazyLock::new(|| {
    regex(r"allocating ([\d.,]+) MiB on device (\d+): cudaMalloc failed: out of memory")
});
static BUFFER: LazyLock<Regex> =
    LazyLock::new(|| regex(r"^failed to allocate (?:CUDA|ROCm)(\d+) buffer of size (\d+)"));
static COMPUTE: LazyLock<Regex> =
    LazyLock::new(|| regex(r"^failed to allocate compute (?:pp|tg) buffers"));

/// What a device had free before anything was loaded, and what was loaded into it since.
static AT_START: LazyLock<Regex> =
    LazyLock::new(|| regex(r"using device (?:CUDA|ROCm)(\d+) [^\n]*- (\d+) MiB free"));
pub(in crate::oom_text) static LOADED: LazyLock<Regex> =
    LazyLock::new(|| regex(r"(?:CUDA|ROCm)(\d+) +(?:\w+ )?buffer size = +([\d.]+) MiB"));

fn parse(window: &Window<'_>) -> Option<Message> {
    let mut message = Message::new("L", Software::LlamaCpp, Symptom::DeviceOutOfMemory);
    message.recovered = window.text().contains("retrying without pipeline parallelism");
    if let Some(found) = ALLOCATING.captures(window.line()) {
        let message = message.on(Some(&found[2]));
        let message = message.with(Counter::Requested, amount(&found[1], "MiB"));
        return Some(with_buffers(message, window, &found[2]));
    }
    // The lines that follow tell of the same failure.
    if window.before().contains("cudaMalloc failed")
        || window.before().contains("failed to allocate")
    {
        return None;
    }
    if let Some(found) = BUFFER.captures(window.text()) {
        return Some(message.on(Some(&found[1])).with(Counter::Requested, whole(&found[2])));
    }
    COMPUTE.is_match(window.text()).then_some(message)
}

/// Adds what the log tells of the device before: a model's buffers are all that such a program takes.
fn with_buffers(message: Message, window: &Window<'_>, device: &str) -> Message {
    let of_device = |found: &regex::Captures<'_>| &found[1] == device;
    let sizes = |lines: &Regex| -> Vec<Bytes> {
        let found = lines.captures_iter(window.before()).filter(of_device);
        found.filter_map(|found| amount(&found[2], "MiB")).collect()
    };
    let loaded: Bytes = sizes(&LOADED).into_iter().sum();
    let Some(at_start) = sizes(&AT_START).pop() else { return message };
    message
        .with(Counter::Allocated, Some(loaded))
        .with(Counter::Reserved, Some(loaded))
        .with(Counter::DeviceFree, Some(at_start.minus(loaded)))
}
