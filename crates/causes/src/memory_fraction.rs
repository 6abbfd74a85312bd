//! The share of a device that a server plans with, and what its cache needs of it.

use whyoom_trace::{Bytes, Counter, Symptom};

use crate::{diagnosis::Diagnosis, finding::Remedy, shell_line::ShellLine};

/// A larger share gives the cache a little more, and not twice as much.
const FAR_TOO_LITTLE: u64 = 2;

/// What a server's cache needs and what its share leaves, where more than the share is at fault.
pub(crate) fn cache_beyond_share(diagnosis: &Diagnosis<'_>) -> Option<(Bytes, Bytes)> {
    let incident =
        diagnosis.incident.filter(|_| diagnosis.symptom() == Some(Symptom::ShareTooSmall))?;
    let (needed, left) = (incident.counter(Counter::Needed)?, incident.counter(Counter::RoomLeft)?);
    (needed.0 / FAR_TOO_LITTLE > left.0).then_some((needed, left))
}

/// A longest sequence that fits, where the message tells it.
pub(crate) fn shorter(diagnosis: &Diagnosis<'_>) -> Remedy {
    let what = "a shorter maximum sequence needs a smaller cache";
    match estimated_length(diagnosis.message()) {
        Some(tokens) => {
            Remedy::command(ShellLine::new("--max-model-len").word(tokens.to_string()), what)
        }
        None => Remedy::advice(format!("lower --max-model-len: {what}")),
    }
}

/// The longest sequence that vLLM says would fit.
fn estimated_length(message: &str) -> Option<u64> {
    let (_, behind) = message.split_once("estimated maximum model length is ")?;
    let digits: String = behind.chars().take_while(char::is_ascii_digit).collect();
    digits.parse().ok().filter(|tokens| *tokens > 0)
}
