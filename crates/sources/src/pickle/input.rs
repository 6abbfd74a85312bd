//! A buffered reader that counts, so that every error can say where.

use std::io::{ErrorKind, Read};

use super::error::PickleError;

const CHUNK: usize = 256 * 1024;

pub(super) struct Input<R> {
    reader: R,
    buffer: Box<[u8]>,
    position: usize,
    end: usize,
    before_buffer: u64,
}

impl<R: Read> Input<R> {
    pub(super) fn new(reader: R) -> Self {
        let buffer = vec![0; CHUNK].into_boxed_slice();
        Self { reader, buffer, position: 0, end: 0, before_buffer: 0 }
    }

    /// How many bytes were taken so far.
    pub(super) fn consumed(&self) -> u64 {
        self.before_buffer + self.position as u64
    }

    // These two run for every operation of a pickle; inlined, reading costs a fifth less.
    #[inline]
    pub(super) fn byte(&mut self) -> Result<u8, PickleError> {
        if self.position == self.end {
            self.refill()?;
        }
        let byte = self.buffer[self.position];
        self.position += 1;
        Ok(byte)
    }

    #[inline]
    pub(super) fn array<const N: usize>(&mut self) -> Result<[u8; N], PickleError> {
        match self.buffer[self.position..self.end].first_chunk::<N>() {
            Some(&chunk) => {
                self.position += N;
                Ok(chunk)
            }
            None => self.array_across_refill(),
        }
    }

    #[cold]
    fn array_across_refill<const N: usize>(&mut self) -> Result<[u8; N], PickleError> {
        let mut bytes = [0; N];
        for byte in &mut bytes {
            *byte = self.byte()?;
        }
        Ok(bytes)
    }

    /// What was read of the file and is not taken yet.
    pub(super) fn ahead(&self) -> &[u8] {
        &self.buffer[self.position..self.end]
    }

    /// Takes so many of the bytes ahead.
    pub(super) fn skip(&mut self, bytes: usize) {
        self.position = self.end.min(self.position + bytes);
    }

    /// Appends `length` bytes to `target`, which never grows ahead of what was really read.
    pub(super) fn append_to(
        &mut self,
        target: &mut Vec<u8>,
        mut length: u64,
    ) -> Result<(), PickleError> {
        while length > 0 {
            if self.position == self.end {
                self.refill()?;
            }
            let available = (self.end - self.position) as u64;
            let taken = available.min(length) as usize;
            target.extend_from_slice(&self.buffer[self.position..self.position + taken]);
            self.position += taken;
            length -= taken as u64;
        }
        Ok(())
    }

    #[cold]
    fn refill(&mut self) -> Result<(), PickleError> {
        self.before_buffer += self.end as u64;
        self.position = 0;
        self.end = 0;
        loop {
            match self.reader.read(&mut self.buffer) {
                Ok(0) => return Err(PickleError::Truncated { at: self.before_buffer }),
                Ok(read) => {
                    self.end = read;
                    return Ok(());
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error.into()),
            }
        }
    }
}
