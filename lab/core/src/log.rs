//! The call log: every call that touches memory, as one line of a trace.
//!
//! Each line is one write to a file opened for appending, so that several processes share one log
//! and a killed one leaves whole lines.

use std::{
    fs::{File, OpenOptions},
    io::{self, Write},
    os::unix::fs::OpenOptionsExt,
    path::Path,
    sync::Once,
    time::{SystemTime, UNIX_EPOCH},
};

use whyoom_trace::{
    Action, ContextId, DeviceId, Event, Origin, PoolId, ProcessId, ResultCode, StackId, StreamId,
    ThreadId, Time, lines,
};

use crate::error::Error;

/// The environment variable that names the log.
pub const LOG_VARIABLE: &str = "WHYOOM_LAB_LOG";

/// Where something happened.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Place {
    pub(crate) device: Option<usize>,
    pub(crate) context: u64,
    pub(crate) stream: u64,
    pub(crate) pool: u64,
}

/// An open log.
pub struct Log {
    file: File,
}

impl Log {
    /// The log that this process was started with.
    #[must_use]
    pub fn from_environment() -> Option<Self> {
        let path = std::env::var_os(LOG_VARIABLE)?;
        let log = Self::open(Path::new(&path));
        log.map_err(|error| warn(&error)).ok()
    }

    /// A log in a file, behind what the file has already. Where it is new, only its user may read it.
    pub fn open(path: &Path) -> io::Result<Self> {
        let file = OpenOptions::new().append(true).create(true).mode(0o600).open(path)?;
        Ok(Self { file })
    }

    pub(crate) fn write(
        &self,
        place: Place,
        error: Option<Error>,
        action: Action,
        text: Option<&str>,
    ) {
        let time = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let device = place.device.map_or(DeviceId::HOST, |device| DeviceId(device as u16));
        let event = Event {
            time: Time(time.as_nanos() as u64),
            origin: Origin {
                process: ProcessId(std::process::id()),
                thread: ThreadId(thread_number()),
                device,
                context: ContextId(place.context as u32),
                stream: StreamId(place.stream),
                pool: PoolId(place.pool as u32),
            },
            stack: StackId::default(),
            result: ResultCode(error.map_or(0, |error| error.code() as i32)),
            action,
        };
        let mut line = lines::write(&event, text.unwrap_or(""));
        line.push('\n');
        // A log that cannot be written (a full disk) must not change what the program sees.
        if let Err(error) = (&self.file).write_all(line.as_bytes()) {
            warn(&error);
        }
    }
}

/// Says once that the log has gaps. Standard error may be closed too.
fn warn(error: &io::Error) {
    static WARNED: Once = Once::new();
    WARNED.call_once(|| {
        let _ = writeln!(io::stderr(), "whyoom lab: the log is incomplete: {error}");
    });
}

fn thread_number() -> u32 {
    // The function of this name is new in glibc 2.30.
    // SAFETY: a plain system call without arguments.
    unsafe { libc::syscall(libc::SYS_gettid) as u32 }
}
