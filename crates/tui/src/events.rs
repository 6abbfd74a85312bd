//! What the live view waits for: keys, reports and signals, in one queue. Nothing is polled.

use std::{io, sync::mpsc::Sender, thread};

use ratatui::crossterm::event::{self, KeyEvent, KeyEventKind};
use signal_hook::{
    consts::{SIGCONT, SIGHUP, SIGINT, SIGTERM},
    iterator::Signals,
};
use whyoom_node::NodeReport;

/// Something that happened.
#[derive(Debug)]
pub(crate) enum Event {
    Key(KeyEvent),
    /// The terminal has another size.
    Resized,
    /// The terminal cannot be read any more.
    TerminalGone(io::Error),
    /// A look at the devices, or why it failed.
    Report(Box<Result<NodeReport, String>>),
    SamplerEnded,
    /// This process was stopped, and goes on.
    Continued,
    /// The system asks this process to end.
    Signal(i32),
}

/// Starts the thread that reads the terminal. It ends with the process: nothing can wake it before.
pub(crate) fn read_terminal(events: Sender<Event>) -> io::Result<()> {
    let read = move || {
        loop {
            let event = match event::read() {
                Ok(event::Event::Key(key)) if key.kind != KeyEventKind::Release => Event::Key(key),
                Ok(event::Event::Resize(..)) => Event::Resized,
                Ok(_) => continue,
                Err(error) => Event::TerminalGone(error),
            };
            let gone = matches!(event, Event::TerminalGone(_));
            if events.send(event).is_err() || gone {
                return;
            }
        }
    };
    thread::Builder::new().name("whyoom-keys".to_owned()).spawn(read)?;
    Ok(())
}

/// Starts the thread that waits for signals, so that the terminal is restored before the end.
pub(crate) fn catch_signals(events: Sender<Event>) -> io::Result<()> {
    let mut signals = Signals::new([SIGTERM, SIGINT, SIGHUP, SIGCONT])?;
    let wait = move || {
        for signal in signals.forever() {
            let event = if signal == SIGCONT { Event::Continued } else { Event::Signal(signal) };
            if events.send(event).is_err() {
                return;
            }
        }
    };
    thread::Builder::new().name("whyoom-signals".to_owned()).spawn(wait)?;
    Ok(())
}
