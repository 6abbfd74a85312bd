//! The pickle machine, less everything that could act: it moves data and nothing else.
//!
//! The machine is not recursive, so nesting costs no stack; a value that is reached a thousand
//! times through the memo is stored once, so a file cannot unfold into more than it is. What is
//! left to bound is the few bytes that each byte of input may claim.

use std::io::Read;

use super::{
    document::{Document, Packed, Shape},
    error::PickleError,
    input::Input,
};

/// No string of a snapshot (a frame's name, a setting) is longer than this.
const MAX_TEXT: u64 = 1 << 20;
/// What a document may take beside [`MEMORY_PER_INPUT_BYTE`]: room for small files.
const MEMORY_BASE: u64 = 64 << 20;
/// Real snapshots take 2 to 3 bytes of memory for each byte of file.
const MEMORY_PER_INPUT_BYTE: u64 = 6;
/// Operations between two samples at the memory taken. Each can add some 30 bytes.
const OPERATIONS_PER_CHECK: u64 = 64 * 1024;

/// No class has a longer name.
const LONGEST_NAME: usize = 100;

/// A name as it may be shown; nothing where it is none.
fn readable(name: &[u8]) -> Option<String> {
    let plain = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_');
    let name = Some(name).filter(|name| name.iter().all(plain))?;
    String::from_utf8(name.to_vec()).ok()
}

/// Reads a pickle up to its end mark.
pub(crate) fn parse<R: Read>(reader: R) -> Result<Document, PickleError> {
    let mut machine = Machine {
        input: Input::new(reader),
        document: Document::default(),
        stack: Vec::new(),
        marks: Vec::new(),
        memo: Vec::new(),
        operations: 0,
    };
    machine.run()?;
    Ok(machine.document)
}

struct Machine<R> {
    input: Input<R>,
    document: Document,
    stack: Vec<Packed>,
    marks: Vec<usize>,
    memo: Vec<Packed>,
    operations: u64,
}

impl<R: Read> Machine<R> {
    fn run(&mut self) -> Result<(), PickleError> {
        loop {
            self.operations += 1;
            if self.operations.is_multiple_of(OPERATIONS_PER_CHECK) {
                self.check_memory()?;
            }
            let opcode = self.input.byte()?;
            if opcode == b'.' {
                let root = self.pop()?;
                self.document.set_root(root);
                return Ok(());
            }
            self.step(opcode)?;
        }
    }

    fn step(&mut self, opcode: u8) -> Result<(), PickleError> {
        match opcode {
            // The most frequent first: nine of ten operations of a snapshot are these.
            b'h' => {
                let index = self.input.byte()?;
                self.get(u64::from(index))?;
                self.get_more();
                Ok(())
            }
            b'j' => {
                let index = u32::from_le_bytes(self.input.array()?);
                self.get(u64::from(index))?;
                self.get_more();
                Ok(())
            }
            0x94 => {
                let top = self.top()?;
                self.memo.push(top);
                Ok(())
            }

            // Numbers and constants.
            b'K' => {
                let value = self.input.byte()?;
                self.push_int(i64::from(value))
            }
            b'M' => {
                let value = u16::from_le_bytes(self.input.array()?);
                self.push_int(i64::from(value))
            }
            b'J' => {
                let value = i32::from_le_bytes(self.input.array()?);
                self.push_int(i64::from(value))
            }
            0x8a => {
                let length = self.input.byte()?;
                self.long(u64::from(length))
            }
            0x8b => {
                let length = u32::from_le_bytes(self.input.array()?);
                self.long(u64::from(length))
            }
            b'G' => {
                let value = self.document.float(f64::from_be_bytes(self.input.array()?));
                self.push(value)
            }
            b'N' => self.push(Packed::NONE),
            0x88 => self.push(Packed::TRUE),
            0x89 => self.push(Packed::FALSE),

            // Strings, and bytes, which nothing here needs.
            0x8c | b'U' => {
                let length = self.input.byte()?;
                self.text(u64::from(length))
            }
            b'X' | b'T' => {
                let length = u32::from_le_bytes(self.input.array()?);
                self.text(u64::from(length))
            }
            0x8d => {
                let length = u64::from_le_bytes(self.input.array()?);
                self.text(length)
            }
            b'C' => {
                let length = self.input.byte()?;
                self.bytes(u64::from(length))
            }
            b'B' => {
                let length = u32::from_le_bytes(self.input.array()?);
                self.bytes(u64::from(length))
            }
            0x8e => {
                let length = u64::from_le_bytes(self.input.array()?);
                self.bytes(length)
            }

            // Containers.
            b']' | b')' | 0x8f => self.push_container(Shape::Sequence, self.stack.len()),
            b'}' => self.push_container(Shape::Dict, self.stack.len()),
            b'(' => {
                self.marks.push(self.stack.len());
                Ok(())
            }
            b'a' => self.append(1, Shape::Sequence),
            b's' => self.append(2, Shape::Dict),
            b'e' | 0x90 => self.append_marked(Shape::Sequence),
            b'u' => self.append_marked(Shape::Dict),
            0x85..=0x87 => self.tuple(usize::from(opcode - 0x84)),
            b't' | b'l' | 0x91 => {
                let mark = self.pop_mark()?;
                self.push_container(Shape::Sequence, mark)
            }
            b'd' => {
                let mark = self.pop_mark()?;
                self.push_container(Shape::Dict, mark)
            }

            // The stack and the memo.
            b'0' => self.pop().map(drop),
            b'1' => {
                let mark = self.pop_mark()?;
                self.stack.truncate(mark);
                Ok(())
            }
            b'2' => {
                let top = self.top()?;
                self.push(top)
            }
            b'q' => {
                let index = self.input.byte()?;
                self.put(u64::from(index))
            }
            b'r' => {
                let index = u32::from_le_bytes(self.input.array()?);
                self.put(u64::from(index))
            }

            // Framing says nothing that the bytes do not.
            0x80 => self.input.array::<1>().map(drop),
            0x95 => self.input.array::<8>().map(drop),

            _ => Err(self.refuse(opcode)),
        }
    }

