//! Progress of reading that takes more than a second.

use std::{
    io::Read,
    time::{Duration, Instant},
};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use whyoom_redact::visible;
use whyoom_trace::{Event, EventSink, Tables};

/// Whoever waits less needs no bar.
const PATIENCE: Duration = Duration::from_secs(1);

/// Reads, and after a second shows how far it is. On anything but a terminal it shows nothing.
pub(crate) struct ProgressReader<R> {
    reader: R,
    bar: ProgressBar,
    started: Instant,
    shown: bool,
}

impl<R: Read> ProgressReader<R> {
    /// A reader of `length` bytes, or of an unknown number.
    pub(crate) fn new(reader: R, length: Option<u64>, name: &str) -> Self {
        let bar = ProgressBar::with_draw_target(length, ProgressDrawTarget::hidden());
        let template = match length {
            Some(_) => "{msg} [{bar:30}] {bytes} of {total_bytes}",
            None => "{msg} {spinner} {bytes}",
        };
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style.progress_chars("=> "));
        }
        bar.set_message(format!("reading {}", visible(name)));
        Self { reader, bar, started: Instant::now(), shown: false }
    }
}

impl<R: Read> Read for ProgressReader<R> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let read = self.reader.read(buffer)?;
        self.bar.inc(read as u64);
        if !self.shown && self.started.elapsed() >= PATIENCE {
            self.bar.set_draw_target(ProgressDrawTarget::stderr());
            self.shown = true;
        }
        Ok(read)
    }
}

impl<R> Drop for ProgressReader<R> {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

/// Between two samples at the clock.
const STRIDE: u64 = 1 << 16;

/// Passes events on, and after a second shows how many they are.
pub(crate) struct ProgressSink<'a> {
    sink: &'a mut dyn EventSink,
    bar: ProgressBar,
    started: Instant,
    events: u64,
}

impl<'a> ProgressSink<'a> {
    pub(crate) fn new(sink: &'a mut dyn EventSink, name: &str) -> Self {
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::hidden());
        if let Ok(style) = ProgressStyle::with_template("{msg} {spinner} {human_pos} events") {
            bar.set_style(style);
        }
        bar.set_message(format!("reading {}", visible(name)));
        Self { sink, bar, started: Instant::now(), events: 0 }
    }
}

impl EventSink for ProgressSink<'_> {
    fn event(&mut self, event: &Event, tables: &Tables) {
        self.sink.event(event, tables);
        self.events += 1;
        if self.events.is_multiple_of(STRIDE) {
            self.bar.set_position(self.events);
            if self.bar.is_hidden() && self.started.elapsed() >= PATIENCE {
                self.bar.set_draw_target(ProgressDrawTarget::stderr());
            }
        }
    }
}

impl Drop for ProgressSink<'_> {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}
