//! PyTorch, from 0.3 to today, on CUDA and ROCm (formats P0 to P10, A).

use std::sync::LazyLock;

use regex::Regex;
use whyoom_trace::{Bytes, Counter, Software, Symptom};

use super::Format;
use crate::oom_text::{
    amount::{AMOUNT, AmountAfter, amount, amount_between, regex},
    known,
    message::Message,
    window::Window,
};

pub(super) const FORMAT: Format = Format {
    anchors: &[
        // Any of these leads to the allocator's message: wherever it is wrapped, one is whole.
        "out of memory. Tried",
        "Tried to allocate",
        "has a total capac",
        "reserved by PyTorch",
        "CUDA out of memory",
        "HIP out of memory",
        "Allocation on device",
        "CUDA error: out of memory",
        "CUDA error:out of memory",
        "NVML_SUCCESS == r INTERNAL ASSERT FAILED",
        "cuda runtime error (2)",
        "DefaultCPUAllocator: ",
        "Allocator backend parsed at runtime != ",
    ],
    parse,
};

fn parse(window: &Window<'_>) -> Option<Message> {
    let line = window.line();
    if line.starts_with("Allocation on device") {
        return Some(async_allocator(window.text()));
    }
    if line.starts_with("NVML_SUCCESS") {
        return Some(Message::new("P7", Software::PyTorch, Symptom::ReportFailed));
    }
    if line.starts_with("Allocator backend parsed") {
        return Some(Message::new("P9", Software::PyTorch, Symptom::SettingTooLate));
    }
    if line.starts_with("cuda runtime error") {
        return Some(of_a_call("P0", window));
    }
    if line.starts_with("CUDA error") {
        return Some(of_a_call("P6", window));
    }
    if line.starts_with("DefaultCPUAllocator") {
        return host_allocator(window.text());
    }
    if line.starts_with(REJECTED) {
        return Some(rejected(window));
    }
    // vLLM has a message of its own that starts with the same words.
    if line.starts_with("CUDA out of memory occurred") {
        return None;
    }
    let (squeezed, at) = window.squeezed();
    match own_part(&squeezed, at) {
        Some(text) => caching_allocator(text),
        // The words alone, or cut off behind them.
        None => {
            (line.contains("out of memory") && !is_quotation(window)).then(|| out_of_memory("P4"))
        }
    }
}

/// Whether somebody speaks of the message: it stands in quotation marks, and is no value of anything.
fn is_quotation(window: &Window<'_>) -> bool {
    let before = window.prefix().strip_suffix(['"', '\'', '`']);
    before.is_some_and(|before| !before.trim_end().ends_with([':', '=', '(', '[', '{', ',']))
}

/// The driver's bare error, which does not tell what was asked for: the traceback's last lines do where host
/// memory was to be pinned.
fn of_a_call(format: &'static str, window: &Window<'_>) -> Message {
    let before = window.before();
    let last_frame = before.rfind("File \"").map_or("", |start| &before[start..]);
    let message = Message { software: whose(window), ..out_of_memory(format) };
    match last_frame.len() < LONGEST_FRAME && last_frame.contains("pin_memory") {
        true => Message { symptom: Symptom::PinnedOutOfMemory, ..message },
        false => message,
    }
}

/// Programs in C++ check their calls with the same words, and name the line.
fn whose(window: &Window<'_>) -> Software {
    let line = [window.prefix(), window.line()].concat();
    match SOURCE_LINE.is_match(&line) && known::software(&line, window.near()) == Software::Program
    {
        true => Software::Program,
        false => Software::PyTorch,
    }
}

static SOURCE_LINE: LazyLock<Regex> =
    LazyLock::new(|| regex(r"\.(?:cuh?|c|cc|cpp|cxx|h|hpp)(?::\d+|\(\d+\)|\W{1,3}line \d+)"));

/// A longer one is the end of another traceback, further up in the log.
const LONGEST_FRAME: usize = 600;

fn out_of_memory(format: &'static str) -> Message {
    Message::new(format, Software::PyTorch, Symptom::DeviceOutOfMemory)
}

const REQUEST: &str = "Triedtoallocate";

