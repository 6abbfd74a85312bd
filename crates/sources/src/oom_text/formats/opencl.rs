//! OpenCL (format O): a device allows one allocation of so much, often a quarter of what it has.

use whyoom_trace::{Bytes, Counter, Software, Symptom};

use super::Format;
use crate::oom_text::{
    amount::{AmountAfter, amount_between, regex},
    message::Message,
    window::Window,
};

pub(super) const FORMAT: Format =
    Format { anchors: &["CL_INVALID_BUFFER_SIZE", "Invalid Buffer Size"], parse };

amount_between!(
    MOST_AT_ONCE,
    r"(?i:max(?:imum)?[ _.]*(?:mem(?:ory)?[ _]*)?alloc(?:ation)?[ _]*size)\W*",
    ""
);
amount_between!(TOTAL, r"(?i:global[ _]*mem(?:ory)?[ _]*size)\W*", "");

fn parse(window: &Window<'_>) -> Option<Message> {
    let before = window.before();
    let (most, total) = (MOST_AT_ONCE.find(before), TOTAL.find(before));
    // Without the device's own figures nothing is known of the limit: the general layer reads it.
    let limit = most.filter(|most| total.is_none_or(|total| *most < total))?;
    let message = Message::new("O", Software::Program, Symptom::LimitReached);
    Some(message.with(Counter::Allowed, Some(limit).filter(|limit| *limit > Bytes::ZERO)))
}
