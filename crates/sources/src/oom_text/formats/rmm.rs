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

/// A message, with the path of the file that it names, is shorter than this.
const MESSAGE_LENGTH: usize = 500;

static SIZE: LazyLock<Regex> = LazyLock::new(|| regex(&format!(r"failed to allocate {AMOUNT}")));
/// What the pool holds, its cap, and what it tried.
static POOL: LazyLock<Regex> =
    LazyLock::new(|| regex(&format!(r"current/max/try size = {AMOUNT}, {AMOUNT}, {AMOUNT}")));

fn parse(window: &Window<'_>) -> Option<Message> {
    let text: String = window.text().chars().take(MESSAGE_LENGTH).collect();
    let names_limit = ["Maximum pool size exceeded", "Exceeded memory limit"];
    let symptom = if names_limit.iter().any(|words| text.starts_with(words)) {
        // A pool reports in the same words that the driver refused it more.
        if text.contains("cudaErrorMemoryAllocation") {
            Symptom::DeviceOutOfMemory
        } else {
            Symptom::LimitReached
        }
    } else if names_limit.iter().any(|words| text.contains(words)) {
        // The same message comes again at the words that name the limit.
        return None;
    } else if text.contains("cudaErrorMemoryAllocation") {
        // Wrapped exceptions repeat their words inside each other.
        let outer = ["std::bad_alloc", "Maximum pool size exceeded"];
        if outer.iter().any(|words| window.prefix().contains(words)) {
            return None;
        }
        Symptom::DeviceOutOfMemory
    } else {
        return None;
    };
    let requested = SIZE.captures(&text).and_then(|found| amount(&found[1], &found[2]));
    let pool = POOL.captures(&text);
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
