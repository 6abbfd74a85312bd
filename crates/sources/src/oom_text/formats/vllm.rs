//! vLLM (format V).

use std::sync::LazyLock;

use regex::Regex;
use whyoom_trace::{Counter, Software, Symptom};

use super::Format;
use crate::oom_text::{
    amount::{AmountAfter, amount, amount_between, regex},
    message::Message,
    window::Window,
};

pub(super) const FORMAT: Format = Format {
    anchors: &[
        "Free memory on device ",
        "free memory on device ",
        "No available memory for the cache blocks",
        "To serve at least one request with the model",
        "CUDA out of memory occurred when warming up sampler",
        "is larger than the maximum number of tokens that can be stored in KV cache",
        "Error in memory profiling.",
    ],
    parse,
};

static STARTUP: LazyLock<Regex> = LazyLock::new(|| {
    regex(
        r"^[Ff]ree memory on device (?:cuda:(\d+) )?\(([\d.]+)/([\d.]+) GiB\) on startup is less than desired GPU memory utilization \([\d.]+, ([\d.]+) GiB\)",
    )
});
amount_between!(NEEDED, r"\d+\),\s+\(?", " KV cache is needed");
amount_between!(ROOM_LEFT, r"available KV cache memory \(", r"\)");

fn parse(window: &Window<'_>) -> Option<Message> {
    let text = window.text();
    let message = |symptom| Message::new("V", Software::Vllm, symptom);
    if text.starts_with("Free memory") || text.starts_with("free memory") {
        let found = STARTUP.captures(text)?;
        let gib = |group: usize| amount(&found[group], "GiB");
        let ordinal = found.get(1).map(|ordinal| ordinal.as_str());
        return Some(
            message(Symptom::PreallocationFailed)
                .on(ordinal)
                .with(Counter::DeviceFree, gib(2))
                .with(Counter::DeviceTotal, gib(3))
                .with(Counter::Preallocation, gib(4)),
        );
    }
    if text.starts_with("Error in memory profiling") {
        return Some(message(Symptom::FreeMemoryChanged));
    }
    // The share is so large that the sampler, which works outside it, finds no room.
    if text.starts_with("CUDA out of memory occurred") {
        return Some(message(Symptom::ShareTooLarge));
    }
    Some(
        message(Symptom::ShareTooSmall)
            .with(Counter::Needed, NEEDED.find(text))
            .with(Counter::RoomLeft, ROOM_LEFT.find(text)),
    )
}
