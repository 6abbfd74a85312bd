//! RAPIDS Memory Manager (format R).

use std::sync::LazyLock;

use regex::Regex;
use whyoom_trace::{Counter, Software, Symptom};

use super::Format;
use crate::oom_text::{
    amount::{AMOUNT, amount, regex},
    message::Message,
    window::Window,
};

pub(super) const FORMAT: Format = Format {
    anchors: &["std::bad_alloc: ", "Maximum pool size exceeded", "Exceeded memory limit"],
    parse,
};

static SIZE: LazyLock<Regex> = LazyLock::new(|| regex(&format!(r"failed to allocate {AMOUNT}")));
/// What the pool holds, its cap, and what it tried.
static POOL: LazyLock<Regex> =
    LazyLock::new(|| regex(&format!(r"current/max/try size = {AMOUNT}, {AMOUNT}, {AMOUNT}")));

fn parse(window: &Window) -> Option<Message> {
    let line = &window.line;
    let symptom =
        if line.contains("Maximum pool size exceeded") || line.contains("Exceeded memory limit") {
            // The anchor that names the limit has it; the one before it is the same message.
            if line.starts_with("std::bad_alloc") {
                return None;
            }
            Symptom::LimitReached
        } else if line.contains("CUDA error") && line.contains("out of memory") {
            // Wrapped exceptions repeat their first words.
            if window.prefix.contains("std::bad_alloc") {
                return None;
            }
            Symptom::DeviceOutOfMemory
        } else {
            return None;
        };
    let requested = SIZE.captures(line).and_then(|found| amount(&found[1], &found[2]));
    let pool = POOL.captures(line);
    let pool = |group: usize| {
        let found = pool.as_ref()?;
        amount(found.get(group)?.as_str(), found.get(group + 1)?.as_str())
    };
    let message = Message::new("R", Software::Rmm, symptom);
    Some(
        message
            .with(Counter::Requested, requested)
            .with(Counter::Reserved, pool(1))
            .with(Counter::Allowed, pool(3)),
    )
}