/// The part of a text without white space that is the message around `at`: from its request up to
/// where the next message starts, because ranks write into the same log.
fn own_part(squeezed: &str, at: usize) -> Option<&str> {
    // An anchor lies before the request, in it, or behind it; the request starts nearby.
    let near = squeezed[at..].find(REQUEST).filter(|distance| *distance < 30);
    let start = match near {
        Some(distance) => at + distance,
        None => squeezed[..at].rfind(REQUEST).filter(|start| at - start < LONGEST)?,
    };
    let announced = squeezed[..start].ends_with("outofmemory.");
    let part = &squeezed[start..];
    let next = part[REQUEST.len()..].find(REQUEST).map(|next| next + REQUEST.len());
    let part = &part[..next.unwrap_or(part.len())];
    (announced || part.contains("totalcapac")).then_some(part)
}

/// How far the last words of a message lie behind its first, without white space.
const LONGEST: usize = 1500;

static BEFORE_2_1: LazyLock<Regex> = LazyLock::new(|| {
    regex(&format!(
        r"^Triedtoallocate{AMOUNT}\(GPU(\d+);{AMOUNT}totalcapacity;{AMOUNT}alreadyallocated;{AMOUNT}free;(?:{AMOUNT}allowed;)?{AMOUNT}(cached|reserved)"
    ))
});
static SINCE_2_1: LazyLock<Regex> = LazyLock::new(|| {
    regex(&format!(
        r"^Triedtoallocate{AMOUNT}\.GPU(\d+)hasatotal(capacty|capacity)of{AMOUNT}ofwhich{AMOUNT}isfree"
    ))
});
static PROCESS: LazyLock<Regex> =
    LazyLock::new(|| regex(&format!(r"Process(\d+)has{AMOUNT}memoryinuse")));
amount_between!(REQUESTED, "^Triedtoallocate", "");
amount_between!(THIS_PROCESS, "(?i:thisprocess)has", "memoryinuse");
amount_between!(ALLOWED, "", "allowed;");
amount_between!(ALLOCATED, "Oftheallocatedmemory", "isallocatedbyPyTorch");
amount_between!(IN_PRIVATE_POOLS, "with", "allocatedinprivatepools");
// People cut messages off; so far, nothing else reads like these.
amount_between!(CAPACITY, ";", "totalcapacity");
amount_between!(ALREADY, ";", "alreadyallocated");
amount_between!(UNALLOCATED, "and", "isreserv");

fn caching_allocator(text: &str) -> Option<Message> {
    if text.starts_with("Triedtoallocatemorethan1EB") {
        return Some(Message::new("P8", Software::PyTorch, Symptom::BogusSize));
    }
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
        None => out_of_memory("P4")
            .with(Counter::DeviceTotal, CAPACITY.find(text))
            .with(Counter::Allocated, ALREADY.find(text)),
    };
    message = message
        .with(Counter::Requested, REQUESTED.find(text))
        .with(Counter::ProcessUsed, THIS_PROCESS.find(text).filter(|used| *used > Bytes::ZERO))
        .with(Counter::Allowed, ALLOWED.find(text))
        .with(Counter::Allocated, ALLOCATED.find(text))
        .with(Counter::PrivateFree, IN_PRIVATE_POOLS.find(text))
        .with(Counter::Cached, UNALLOCATED.find(text));
    message.holders = PROCESS
        .captures_iter(text)
        .filter_map(|found| Some((found[1].parse().ok()?, amount(&found[2], &found[3])?)))
        .collect();
    // In a container the driver lists the others, and counts nothing for any of them.
    if message.holders.iter().all(|(_, bytes)| *bytes == Bytes::ZERO) {
        message.holders.clear();
    }
    if text.contains("expandable-segmentreserve") {
        message.symptom = Symptom::LimitReached;
    }
    Some(message)
}

/// The start of PyTorch's message, from 2.12 on, if `throw_on_cudamalloc_oom:True` made it refuse a request without asking the driver.
const REJECTED: &str = "CUDA out of memory. Allocation was preemptively rejected";

amount_between!(REJECTED_REQUEST, r"Requested size:\s*", "");
amount_between!(REJECTED_HELD, r"total_allocated_memory \(", r"\)");
amount_between!(REJECTED_LIMIT, r"would exceed memory limit \(", " = ");

/// The refusal, with the figures of the warning before it.
fn rejected(window: &Window<'_>) -> Message {
    let before = window.before();
    let warning = before.rfind("Preemptively rejecting allocation");
    let warning = warning.map_or("", |start| &before[start..]);
    Message::new("P10", Software::PyTorch, Symptom::LimitReached)
        .with(Counter::Requested, REJECTED_REQUEST.find(window.text()))
        .with(Counter::Reserved, REJECTED_HELD.find(warning))
        .with(Counter::Allowed, REJECTED_LIMIT.find(warning))
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
