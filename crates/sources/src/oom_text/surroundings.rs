//! What the text around a message tells of the device, where the message itself does not.

use std::sync::LazyLock;

use regex::Regex;
use whyoom_trace::{Bytes, Counter, Symptom};

use super::{
    amount::{AMOUNT, amount, regex, whole},
    message::Message,
    nvidia_smi,
    window::Window,
};

/// CuPy's and CUDA's own figures, as an interpreter prints them: what is free, and all of it.
static MEM_INFO: LazyLock<Regex> =
    LazyLock::new(|| regex(r"(?i)mem_?get_?info\(\)[^(]{0,40}\((\d{6,}), (\d{6,})\)"));
/// Ollama's line for a GPU.
static OLLAMA: LazyLock<Regex> =
    LazyLock::new(|| regex(&format!(r#"library=cuda [^\n]*\btotal="{AMOUNT}""#)));

/// The same message with the device's capacity, where the lines around it tell that. What was free is not
/// taken from them: it was so at another time.
pub(super) fn complete(message: Message, window: &Window<'_>) -> Message {
    let is_told = message.counters.iter().any(|(counter, _)| *counter == Counter::DeviceTotal);
    if is_told || message.symptom != Symptom::DeviceOutOfMemory {
        return message;
    }
    let total = capacity(window.before()).or_else(|| capacity(&window.after()));
    // A program that has more than the device is not on this device.
    let held = message.counters.iter().filter(|(counter, _)| *counter == Counter::Reserved);
    let held = held.map(|(_, bytes)| *bytes).max().unwrap_or_default();
    message.with(Counter::DeviceTotal, total.filter(|total| *total >= held))
}

fn capacity(text: &str) -> Option<Bytes> {
    let by_call = || whole(&MEM_INFO.captures_iter(text).last()?[2]);
    let by_server = || {
        let found = OLLAMA.captures(text)?;
        amount(&found[1], &found[2])
    };
    by_call().or_else(by_server).or_else(|| nvidia_smi::memory(text).map(|(_, total)| total))
}