    fn refuse(&mut self, opcode: u8) -> PickleError {
        let at = self.input.consumed() - 1;
        let name = match opcode {
            b'c' => "GLOBAL",
            0x93 => "STACK_GLOBAL",
            b'R' => "REDUCE",
            b'b' => "BUILD",
            b'i' => "INST",
            b'o' => "OBJ",
            0x81 => "NEWOBJ",
            0x92 => "NEWOBJ_EX",
            b'P' => "PERSID",
            b'Q' => "BINPERSID",
            0x82 => "EXT1",
            0x83 => "EXT2",
            0x84 => "EXT4",
            0x97 => "NEXT_BUFFER",
            0x98 => "READONLY_BUFFER",
            _ => return PickleError::UnknownOpcode { opcode, at },
        };
        let asks_for = match opcode {
            b'c' | b'i' => self.name_in_input(),
            0x93 => self.name_on_stack(),
            _ => None,
        };
        PickleError::RunsCode { opcode: name, asks_for, at }
    }

    /// The name that stands behind an opcode: a line for the module, one for what is in it.
    fn name_in_input(&mut self) -> Option<String> {
        let mut name = Vec::new();
        for separator in [b'.', b'\n'] {
            loop {
                match self.input.byte().ok()? {
                    b'\n' => break,
                    byte if name.len() < LONGEST_NAME => name.push(byte),
                    _ => return None,
                }
            }
            name.push(separator);
        }
        readable(name.trim_ascii_end())
    }

    /// The name that the last two strings make.
    fn name_on_stack(&self) -> Option<String> {
        let &[.., module, name] = &self.stack[..] else { return None };
        let text = |packed| self.document.text_of(packed).filter(|text| text.len() < LONGEST_NAME);
        readable(&[text(module)?, b".", text(name)?].concat())
    }

    fn push(&mut self, value: Packed) -> Result<(), PickleError> {
        self.stack.push(value);
        Ok(())
    }

    fn push_int(&mut self, value: i64) -> Result<(), PickleError> {
        let value = self.document.int(value);
        self.push(value)
    }

    fn pop(&mut self) -> Result<Packed, PickleError> {
        self.start_of_last(1)?;
        self.stack.pop().ok_or_else(|| self.malformed("the stack is empty"))
    }

    fn top(&self) -> Result<Packed, PickleError> {
        self.stack.last().copied().ok_or_else(|| self.malformed("the stack is empty"))
    }

    fn pop_mark(&mut self) -> Result<usize, PickleError> {
        self.marks.pop().ok_or_else(|| self.malformed("a mark is missing"))
    }

    fn get(&mut self, index: u64) -> Result<(), PickleError> {
        match self.memo.get(index as usize) {
            Some(&value) => self.push(value),
            None => Err(self.malformed("the memo has no such entry")),
        }
    }

    /// Gets as many entries of the memo as are asked for next: frames in lists, which are two of three operations of a
    /// snapshot. Whatever else comes, the ordinary way takes.
    fn get_more(&mut self) {
        let ahead = self.input.ahead();
        let until_check = OPERATIONS_PER_CHECK - 1 - self.operations % OPERATIONS_PER_CHECK;
        let (mut at, mut got) = (0, 0);
        while got < until_check {
            let (index, length) = match ahead.get(at..) {
                Some(&[b'j', a, b, c, d, ..]) => (u32::from_le_bytes([a, b, c, d]) as usize, 5),
                Some(&[b'h', index, ..]) => (usize::from(index), 2),
                _ => break,
            };
            let Some(&value) = self.memo.get(index) else { break };
            self.stack.push(value);
            at += length;
            got += 1;
        }
        self.operations += got;
        self.input.skip(at);
    }

