//! CuPy (format C).

use std::sync::LazyLock;

use regex::Regex;
use whyoom_trace::{Counter, Software, Symptom};

use super::Format;
use crate::oom_text::{
    amount::{regex, whole},
    message::Message,
    window::Window,
};

pub(super) const FORMAT: Format =
    Format { anchors: &["Out of memory allocating ", "out of memory to allocate "], parse };

static MESSAGE: LazyLock<Regex> = LazyLock::new(|| {
    regex(
        r"^Out of memory allocating ([\d,]+) bytes(?: \(allocated so far: ([\d,]+) bytes(?:, limit set to: ([\d,]+) bytes)?\))?",
    )
});

/// Up to version 6; the total counts the request too.
static OLD: LazyLock<Regex> =
    LazyLock::new(|| regex(r"^out of memory to allocate (\d+) bytes \(total (\d+) bytes\)"));

static ON_HOST: LazyLock<Regex> = LazyLock::new(|| regex(r"(?i)\bcpu|\bhost\b|\bram\b"));
static ON_DEVICE: LazyLock<Regex> = LazyLock::new(|| regex(r"(?i)gpu|cuda|device"));

fn parse(window: &Window<'_>) -> Option<Message> {
    if let Some(found) = OLD.captures(window.text()) {
        let (asked, total) = (whole(&found[1]), whole(&found[2]));
        let held = asked.zip(total).map(|(asked, total)| total.minus(asked));
        return Some(
            Message::new("C", Software::CuPy, Symptom::DeviceOutOfMemory)
                .with(Counter::Requested, asked)
                .with(Counter::Reserved, held)
                .with(Counter::Allocated, held),
        );
    }
    let found = MESSAGE.captures(window.text())?;
    let at = |group: usize| whole(found.get(group)?.as_str());
    // XLA uses the same words, on a host as on a device.
    if window.prefix().contains("RESOURCE_EXHAUSTED") {
        let on_host = ON_HOST.is_match(window.near()) && !ON_DEVICE.is_match(window.near());
        let symptom = if on_host { Symptom::HostOutOfMemory } else { Symptom::DeviceOutOfMemory };
        return Some(Message::new("X", Software::Xla, symptom).with(Counter::Requested, at(1)));
    }
    let message = Message::new("C", Software::CuPy, Symptom::DeviceOutOfMemory)
        .with(Counter::Requested, at(1))
        .with(Counter::Reserved, at(2))
        .with(Counter::Allowed, at(3));
    let over =
        at(1).zip(at(2)).zip(at(3)).is_some_and(|((asked, held), cap)| held.plus(asked) > cap);
    Some(if over { Message { symptom: Symptom::LimitReached, ..message } } else { message })
}
