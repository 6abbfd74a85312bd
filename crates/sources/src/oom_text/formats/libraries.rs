//! NVIDIA's libraries, whose errors often are an out-of-memory in disguise (formats B, D).

use whyoom_trace::{Counter, Software, Symptom};

use super::Format;
use crate::oom_text::{message::Message, nvidia_smi::memory, window::Window};

pub(super) const FORMAT: Format = Format {
    anchors: &[
        "CUBLAS_STATUS_ALLOC_FAILED",
        "CUBLAS_STATUS_NOT_INITIALIZED",
        "CUFFT_ALLOC_FAILED",
        "CUDNN_STATUS_ALLOC_FAILED",
        "CUDNN_STATUS_NOT_INITIALIZED",
        "GET was unable to find an engine",
        "Unable to find a valid cuDNN algorithm",
    ],
    parse,
};

fn parse(window: &Window<'_>) -> Option<Message> {
    let text = window.text();
    let (format, software) = if text.starts_with("CUBLAS") {
        ("B", Software::CuBlas)
    } else if text.starts_with("CUFFT") {
        ("B", Software::CuFft)
    } else {
        ("D", Software::CuDnn)
    };
    let names_memory = text.split_whitespace().next()?.contains("ALLOC_FAILED");
    let symptom = if names_memory { Symptom::LibraryAllocFailed } else { Symptom::IndirectOom };
    let message = Message::new(format, software, symptom);
    // What was free shows whether such an error can be out of memory.
    Some(match memory(window.before()).filter(|_| symptom == Symptom::IndirectOom) {
        Some((free, total)) => {
            message.with(Counter::DeviceTotal, Some(total)).with(Counter::DeviceFree, Some(free))
        }
        None => message,
    })
}
