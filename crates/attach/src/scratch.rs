//! A place in the process for the text of a call: the rest of the page behind the interpreter's last variable, which
//! nothing uses. So nothing has to be allocated in a process that was stopped anywhere, and zeros leave it as it was.

use std::cell::Cell;

use rustix::rand::{GetRandomFlags, getrandom};

use crate::{error::AttachError, interpreter::Interpreter, maps, memory::Memory, target::Target};

/// The text, in the process.
#[derive(Debug)]
pub(crate) struct Scratch<'a> {
    target: &'a Target,
    address: u64,
    length: usize,
    mark: Mark,
    /// True once gdb clears the mark, because its call goes on after whyoom.
    is_mark_left: Cell<bool>,
}

/// A random word behind the text. gdb calls a function only while it is there: another program's memory does not have it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Mark {
    pub(crate) address: u64,
    pub(crate) value: u64,
}

impl Mark {
    /// Chooses a value. It is not 0, which is in all unused memory.
    fn random(address: u64) -> Result<Self, AttachError> {
        let mut bytes = [0; 8];
        let filled = getrandom(&mut bytes, GetRandomFlags::empty());
        filled.map_err(|error| AttachError::io("get random numbers", error.into()))?;
        Ok(Self { address, value: u64::from_ne_bytes(bytes) | 1 })
    }
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
        // A zero ends the text; the mark is aligned.
        let mark_offset = (text.len() + 1).next_multiple_of(8);
        let length = mark_offset + size_of::<u64>();
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
        let mark = Mark::random(address + mark_offset as u64)?;
        let is_mark_left = Cell::new(false);
        let scratch = Self { target, address, length, mark, is_mark_left };
        let io = |error| AttachError::io("write to the memory of the process", error);
        target.memory().write(mark.address, &mark.value.to_ne_bytes()).map_err(io)?;
        target.memory().write(address, text.as_bytes()).map_err(io)?;
        Ok(scratch)
    }

    pub(crate) fn mark(&self) -> Mark {
        self.mark
    }

    pub(crate) fn address(&self) -> u64 {
        self.address
    }

    /// Leaves the mark in the process. gdb, which goes on there, frees the interpreter's lock only while it sees the mark,
    /// and clears it then.
    pub(crate) fn leave_mark(&self) {
        self.is_mark_left.set(true);
    }
}

impl Drop for Scratch<'_> {
    /// An empty text does nothing when it is run, and the rest is as it was.
    fn drop(&mut self) {
        let length = match self.is_mark_left.get() {
            true => (self.mark.address - self.address) as usize,
            false => self.length,
        };
        let _ = self.target.memory().write(self.address, &vec![0; length]);
    }
}
