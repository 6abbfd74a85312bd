//! What every format is to those who use it.

use std::io::{self, Read, Seek, Write};

use whyoom_trace::{EventSink, Tables};

use crate::error::ExportError;

/// A format: an entry of [`crate::FORMATS`].
pub struct Format {
    /// Its name, as people type it.
    pub name: &'static str,
    /// How the names of its files end; the first is the usual one.
    pub extensions: &'static [&'static str],
    /// How it is opened; FILE stands for its name.
    pub opened_by: &'static str,
    /// Whether a file of it tells of one process only.
    pub of_one_process: bool,
    /// Starts an export.
    pub start: fn(Target) -> Result<Box<dyn Export>, ExportError>,
}

/// Where an export goes.
pub struct Target {
    /// The file.
    pub out: Box<dyn Write + Send>,
    /// Makes a place for what has to wait until the end, and is too much for memory.
    pub store: MakeStore,
    /// The only process to tell of, by its name or a part of it.
    pub process: Option<String>,
}

/// A place for what has to wait: a file without a name or, where there are no files, memory.
pub trait Store: Read + Write + Seek + Send {}

impl<T: Read + Write + Seek + Send> Store for T {}

/// Makes a place for what has to wait; called once at most.
pub type MakeStore = Box<dyn FnOnce() -> io::Result<Box<dyn Store>> + Send>;

/// An export under way. What goes wrong while events come is told at the end.
pub trait Export: EventSink {
    /// Writes what is left, with the tables that all events came with.
    ///
    /// # Errors
    /// When the output could not be written, or there is nothing to tell.
    fn finish(self: Box<Self>, tables: &Tables) -> Result<Exported, ExportError>;
}

/// What was exported.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Exported {
    /// What whoever opens the file should know.
    pub notes: Vec<String>,
}

/// A step that may fail in the middle of events, which cannot: the first error is kept, and nothing more
/// is tried.
#[derive(Default)]
pub(crate) struct Latch(Option<ExportError>);

impl Latch {
    /// Makes a step, unless one has failed.
    pub(crate) fn attempt(&mut self, step: impl FnOnce() -> Result<(), ExportError>) {
        if self.0.is_none() {
            self.0 = step().err();
        }
    }

    /// The error, if there was one.
    pub(crate) fn finish(&mut self) -> Result<(), ExportError> {
        self.0.take().map_or(Ok(()), Err)
    }
}
