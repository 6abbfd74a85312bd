//! PyTorch, from 0.3 to today, on CUDA and ROCm (formats P0 to P8, A).

use std::sync::LazyLock;

use regex::Regex;
use whyoom_trace::{Bytes, Counter, Software, Symptom};

use super::Format;
use crate::oom_text::{
    amount::{AMOUNT, AmountAfter, amount, amount_between, regex},
    message::Message,
    window::Window,
};

pub(super) const FORMAT: Format = Format {
    anchors: &[
        "out of memory. Tried",
        "Out of memory. Tried",
        "Allocation on device",
        "CUDA error: out of memory",
        "CUDA error:out of memory",
        "NVML_SUCCESS == r INTERNAL ASSERT FAILED",
        "cuda runtime error (2)",
        "DefaultCPUAllocator: ",
    ],
    parse,
};

fn parse(window: &Window) -> Option<Message> {
    let text = &window.text;
    if text.starts_with("Allocation on device") {
        return Some(async_allocator(text));
    }
    if text.starts_with("NVML_SUCCESS") {
        return Some(Message::new("P7", Software::PyTorch, Symptom::ReportFailed));
    }
    if text.starts_with("cuda runtime error") {
        return Some(out_of_memory("P0"));
    }
    if text.starts_with("CUDA error") {
        return Some(out_of_memory("P6"));
    }
    if text.starts_with("DefaultCPUAllocator") {
        return host_allocator(text);
    }
    if text.contains("allocate more than 1EB memory") {
        return Some(Message::new("P8", Software::PyTorch, Symptom::BogusSize));
    }
    // A terminal may have wrapped the text inside a number: take the reading that tells more.
    let readings = [text, &window.unwrapped].map(|text| caching_allocator(own_part(text)));
    readings.into_iter().flatten().rev().max_by_key(|m| m.counters.len() + m.holders.len())
}

fn out_of_memory(format: &'static str) -> Message {
    Message::new(format, Software::PyTorch, Symptom::DeviceOutOfMemory)
}

/// The text up to where the next such message starts: ranks write into the same log.
fn own_part(text: &str) -> &str {
    let next = text.match_indices("Tried to allocate").nth(1);
    next.map_or(text, |(at, _)| &text[..at])
}

static BEFORE_2_1: LazyLock<Regex> = LazyLock::new(|| {
    regex(&format!(
        r"Tried to allocate {AMOUNT}\s+\(GPU (\d+); {AMOUNT} total capacity; {AMOUNT} already allocated; {AMOUNT} free;(?: {AMOUNT} allowed;)? {AMOUNT} (cached|reserved)"
    ))
});
static SINCE_2_1: LazyLock<Regex> = LazyLock::new(|| {
    regex(&format!(
        r"Tried to allocate {AMOUNT}\.\s+GPU (\d+) has a total (capacty|capacity) of {AMOUNT} of which {AMOUNT} is free"
    ))
});
static PROCESS: LazyLock<Regex> =
    LazyLock::new(|| regex(&format!(r"Process (\d+) has {AMOUNT} memory in use")));
amount_between!(REQUESTED, "Tried to allocate ", "");
amount_between!(THIS_PROCESS, "(?i:this process) has ", " memory in use");
amount_between!(ALLOWED, "", " allowed;");
amount_between!(ALLOCATED, "Of the allocated memory ", " is allocated by PyTorch");
amount_between!(IN_PRIVATE_POOLS, "with ", " allocated in private pools");
amount_between!(UNALLOCATED, "and ", " is reserved by PyTorch but unallocated");

fn caching_allocator(text: &str) -> Option<Message> {
    if let Some(found) = BEFORE_2_1.captures(text) {
        let at = |group: usize| amount(found.get(group)?.as_str(), found.get(group + 1)?.as_str());
        let format = if &found[14] == "cached" { "P1" } else { "P2" };
        let message = out_of_memory(format)
            .on(Some(&found[3]))
            .with(Counter::Requested, at(1))
            .with(Counter::DeviceTotal, at(4))
            .with(Counter::Allocated, at(6))
            .with(Counter::DeviceFree, at(8))
            .with(Counter::Allowed, at(10));
        // Until 1.3 the last figure was the cache alone, since then all that the allocator holds.
        let last = if format == "P1" { Counter::Cached } else { Counter::Reserved };
        return Some(message.with(last, at(12)));
    }
    let mut message = match SINCE_2_1.captures(text) {
        Some(found) => {
            let format = if &found[4] == "capacty" { "P3" } else { "P4" };
            out_of_memory(format)
                .on(Some(&found[3]))
                .with(Counter::DeviceTotal, amount(&found[5], &found[6]))
                .with(Counter::DeviceFree, amount(&found[7], &found[8]))
        }
        // Cut short, or of a device whose text has no more.
        None => out_of_memory("P4"),
    };
    message = message
        .with(Counter::Requested, Some(REQUESTED.find(text)?))
        .with(Counter::ProcessUsed, THIS_PROCESS.find(text).filter(|used| *used > Bytes::ZERO))
        .with(Counter::Allowed, ALLOWED.find(text))
        .with(Counter::Allocated, ALLOCATED.find(text))
        .with(Counter::PrivateFree, IN_PRIVATE_POOLS.find(text))
        .with(Counter::Cached, UNALLOCATED.find(text));
    message.holders = PROCESS
        .captures_iter(text)
        .filter_map(|found| Some((found[1].parse().ok()?, amount(&found[2], &found[3])?)))
        .collect();
    if text.contains("expandable-segment reserve") {
        message.symptom = Symptom::LimitReached;
    }
    Some(message)
}

amount_between!(P5_ALLOCATED, r"Currently allocated\s*:\s*", "");
amount_between!(P5_REQUESTED, r"Requested\s*:\s*", "");
amount_between!(P5_TOTAL, r"Device limit\s*:\s*", "");
amount_between!(P5_FREE, r"Free \(according to \w+\)\s*:\s*", "");
amount_between!(P5_ALLOWED, r"memory fraction\)\s*:\s*", "");

/// The backend cudaMallocAsync. In some releases the message ends after its third word.
fn async_allocator(text: &str) -> Message {
    let ordinal = text.split_whitespace().nth(3);
    out_of_memory("P5")
        .on(ordinal)
        .with(Counter::Requested, P5_REQUESTED.find(text))
        .with(Counter::DeviceTotal, P5_TOTAL.find(text))
        .with(Counter::DeviceFree, P5_FREE.find(text))
        .with(Counter::Allocated, P5_ALLOCATED.find(text))
        .with(Counter::Allowed, P5_ALLOWED.find(text))
}

amount_between!(HOST_REQUESTED, "you tried to allocate ", "");

fn host_allocator(text: &str) -> Option<Message> {
    let refused = text.contains("can't allocate memory") || text.contains("not enough memory");
    let message = Message::new("K", Software::PyTorch, Symptom::HostOutOfMemory);
    refused.then(|| message.with(Counter::Requested, HOST_REQUESTED.find(text)))
}
