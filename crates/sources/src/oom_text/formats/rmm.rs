//! RAPIDS Memory Manager (format R).

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
    anchors: &["std::bad_alloc: ", "Maximum pool size exceeded", "Exceeded memory limit"],
    parse,
};

/// A message, with the path of the file that it names, is shorter than this.
const MESSAGE_LENGTH: usize = 500;

static SIZE: LazyLock<Regex> = LazyLock::new(|| regex(&format!(r"failed to allocate {AMOUNT}")));
/// What the pool holds, its cap, and what it tried.
static POOL: LazyLock<Regex> =
    LazyLock::new(|| regex(&format!(r"current/max/try size = {AMOUNT}, {AMOUNT}, {AMOUNT}")));

/// The pool's figures as programs print them before the failure: by the driver's own names for a
/// stream-ordered pool, or by Spark's plug-in.
static RESERVED: LazyLock<Regex> = LazyLock::new(|| {
    regex(r"cudaMemPoolAttrReservedMemCurrent\W+(\d+)|RMM POOL pool size = ([\d.]+) MB")
});
static USED: LazyLock<Regex> = LazyLock::new(|| {
    regex(r"cudaMemPoolAttrUsedMemCurrent\W+(\d+)|Total RMM allocated is (\d+) bytes")
});
static REFUSED: LazyLock<Regex> =
    LazyLock::new(|| regex(r"(?:allocation of|failed to allocate) (\d+) bytes(?: failed)?"));

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
    let before = PoolLines::before(window);
    let requested = SIZE.captures(&text).and_then(|found| amount(&found[1], &found[2]));
    let requested = requested.or(before.refused);
    // What the pool had free was more than was asked for: not its cap stopped it.
    let symptom = match before.free() {
        Some(free) if requested.is_some_and(|requested| requested <= free) => {
            Symptom::DeviceOutOfMemory
        }
        _ => symptom,
    };
    let pool = POOL.captures(&text);
    let pool = |group: usize| {
        let found = pool.as_ref()?;
        amount(found.get(group)?.as_str(), found.get(group + 1)?.as_str())
    };
    let message = Message::new("R", Software::Rmm, symptom);
    Some(
        message
            .with(Counter::Requested, requested)
            .with(Counter::Reserved, pool(1).or(before.reserved))
            .with(Counter::Allocated, before.used)
            .with(Counter::Allowed, pool(3)),
    )
}

/// What the lines before the message tell of the pool.
struct PoolLines {
    reserved: Option<Bytes>,
    used: Option<Bytes>,
    refused: Option<Bytes>,
}

impl PoolLines {
    fn before(window: &Window<'_>) -> Self {
        let last = |pattern: &Regex| {
            let found = pattern.captures_iter(window.before()).last()?;
            // Bytes by the first name; Spark writes the size of its pool in megabytes.
            let bytes = found.get(1).and_then(|bytes| whole(bytes.as_str()));
            bytes.or_else(|| {
                let second = found.get(2)?.as_str();
                if second.contains('.') { amount(second, "MB") } else { whole(second) }
            })
        };
        Self { reserved: last(&RESERVED), used: last(&USED), refused: last(&REFUSED) }
    }

    fn free(&self) -> Option<Bytes> {
        Some(self.reserved?.minus(self.used?))
    }
}
