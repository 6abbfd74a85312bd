//! NCCL (format N). The sizes it prints are its own and small: no advice can be sized by them.

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
    Format { anchors: &["NCCL WARN Cuda failure", "Failed to CUDA "], parse };

static FAILURE: LazyLock<Regex> =
    LazyLock::new(|| regex(r"^NCCL WARN Cuda failure (?:2 )?'out of memory'"));
static FAILED_CALL: LazyLock<Regex> =
    LazyLock::new(|| regex(r"^Failed to CUDA (malloc|calloc async|calloc|host alloc) (\d+) bytes"));

/// The line behind it tells what failed: memory of the host.
static OF_THE_HOST: LazyLock<Regex> = LazyLock::new(|| {
    regex(
        r"^NCCL WARN Cuda failure (?:2 )?'out of memory'.{0,200}?NCCL WARN Failed to CUDA host alloc",
    )
});

fn parse(window: &Window<'_>) -> Option<Message> {
    let message = Message::new("N", Software::Nccl, Symptom::LibraryAllocFailed);
    if FAILURE.is_match(window.text()) {
        return (!OF_THE_HOST.is_match(window.text())).then_some(message);
    }
    let found = FAILED_CALL.captures(window.text())?;
    let message = message.with(Counter::Requested, whole(&found[2]));
    Some(match &found[1] {
        "host alloc" => Message { symptom: Symptom::PinnedOutOfMemory, ..message },
        _ => message,
    })
}
