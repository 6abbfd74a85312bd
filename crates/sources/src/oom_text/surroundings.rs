//! What the text around a message tells of the device, where the message itself does not.

use std::sync::LazyLock;

use regex::Regex;
use whyoom_trace::{Bytes, Counter, Software, Symptom};

use super::{
    amount::{AMOUNT, amount, regex, whole},
    formats::{llama_cpp, tensorflow},
    gpus,
    message::{Message, Weight},
    nvidia_smi, series,
    window::Window,
};

/// CuPy's and CUDA's own figures, as an interpreter prints them: what is free, and all of it.
static MEM_INFO: LazyLock<Regex> =
    LazyLock::new(|| regex(r"(?i)mem_?get_?info\(\)[^(]{0,40}\((\d{6,}), (\d{6,})\)"));
/// Ollama's line for a GPU.
static OLLAMA: LazyLock<Regex> =
    LazyLock::new(|| regex(&format!(r#"library=cuda [^\n]*\btotal="{AMOUNT}""#)));

/// The bar that TensorFlow's allocator draws of its memory: a star is in use.
static BAR: LazyLock<Regex> = LazyLock::new(|| regex(r"bfc_allocator\.cc:\d+\]\s+([*_x]{80,})"));
/// A bar with so many stars of a hundred is full.
const FULL: usize = 95;

/// The same message with the device's capacity, where the lines around it tell that. What was free is not
/// taken from them: it was so at another time.
pub(super) fn complete(message: Message, window: &Window<'_>) -> Message {
    let message = of_software(with_series(message, window), window);
    let is_told = message.counters.iter().any(|(counter, _)| *counter == Counter::DeviceTotal);
    if is_told || message.symptom != Symptom::DeviceOutOfMemory {
        return message;
    }
    let total = capacity(window.before())
        .or_else(|| capacity(&window.after()))
        .or_else(|| gpus::capacity(window.line()));
    // A program that has more than the device is not on this device.
    let held = message.counters.iter().filter(|(counter, _)| *counter == Counter::Reserved);
    let held = held.map(|(_, bytes)| *bytes).max().unwrap_or_default();
    message.with(Counter::DeviceTotal, total.filter(|total| *total >= held))
}

/// The same as growth, where a bare message stands beside readings that rise.
fn with_series(message: Message, window: &Window<'_>) -> Message {
    let bare = message.counters.is_empty() && message.symptom == Symptom::DeviceOutOfMemory;
    let rise = || series::rise(window.before()).or_else(|| series::rise(&window.after()));
    let Some((first, last)) = bare.then(rise).flatten() else { return message };
    Message { symptom: Symptom::UsageGrew, weight: Weight::Known, ..message }
        .with(Counter::Allocated, Some(first))
        .with(Counter::ProcessUsed, Some(last))
}

/// What TensorFlow's allocator says of itself, and llama.cpp of its buffers, wherever it stands.
fn of_software(message: Message, window: &Window<'_>) -> Message {
    let full = |bar: regex::Captures<'_>| bar[1].matches('*').count() * 100 >= bar[1].len() * FULL;
    let told = |wanted| message.counters.iter().any(|(counter, _)| *counter == wanted);
    let text = [window.before(), window.after().as_str()].concat();
    match message.software {
        Software::TensorFlow
            if !told(Counter::Allocated)
                && message.symptom == Symptom::DeviceOutOfMemory
                && BAR.captures_iter(&text).last().is_some_and(full) =>
        {
            Message { symptom: Symptom::WorkTooLarge, counters: Vec::new(), ..message }
        }
        Software::TensorFlow if !told(Counter::Allowed) && !told(Counter::DeviceFree) => {
            let found = tensorflow::STATISTICS.captures_iter(&text).last();
            let limit = found.as_ref().and_then(|found| whole(&found[1]));
            message.with(Counter::Allowed, limit)
        }
        Software::LlamaCpp if !told(Counter::Allocated) => {
            let buffers = llama_cpp::LOADED.captures_iter(&text);
            let loaded: Bytes = buffers.filter_map(|found| amount(&found[2], "MiB")).sum();
            let loaded = Some(loaded).filter(|loaded| *loaded > Bytes::ZERO);
            message.with(Counter::Allocated, loaded).with(Counter::Reserved, loaded)
        }
        _ => message,
    }
}

fn capacity(text: &str) -> Option<Bytes> {
    let by_call = || whole(&MEM_INFO.captures_iter(text).last()?[2]);
    let by_server = || {
        let found = OLLAMA.captures(text)?;
        amount(&found[1], &found[2])
    };
    let by_monitor = || nvidia_smi::memory(text).map(|(_, total)| total);
    by_call().or_else(by_server).or_else(by_monitor).or_else(|| gpus::capacity(text))
}
