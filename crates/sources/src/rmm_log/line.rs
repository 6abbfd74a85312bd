//! One line of the log.

use whyoom_trace::{Address, StreamId, ThreadId};

use super::clock::time_of_day;

/// What a line tells of.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Act {
    #[default]
    Allocate,
    Free,
    /// An allocation that failed: logged since version 22.04.
    Fail,
}

/// A line, read.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Line {
    pub(super) thread: ThreadId,
    /// In nanoseconds.
    pub(super) time_of_day: u64,
    pub(super) act: Act,
    pub(super) address: Address,
    pub(super) size: u64,
    pub(super) stream: StreamId,
}

impl Line {
    /// Reads a line without its end; nothing where it is none of the log's.
    pub(super) fn parse(bytes: &[u8]) -> Option<Self> {
        let mut fields = bytes.split(|byte| *byte == b',');
        let mut field = || std::str::from_utf8(fields.next()?).ok();
        let thread = field()?.parse().ok()?;
        let time_of_day = time_of_day(field()?.as_bytes())?;
        let act = match field()? {
            "allocate" => Act::Allocate,
            "free" => Act::Free,
            "allocate failure" => Act::Fail,
            _ => return None,
        };
        let address = pointer(field()?)?;
        let size = field()?.parse().ok()?;
        let stream = handle(field()?)?;
        fields.next().is_none().then_some(Self {
            thread: ThreadId(thread),
            time_of_day,
            act,
            address: Address(address),
            size,
            stream: StreamId(stream),
        })
    }
}

/// A pointer as C's `%p` and C++'s streams write it.
fn pointer(text: &str) -> Option<u64> {
    match text {
        "(nil)" | "(null)" | "nullptr" => Some(0),
        _ => hexadecimal(text.strip_prefix("0x").unwrap_or(text)),
    }
}

/// A stream: a pointer, or in the oldest logs a number.
fn handle(text: &str) -> Option<u64> {
    match text.strip_prefix("0x") {
        Some(digits) => hexadecimal(digits),
        None => text.parse().ok().or_else(|| pointer(text)),
    }
}

fn hexadecimal(digits: &str) -> Option<u64> {
    // `from_str_radix` takes a sign too.
    let plain = digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    u64::from_str_radix(digits, 16).ok().filter(|_| plain)
}
