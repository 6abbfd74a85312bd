//! TensorFlow (format TF). JAX shares its allocator, and so some of the words.

use std::sync::LazyLock;

use regex::Regex;
use whyoom_trace::{Bytes, Counter, Software, Symptom};

use super::Format;
use crate::oom_text::{
    amount::{AMOUNT, amount, regex, whole},
    message::Message,
    window::Window,
};

pub(super) const FORMAT: Format = Format {
    anchors: &[
        "OOM when allocating tensor",
        "failed to allocate ",
        "ran out of memory trying to allocate",
    ],
    parse,
};

static TENSOR: LazyLock<Regex> = LazyLock::new(|| {
    regex(
        r"^OOM when allocating tensor with shape\s?\[([\d, ]*)\] and type (\w+) on \S*device:(GPU|CPU):(\d+)",
    )
});
static FROM_DEVICE: LazyLock<Regex> = LazyLock::new(|| {
    regex(r"^failed to allocate \S+ \((\d+) bytes\) from device: CUDA_ERROR_OUT_OF_MEMORY")
});
static ALLOCATOR: LazyLock<Regex> =
    LazyLock::new(|| regex(&format!(r"^ran out of memory trying to allocate {AMOUNT}")));
/// What it found when it started.
static FOUND: LazyLock<Regex> = LazyLock::new(|| {
    regex(&format!(r"(?i)total ?memory: {AMOUNT}\s+(?:\S+ )?free ?memory: {AMOUNT}"))
});
/// What the allocator may have and what was in use, which it prints before the failure itself.
pub(in crate::oom_text) static STATISTICS: LazyLock<Regex> =
    LazyLock::new(|| regex(r"\bLimit: +(\d+)\s+(?:\S+ )*?InUse: +(\d+)"));
static ALLOCATOR_DEVICE: LazyLock<Regex> = LazyLock::new(|| regex(r"\(GPU_(\d+)_bfc\)\s*$"));
/// The allocator of pinned memory, of TensorFlow or of JAX.
static ALLOCATOR_PINNED: LazyLock<Regex> =
    LazyLock::new(|| regex(r"\((?:xla_)?(?:gpu|cuda)_host_bfc\)\s*$"));

fn parse(window: &Window<'_>) -> Option<Message> {
    let text = window.text();
    let message = Message::new("TF", Software::TensorFlow, Symptom::DeviceOutOfMemory);
    if let Some(found) = TENSOR.captures(text) {
        let bytes = tensor_bytes(&found[1], &found[2]);
        let message = message.with(Counter::Requested, bytes);
        if &found[3] == "CPU" {
            return Some(Message { symptom: Symptom::HostOutOfMemory, ..message });
        }
        return Some(with_statistics(message, window).on(Some(&found[4])));
    }
    if let Some(found) = FROM_DEVICE.captures(text) {
        return Some(in_advance(at_start(
            message.with(Counter::Requested, whole(&found[1])),
            window,
        )));
    }
    let found = ALLOCATOR.captures(text)?;
    // Most of these are not failures, and say so.
    if window.line().contains("not a failure") {
        return None;
    }
    let message = match ALLOCATOR_PINNED.is_match(window.prefix()) {
        true => Message { symptom: Symptom::PinnedOutOfMemory, ..message },
        false => message,
    };
    let device = ALLOCATOR_DEVICE.captures(window.prefix());
    let device = device.as_ref().map(|found| found[1].to_owned());
    Some(message.with(Counter::Requested, amount(&found[1], &found[2])).on(device.as_deref()))
}

/// Adds what TensorFlow found on the device before it took anything of it.
fn at_start(message: Message, window: &Window<'_>) -> Message {
    let Some(found) = FOUND.captures_iter(window.before()).last() else { return message };
    message
        .with(Counter::DeviceTotal, amount(&found[1], &found[2]))
        .with(Counter::DeviceFree, amount(&found[3], &found[4]))
        .with(Counter::Allocated, Some(Bytes::ZERO))
        .with(Counter::Reserved, Some(Bytes::ZERO))
}

/// What is nearly the device is no tensor: TensorFlow takes its share when it starts.
fn in_advance(message: Message) -> Message {
    let told = |wanted| message.counters.iter().find(|(one, _)| *one == wanted).map(|(_, b)| *b);
    let (asked, total) = (told(Counter::Requested), told(Counter::DeviceTotal));
    let nearly = asked.zip(total).is_some_and(|(asked, total)| asked.0 >= total.0 / 10 * 9);
    match nearly {
        true => Message { symptom: Symptom::PreallocationFailed, ..message }
            .with(Counter::Preallocation, asked),
        false => message,
    }
}

/// Adds what the allocator told of itself: of its limit, what is not in use is all that it could still give.
fn with_statistics(message: Message, window: &Window<'_>) -> Message {
    let Some(found) = STATISTICS.captures_iter(window.before()).last() else { return message };
    let (limit, in_use) = (whole(&found[1]), whole(&found[2]));
    message
        .with(Counter::Reserved, in_use)
        .with(Counter::Allocated, in_use)
        .with(Counter::DeviceFree, limit.zip(in_use).map(|(limit, in_use)| limit.minus(in_use)))
}

fn tensor_bytes(shape: &str, type_name: &str) -> Option<Bytes> {
    let element: u64 = match type_name {
        "double" | "int64" | "uint64" | "complex64" => 8,
        "float" | "int32" | "uint32" => 4,
        "half" | "bfloat16" | "int16" | "uint16" => 2,
        "complex128" => 16,
        "int8" | "uint8" | "bool" => 1,
        _ => return None,
    };
    let mut sizes = shape.split(',').map(str::trim).filter(|size| !size.is_empty());
    sizes.try_fold(element, |product, size| product.checked_mul(size.parse().ok()?)).map(Bytes)
}
