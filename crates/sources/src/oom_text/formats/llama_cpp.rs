//! llama.cpp (format L).

use std::sync::LazyLock;

use regex::Regex;
use whyoom_trace::{Counter, Software, Symptom};

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

fn parse(window: &Window<'_>) -> Option<Message> {
    // It tries again with less, and then it was no failure.
    if window.text().contains("retrying without pipeline parallelism") {
        return None;
    }
    let message = Message::new("L", Software::LlamaCpp, Symptom::DeviceOutOfMemory);
    if let Some(found) = ALLOCATING.captures(window.line()) {
        return Some(
            message.on(Some(&found[2])).with(Counter::Requested, amount(&found[1], "MiB")),
        );
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
