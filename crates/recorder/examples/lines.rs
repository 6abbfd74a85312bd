//! Prints a recording as lines, one event each, in the format of the lab's call log.
//!
//! `cargo run -p whyoom-recorder --example lines -- FOLDER [--stacks]`

use std::{
    io::{self, Write},
    path::Path,
};

use whyoom_recording::{Recording, Unresolved};
use whyoom_trace::{Action, Event, EventSink, Tables, lines};

struct Printer {
    stacks: bool,
}

impl EventSink for Printer {
    fn event(&mut self, event: &Event, tables: &Tables) {
        let text = match event.action {
            Action::LaunchFailed { kernel, .. } => tables.text(kernel),
            Action::Setting { name, .. } => tables.text(name),
            _ => "",
        };
        // A reader that goes away, as `head` does, is no error.
        let _ = writeln!(io::stdout(), "{}", lines::write(event, text));
        if self.stacks {
            for frame in tables.frames(event.stack) {
                let _ =
                    writeln!(io::stdout(), "    {} {}:{}", frame.function, frame.file, frame.line);
            }
        }
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = std::env::args_os().nth(1).ok_or("usage: lines FOLDER")?;
    let recording = Recording::open(Path::new(&folder))?;
    let mut printer = Printer { stacks: std::env::args().any(|word| word == "--stacks") };
    let losses = recording.read(&mut Unresolved, &mut Tables::default(), &mut printer)?;
    eprintln!("{losses:?}");
    Ok(())
}
