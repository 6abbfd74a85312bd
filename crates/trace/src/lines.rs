//! Events as lines of text: one JSON object a line, for logs that people and other programs read.
//!
//! ```text
//! {"version":1,"event":{"time":…,"origin":{"process":41,…},"result":2,"action":{"alloc":{…}}},"text":""}
//! ```
//!
//! The process is its number in the operating system. A line stands for itself: where an action
//! names a string, the string is the line's `text`.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

use crate::{Action, Event, ProcessId, Tables};

/// The format's version.
const VERSION: u32 = 1;

/// A line could not be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LineError {
    /// It is not a line of this format.
    #[error("not an event: {0}")]
    Syntax(#[from] serde_json::Error),
    /// It is of another version.
    #[error("an event of version {0}, and this program reads version {VERSION}; update it")]
    Version(u32),
}

#[derive(Serialize, Deserialize)]
struct Line<'a> {
    version: u32,
    event: Event,
    #[serde(borrow, default)]
    text: std::borrow::Cow<'a, str>,
}

/// An event as a line, without its end. `text` is the string that the action names, if it names one.
#[must_use]
pub fn write(event: &Event, text: &str) -> String {
    let line = Line { version: VERSION, event: *event, text: text.into() };
    // A structure of numbers and one string: nothing in it can fail to be written.
    serde_json::to_string(&line).unwrap_or_default()
}

/// Reads lines back into events of one stream.
#[derive(Debug, Default)]
pub struct Reader {
    processes: HashMap<u32, ProcessId>,
}

impl Reader {
    /// The event of a line, its process and string interned in the tables.
    pub fn read(&mut self, line: &str, tables: &mut Tables) -> Result<Event, LineError> {
        let line: Line<'_> = serde_json::from_str(line)?;
        if line.version != VERSION {
            return Err(LineError::Version(line.version));
        }
        let mut event = line.event;
        let number = event.origin.process.0;
        let process = self.processes.entry(number);
        event.origin.process =
            *process.or_insert_with(|| tables.process(format!("process {number}")));
        match &mut event.action {
            Action::LaunchFailed { kernel: named, .. } | Action::Holder { command: named, .. } => {
                *named = tables.string(&line.text);
            }
            _ => {}
        }
        Ok(event)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Address, Bytes, MemoryKind, ResultCode, StringId};

    #[test]
    fn an_event_comes_back() {
        let mut event = Event {
            result: ResultCode(2),
            action: Action::Alloc {
                kind: MemoryKind::StreamOrdered,
                address: Address(0x7f00),
                size: Bytes(5),
            },
            ..Event::default()
        };
        event.origin.process = ProcessId(4711);
        let (mut reader, mut tables) = (Reader::default(), Tables::default());
        let back = reader.read(&write(&event, ""), &mut tables).expect("it was just written");
        assert_eq!(back.action, event.action);
        assert_eq!(tables.process_name(back.origin.process), "process 4711");
    }

    #[test]
    fn a_string_travels_with_its_line() {
        let action = Action::LaunchFailed { kernel: StringId(9), shared_memory: Bytes(1 << 22) };
        let line = write(&Event { action, ..Event::default() }, "big\"kernel");
        let mut tables = Tables::default();
        let back = Reader::default().read(&line, &mut tables).expect("it was just written");
        let Action::LaunchFailed { kernel, .. } = back.action else { unreachable!() };
        assert_eq!(tables.text(kernel), "big\"kernel");
    }

    #[test]
    fn other_lines_are_refused() {
        let mut tables = Tables::default();
        for line in ["", "{}", "[1]", "{\"version\":1}"] {
            assert!(Reader::default().read(line, &mut tables).is_err(), "{line}");
        }
        let newer = write(&Event::default(), "").replace("\"version\":1", "\"version\":9");
        let refused = Reader::default().read(&newer, &mut tables).expect_err("another version");
        assert!(refused.to_string().contains("update"));
    }
}