    fn put(&mut self, index: u64) -> Result<(), PickleError> {
        // Picklers count up. An index beyond the operations so far would only make the memo large.
        if index > self.operations {
            return Err(self.malformed("a memo index is out of order"));
        }
        let top = self.top()?;
        let index = index as usize;
        if index >= self.memo.len() {
            self.memo.resize(index + 1, Packed::NONE);
        }
        self.memo[index] = top;
        Ok(())
    }

    /// A little-endian integer of any length; what does not fit 64 bits is kept as opaque.
    fn long(&mut self, length: u64) -> Result<(), PickleError> {
        if length > 8 {
            return self.bytes(length);
        }
        let mut bytes = [0; 8];
        let length = length as usize;
        for byte in &mut bytes[..length] {
            *byte = self.input.byte()?;
        }
        let unused = 64 - 8 * length as u32;
        let value = i64::from_le_bytes(bytes).checked_shl(unused).unwrap_or(0);
        self.push_int(value.checked_shr(unused).unwrap_or(0))
    }

    fn text(&mut self, length: u64) -> Result<(), PickleError> {
        self.check_length(length)?;
        self.input.append_to(self.document.text_buffer(), length)?;
        let value = self.document.finish_text();
        self.push(value)
    }

    fn bytes(&mut self, length: u64) -> Result<(), PickleError> {
        self.check_length(length)?;
        self.input.append_to(&mut Vec::new(), length)?;
        self.push(Packed::OPAQUE)
    }

    fn tuple(&mut self, length: usize) -> Result<(), PickleError> {
        let start = self.start_of_last(length)?;
        self.push_container(Shape::Sequence, start)
    }

    /// Where the last `count` values start. A mark fences off what lies below it.
    fn start_of_last(&self, count: usize) -> Result<usize, PickleError> {
        let floor = self.marks.last().copied().unwrap_or(0);
        match self.stack.len().checked_sub(count) {
            Some(start) if start >= floor => Ok(start),
            _ => Err(self.malformed("more values are taken than there are")),
        }
    }

    /// Makes a container of everything on the stack from `start` on.
    fn push_container(&mut self, shape: Shape, start: usize) -> Result<(), PickleError> {
        self.check_pairs(shape, start)?;
        let container = self.document.container(shape, &self.stack[start..]);
        self.stack.truncate(start);
        let container = container.ok_or_else(|| self.too_many())?;
        self.push(container)
    }

    fn append(&mut self, count: usize, shape: Shape) -> Result<(), PickleError> {
        let start = self.start_of_last(count)?;
        self.append_from(start, shape)
    }

    fn append_marked(&mut self, shape: Shape) -> Result<(), PickleError> {
        let mark = self.pop_mark()?;
        self.append_from(mark, shape)
    }

    /// Adds everything on the stack from `start` on to the container below it.
    fn append_from(&mut self, start: usize, shape: Shape) -> Result<(), PickleError> {
        let target = start.checked_sub(1).and_then(|below| self.stack[below].as_container());
        let Some(target) = target.filter(|&id| self.document.shape(id) == shape) else {
            return Err(self.malformed("items are added to something that cannot hold them"));
        };
        self.check_pairs(shape, start)?;
        let added = self.document.extend(target, &self.stack[start..]);
        self.stack.truncate(start);
        added.ok_or_else(|| self.too_many())
    }

    /// Every key of a dict needs its value.
    fn check_pairs(&self, shape: Shape, start: usize) -> Result<(), PickleError> {
        if shape == Shape::Dict && !(self.stack.len() - start).is_multiple_of(2) {
            return Err(self.malformed("a key has no value"));
        }
        Ok(())
    }

    fn check_length(&self, length: u64) -> Result<(), PickleError> {
        if length <= MAX_TEXT {
            return Ok(());
        }
        let at = self.input.consumed();
        Err(PickleError::TooLarge { what: "the length of a string", limit: MAX_TEXT, at })
    }

    fn check_memory(&self) -> Result<(), PickleError> {
        let at = self.input.consumed();
        let limit = MEMORY_BASE + MEMORY_PER_INPUT_BYTE * at;
        let working = size_of_val(&self.stack[..])
            + size_of_val(&self.marks[..])
            + size_of_val(&self.memo[..]);
        if self.document.size() + working as u64 <= limit {
            return Ok(());
        }
        Err(PickleError::TooLarge { what: "the memory for its content", limit, at })
    }

    fn malformed(&self, what: &'static str) -> PickleError {
        PickleError::Malformed { what, at: self.input.consumed() }
    }

    fn too_many(&self) -> PickleError {
        let limit = u64::from(u32::MAX);
        PickleError::TooLarge { what: "the number of values", limit, at: self.input.consumed() }
    }
}
