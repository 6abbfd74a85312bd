//! HAMi, a shim that gives a process a part of a GPU (format H).

use std::sync::LazyLock;

use regex::Regex;
use whyoom_trace::{Counter, Software, Symptom};

use super::Format;
use crate::oom_text::{
    amount::{regex, whole},
    message::Message,
    window::Window,
};

pub(super) const FORMAT: Format = Format { anchors: &["HAMI-core ERROR"], parse };

/// The first number is what would be in use with the request.
static MESSAGE: LazyLock<Regex> = LazyLock::new(|| regex(r"Device (\d+) OOM (\d+) / (\d+)"));

fn parse(window: &Window<'_>) -> Option<Message> {
    let found = MESSAGE.captures(window.line())?;
    let message = Message::new("H", Software::Hami, Symptom::LimitReached)
        .on(Some(&found[1]))
        .with(Counter::Needed, whole(&found[2]))
        .with(Counter::Allowed, whole(&found[3]));
    Some(message)
}
