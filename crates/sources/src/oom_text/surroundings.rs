//! What the text around a message tells of the device, where the message itself does not.

use std::sync::LazyLock;

use regex::Regex;
use whyoom_trace::{Bytes, Counter, Software, Symptom};

use super::{
    amount::{AMOUNT, amount, binary, regex, whole},
    figures::{Role, figures, first},
    formats::{llama_cpp, tensorflow},
    gpus,
    message::{Message, Weight},
    nvidia_smi, series,
    window::Window,
};

/// CuPy's and CUDA's own figures, as an interpreter prints them: what is free, and all of it.
static MEM_INFO: LazyLock<Regex> =
    LazyLock::new(|| regex(r"(?i)mem_?get_?info\(\)[^(]{0,40}\((\d{6,}), (\d{6,})\)"));
/// The same in a C++ program's words: `cudaMemGetInfo: free 3221225472 total 8589934592`, `free 512 MB of 24564 MB`.
static FREE_AND_TOTAL: LazyLock<Regex> = LazyLock::new(|| {
    regex(
        r"(?i)\bfree\b\W{0,3}\d[\d.]*\s?\w{0,5}\W{1,3}(?:total\b\W{0,3}|of\s+)(\d[\d.,]*)\s?([kmgt]i?b)?",
    )
});
/// What programs print of a device at their start: `total device memory 4294967296`.
static TOTAL: LazyLock<Regex> = LazyLock::new(|| {
    regex(r"(?i)\btotal (?:device |gpu |global )memory\W{0,3}(\d[\d.,]*)\s?([kmgt]i?b)?")
});
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
    let message = of_software(with_series(with_call(message, window), window), window);
    let is_told = message.counters.iter().any(|(counter, _)| *counter == Counter::DeviceTotal);
    if is_told || message.symptom != Symptom::DeviceOutOfMemory {
        return message;
    }
    let total = capacity(window.before())
        .or_else(|| capacity(&window.after()))
        .or_else(|| capacity(window.line()));
    // A program that has more than the device is not on this device.
    let held = message.counters.iter().filter(|(counter, _)| *counter == Counter::Reserved);
    let held = held.map(|(_, bytes)| *bytes).max().unwrap_or_default();
    message.with(Counter::DeviceTotal, total.filter(|total| *total >= held))
}

/// What the call asked for that failed right before: `cudaMalloc(&texture, 67108864) failed`.
fn with_call(message: Message, window: &Window<'_>) -> Message {
    let bare = message.counters.is_empty() && message.symptom == Symptom::DeviceOutOfMemory;
    let lines = window.before().trim_end().lines().rev().take(LINES_OF_A_FAILURE);
    let call = || lines.filter(|line| FAILED_CALL.is_match(line)).find_map(demand);
    let requested = bare.then(call).flatten();
    message.with(Counter::Requested, requested)
}

fn demand(line: &str) -> Option<Bytes> {
    first(&figures(line), Role::Demand)
}

/// A call that fails, on a line that does not say why.
static FAILED_CALL: LazyLock<Regex> =
    LazyLock::new(|| regex(r"(?i)\bcu(?:da|mem)\w*alloc\w*\b.{0,120}\bfail"));
/// A program may say in several lines that a call failed.
const LINES_OF_A_FAILURE: usize = 3;

/// The same as growth, where a message without figures of the device stands beside readings that rise.
fn with_series(message: Message, window: &Window<'_>) -> Message {
    let bare = message.counters.iter().all(|(counter, _)| *counter == Counter::Requested)
        && message.symptom == Symptom::DeviceOutOfMemory;
    let (before, after) = (window.before(), window.after());
    let rise = || series::rise(before).or_else(|| series::rise(&after));
    let fall = || series::fall_of_free(before).or_else(|| series::fall_of_free(&after));
    if let Some((first, last)) = bare.then(fall).flatten() {
        return Message { symptom: Symptom::UsageGrew, weight: Weight::Known, ..message }
            .with(Counter::RoomLeft, Some(first))
            .with(Counter::DeviceFree, Some(last));
    }
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
    let by_program = || {
        let found = FREE_AND_TOTAL.captures_iter(text).last().or_else(|| TOTAL.captures(text))?;
        binary(&found[1], found.get(2).map_or("bytes", |unit| unit.as_str()))
    };
    let by_monitor = || nvidia_smi::memory(text).map(|(_, total)| total);
    by_call()
        .or_else(by_program)
        .or_else(by_server)
        .or_else(by_monitor)
        .or_else(|| gpus::capacity(text))
}
