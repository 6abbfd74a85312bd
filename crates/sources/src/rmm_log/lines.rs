//! Lines of a text of any length, one at a time, in a bounded buffer.

use std::io::{self, BufRead, BufReader, Read};

/// A line of the log has at most about 120 bytes; of a longer one the rest is passed over.
const LONGEST: usize = 512;
const BUFFER: usize = 1 << 16;

/// A line without its end.
pub(super) struct TextLine<'a> {
    pub(super) bytes: &'a [u8],
    /// Whether there was an end, or the text just stopped.
    pub(super) ended: bool,
}

pub(super) struct Lines<R> {
    reader: BufReader<R>,
    line: Vec<u8>,
}

impl<R: Read> Lines<R> {
    pub(super) fn new(reader: R) -> Self {
        let reader = BufReader::with_capacity(BUFFER, reader);
        Self { reader, line: Vec::with_capacity(LONGEST) }
    }

    /// The next line, cut where it is longer than any that is of use.
    pub(super) fn next(&mut self) -> io::Result<Option<TextLine<'_>>> {
        self.line.clear();
        let mut any = false;
        loop {
            let buffer = match self.reader.fill_buf() {
                Ok(buffer) => buffer,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            };
            if buffer.is_empty() {
                let last = TextLine { bytes: &self.line, ended: false };
                return Ok(any.then_some(last));
            }
            any = true;
            let end = memchr::memchr(b'\n', buffer);
            let (part, used) = end.map_or((buffer, buffer.len()), |end| (&buffer[..end], end + 1));
            let room = LONGEST - self.line.len();
            self.line.extend_from_slice(&part[..part.len().min(room)]);
            self.reader.consume(used);
            if end.is_some() {
                return Ok(Some(TextLine { bytes: &self.line, ended: true }));
            }
        }
    }
}
