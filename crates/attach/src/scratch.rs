//! A place in the process for the text of a call: the rest of the page behind the interpreter's last variable, which
//! nothing uses. So nothing has to be allocated in a process that was stopped anywhere, and zeros leave it as it was.

use crate::{error::AttachError, interpreter::Interpreter, maps, memory::Memory, target::Target};

/// The text, in the process.
#[derive(Debug)]
pub(crate) struct Scratch<'a> {
    target: &'a Target,
    address: u64,
    length: usize,
}

impl<'a> Scratch<'a> {
    /// Writes a text, where there is room for it and only zeros.
    pub(crate) fn write(
        target: &'a Target,
        interpreter: &Interpreter,
        text: &str,
    ) -> Result<Self, AttachError> {
        let no_room = || AttachError::NoRoom(target.pid());
        let (start, room) = interpreter.unused.ok_or_else(no_room)?;
        // Not beside the last variable: a few bytes are free.
        let address = start.checked_add(15).ok_or_else(no_room)? & !15;
        let length = text.len() + 1;
        let fits = address - start + length as u64 <= room;
        if !fits || !maps::is_writable(&target.maps()?, address, length as u64) {
            return Err(no_room());
        }
        let mut there = vec![0; length];
        let io = |error| AttachError::io("read the memory of the process", error);
        target.memory().read(address, &mut there).map_err(io)?;
        if there.iter().any(|byte| *byte != 0) {
            return Err(no_room());
        }
        let scratch = Self { target, address, length };
        let io = |error| AttachError::io("write to the memory of the process", error);
        target.memory().write(address, text.as_bytes()).map_err(io)?;
        Ok(scratch)
    }

    pub(crate) fn address(&self) -> u64 {
        self.address
    }
}

impl Drop for Scratch<'_> {
    /// An empty text does nothing when it is run, and the rest is as it was.
    fn drop(&mut self) {
        let _ = self.target.memory().write(self.address, &vec![0; self.length]);
    }
}
