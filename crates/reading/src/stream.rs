//! An input as a stream of bytes: what it is, and its events.

use std::io::{self, Read};

use whyoom_report::Input;
use whyoom_sources::{
    FIRST_BYTES, ImportError, Importer, InputKind, NamedInput, Reader, importer_of,
};
use whyoom_trace::{EventSink, Tables};

/// The beginning of an input, which tells what it is.
pub struct Beginning<R> {
    /// What reads it.
    pub importer: &'static Importer,
    name: String,
    first_bytes: Vec<u8>,
    rest: R,
}

/// Reads the beginning of an input.
///
/// # Errors
/// Where it cannot be read, or is of no kind that can be read.
pub fn begin<R: Read>(name: &str, mut rest: R) -> Result<Beginning<R>, ImportError> {
    let mut first_bytes = Vec::new();
    rest.by_ref().take(FIRST_BYTES).read_to_end(&mut first_bytes)?;
    let importer = importer_of(&NamedInput { name, first_bytes: &first_bytes })?;
    Ok(Beginning { importer, name: name.to_owned(), first_bytes, rest })
}

/// Why a database cannot be read as a stream.
const DATABASE: &str =
    "it is a database and cannot be read from a pipe: write it to a file and name that file";

impl<R: Read> Beginning<R> {
    /// What it was taken for.
    pub fn kind(&self) -> InputKind {
        self.importer.kind
    }

    /// Reads it all into a sink.
    ///
    /// # Errors
    /// Where it cannot be read.
    pub fn import(
        self,
        tables: &mut Tables,
        sink: &mut dyn EventSink,
    ) -> Result<Input, ImportError> {
        let Self { importer, name, first_bytes, rest } = self;
        let named = NamedInput { name: &name, first_bytes: &first_bytes };
        let notes = match &importer.read {
            Reader::Stream(import) => {
                import(&mut io::Cursor::new(&first_bytes).chain(rest), &named, tables, sink)?
            }
            Reader::File(_) => return Err(ImportError::Unreadable(DATABASE.to_owned())),
        };
        Ok(Input { name, kind: importer.kind, notes })
    }

    /// The same of a file, which is opened once more where a database is.
    ///
    /// # Errors
    /// Where it cannot be read.
    pub fn import_file(
        self,
        path: &std::path::Path,
        tables: &mut Tables,
        sink: &mut dyn EventSink,
    ) -> Result<Input, ImportError> {
        let Reader::File(import) = &self.importer.read else { return self.import(tables, sink) };
        let named = NamedInput { name: &self.name, first_bytes: &self.first_bytes };
        let notes = import(path, &named, tables, sink)?;
        Ok(Input { name: self.name, kind: self.importer.kind, notes })
    }
}
