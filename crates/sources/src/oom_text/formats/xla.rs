//! XLA, as JAX uses it (format X).

use std::sync::LazyLock;

use regex::Regex;
use whyoom_trace::{Counter, Software, Symptom};

use super::Format;
use crate::oom_text::{
    amount::{AMOUNT, amount, regex, whole},
    message::Message,
    settings,
    window::Window,
};

pub(super) const FORMAT: Format =
    Format { anchors: &["Out of memory while trying to allocate", "Failed to allocate "], parse };

static TRYING: LazyLock<Regex> =
    LazyLock::new(|| regex(&format!(r"^Out of memory while trying to allocate {AMOUNT}")));
/// Newer releases go on with the allocator and the device.
static DEVICE: LazyLock<Regex> = LazyLock::new(|| regex(r"^\s*with allocator \S+ on device (\d+)"));
static REQUEST: LazyLock<Regex> = LazyLock::new(|| {
    regex(r"^Failed to allocate request for \S+ \((\d+)B\) on device ordinal (\d+)")
});
static HOST: LazyLock<Regex> = LazyLock::new(|| {
    regex(r"^Failed to allocate \S+ \((\d+) bytes\) of (pinned host|unified) memory")
});

/// What the program needs at once by XLA's own account.
static TOTAL: LazyLock<Regex> = LazyLock::new(|| regex(&format!(r"total allocation:\s+{AMOUNT}")));

/// Adds that and what XLA took when it started, where both are told.
fn with_account(message: Message, window: &Window<'_>) -> Message {
    let needed = TOTAL.captures(window.text()).and_then(|found| amount(&found[1], &found[2]));
    let took =
        settings::XLA.captures_iter(window.before()).last().and_then(|found| whole(&found[1]));
    message.with(Counter::Needed, needed).with(Counter::RoomLeft, took)
}

fn parse(window: &Window<'_>) -> Option<Message> {
    let text = window.text();
    let message = Message::new("X", Software::Xla, Symptom::DeviceOutOfMemory);
    if let Some(found) = TRYING.captures(text) {
        let device = DEVICE.captures(&text[found[0].len()..]).map(|found| found[1].to_owned());
        let message = message.with(Counter::Requested, amount(&found[1], &found[2]));
        return Some(with_account(message, window).on(device.as_deref()));
    }
    if let Some(found) = REQUEST.captures(text) {
        return Some(message.with(Counter::Requested, whole(&found[1])).on(Some(&found[2])));
    }
    let found = HOST.captures(text)?;
    let pinned = &found[2] == "pinned host";
    let symptom = if pinned { Symptom::PinnedOutOfMemory } else { Symptom::DeviceOutOfMemory };
    Some(Message { symptom, ..message.with(Counter::Requested, whole(&found[1])) })
}
