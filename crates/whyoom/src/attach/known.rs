//! What is known of a process without looking into it.

use whyoom_files::kernel;
use whyoom_redact::mask_words;
use whyoom_trace::Bytes;

use crate::who::held_by;

/// Words of a command that are shown.
const SHOWN: usize = 6;

/// Its command, without secrets.
pub(super) fn command(pid: u32) -> Vec<String> {
    let bytes = kernel::bytes(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    let words = bytes.split(|byte| *byte == 0).filter(|word| !word.is_empty());
    let words: Vec<String> =
        words.take(SHOWN).map(|word| String::from_utf8_lossy(word).into_owned()).collect();
    mask_words(&words)
}

/// What the driver says that it holds, in a line.
pub(super) fn by_driver(pid: u32) -> String {
    match held_by(pid) {
        Some(held) if held.is_empty() => format!("process {pid} holds no GPU memory"),
        Some(held) => {
            let one = |(device, bytes): &(u32, Option<u64>)| match bytes {
                Some(bytes) => format!("{} on GPU {device}", Bytes(*bytes)),
                None => format!("an unknown amount on GPU {device}"),
            };
            let held: Vec<String> = held.iter().map(one).collect();
            format!("process {pid} holds {} (the driver's figure)", held.join(", "))
        }
        None => format!("no driver tells what process {pid} holds (whyoom who)"),
    }
}
