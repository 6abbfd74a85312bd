//! A line for each allocation and free, as RMM's logging adaptor writes them.

use std::fmt;
use std::io::{self, Write};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use crate::driver::Stream;
use whyoom_trace::Address;

use super::{Resource, ResourceError};

const HEADER: &str = "Thread,Time,Action,Pointer,Size,Stream";

/// Writes `Thread,Time,Action,Pointer,Size,Stream` lines: what reads RMM's logs reads these.
///
/// Lines stand in the order of time: an allocation is written when it has been made and a free before it is,
/// so that a free stands before whatever takes its address next. A line that cannot be written is lost and
/// counted; memory is never refused for it.
#[derive(Debug)]
pub struct Log<R, W> {
    below: R,
    out: Mutex<Out<W>>,
}

#[derive(Debug)]
struct Out<W> {
    writer: W,
    lost: u64,
}

impl<R, W: Write> Log<R, W> {
    /// Writes the header now and a line for each call from now on. Give a [`io::BufWriter`] where calls are
    /// many.
    pub fn new(below: R, writer: W) -> Self {
        let mut out = Out { writer, lost: 0 };
        out.line(format_args!("{HEADER}\n"));
        Self { below, out: Mutex::new(out) }
    }

    /// Hands on what the writer has kept back.
    ///
    /// # Errors
    /// Those of the writer.
    pub fn flush(&self) -> io::Result<()> {
        self.out().writer.flush()
    }

    /// How many lines could not be written.
    pub fn lost(&self) -> u64 {
        self.out().lost
    }

    /// What this stands on.
    pub fn below(&self) -> &R {
        &self.below
    }

    /// What this stood on, and the writer.
    pub fn into_inner(self) -> (R, W) {
        let out = self.out.into_inner().unwrap_or_else(PoisonError::into_inner);
        (self.below, out.writer)
    }

    fn write(&self, action: &str, address: Option<Address>, bytes: u64, stream: Stream) {
        let thread = thread_number();
        let mut out = self.out();
        // The clock is read with the lock held: times do not go back from one line to the next.
        let time = TimeOfDay::now();
        match address {
            Some(Address(address)) => out.line(format_args!(
                "{thread},{time},{action},{address:#x},{bytes},{}\n",
                Handle(stream)
            )),
            None => out
                .line(format_args!("{thread},{time},{action},(nil),{bytes},{}\n", Handle(stream))),
        }
    }

    fn out(&self) -> MutexGuard<'_, Out<W>> {
        // A writer that panicked has lost its line and nothing else.
        self.out.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<W: Write> Out<W> {
    fn line(&mut self, line: fmt::Arguments<'_>) {
        // In one piece: writers of other processes may append to the same file.
        if self.writer.write_all(line.to_string().as_bytes()).is_err() {
            self.lost += 1;
        }
    }
}

impl<R: Resource, W: Write> Resource for Log<R, W> {
    fn allocate(&self, bytes: u64, stream: Stream) -> Result<Address, ResourceError> {
        let result = self.below.allocate(bytes, stream);
        match &result {
            Ok(address) => self.write("allocate", Some(*address), bytes, stream),
            Err(_) => self.write("allocate failure", None, bytes, stream),
        }
        result
    }

    fn deallocate(
        &self,
        address: Address,
        bytes: u64,
        stream: Stream,
    ) -> Result<(), ResourceError> {
        self.write("free", Some(address), bytes, stream);
        self.below.deallocate(address, bytes, stream)
    }
}

/// A stream as C++ prints a pointer: `0`, or `0x` and digits.
struct Handle(Stream);

impl fmt::Display for Handle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.0 {
            0 => f.write_str("0"),
            handle => write!(f, "{handle:#x}"),
        }
    }
}

/// Local time, as RMM writes it: hours, minutes, seconds, microseconds.
struct TimeOfDay {
    hour: i32,
    minute: i32,
    second: i32,
    micros: u32,
}

impl TimeOfDay {
    fn now() -> Self {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let seconds = libc::time_t::try_from(now.as_secs()).unwrap_or_default();
        // SAFETY: plain numbers and a pointer: all zeros is a value of it.
        let mut parts: libc::tm = unsafe { std::mem::zeroed() };
        // SAFETY: both pointers are to live values of this frame; the function keeps neither.
        unsafe { libc::localtime_r(&seconds, &mut parts) };
        Self {
            hour: parts.tm_hour,
            minute: parts.tm_min,
            second: parts.tm_sec,
            micros: now.subsec_micros(),
        }
    }
}

impl fmt::Display for TimeOfDay {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { hour, minute, second, micros } = self;
        write!(f, "{hour:02}:{minute:02}:{second:02}.{micros:06}")
    }
}

fn thread_number() -> i32 {
    // The function of this name is new in glibc 2.30, and a container may have an older one.
    // SAFETY: takes nothing and cannot fail.
    unsafe { libc::syscall(libc::SYS_gettid) as i32 }
}

#[cfg(test)]
#[path = "log_tests.rs"]
mod tests;
