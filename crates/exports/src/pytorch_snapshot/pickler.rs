//! Writes a pickle, of protocol 4, with the operations that PyTorch's own viewers know.

use std::{
    collections::HashMap,
    io::{self, Write},
};

use foldhash::fast::RandomState;
use whyoom_trace::{StackId, Tables};

/// Items that are added to a list or dict at once: what a reader has to hold of them.
const BATCH: usize = 1000;

pub(super) struct Pickler<'a> {
    out: Box<dyn Write + Send>,
    tables: &'a Tables,
    /// Things that were written before, by their place in the reader's memo.
    texts: HashMap<String, u32, RandomState>,
    frames: HashMap<(String, String, u32), u32, RandomState>,
    stacks: HashMap<StackId, u32, RandomState>,
    next: u32,
}

impl<'a> Pickler<'a> {
    pub(super) fn new(out: Box<dyn Write + Send>, tables: &'a Tables) -> Self {
        Self {
            out,
            tables,
            texts: HashMap::default(),
            frames: HashMap::default(),
            stacks: HashMap::default(),
            next: 0,
        }
    }

    /// What the stacks are looked up in.
    pub(super) fn tables(&self) -> &'a Tables {
        self.tables
    }

    /// Begins the one value that the pickle is.
    pub(super) fn begin(&mut self) -> io::Result<()> {
        self.out.write_all(&[0x80, 4])
    }

    /// Ends it.
    pub(super) fn finish(mut self) -> io::Result<()> {
        self.out.write_all(b".")?;
        self.out.flush()
    }

    pub(super) fn number(&mut self, number: u64) -> io::Result<()> {
        // Readers take 64 bits with a sign; nothing real is larger.
        self.signed(i64::try_from(number).unwrap_or(i64::MAX))
    }

    pub(super) fn signed(&mut self, number: i64) -> io::Result<()> {
        let bytes = number.to_le_bytes();
        if let Ok(byte) = u8::try_from(number) {
            self.out.write_all(&[b'K', byte])
        } else if let Ok(short) = u16::try_from(number) {
            self.out.write_all(b"M")?;
            self.out.write_all(&short.to_le_bytes())
        } else if let Ok(int) = i32::try_from(number) {
            self.out.write_all(b"J")?;
            self.out.write_all(&int.to_le_bytes())
        } else {
            // As few bytes as keep the sign.
            let unused = if number < 0 { number.leading_ones() } else { number.leading_zeros() };
            let length = 8 - ((unused as usize - 1) / 8).min(7);
            self.out.write_all(&[0x8a, length as u8])?;
            self.out.write_all(&bytes[..length])
        }
    }

    pub(super) fn flag(&mut self, flag: bool) -> io::Result<()> {
        self.out.write_all(&[if flag { 0x88 } else { 0x89 }])
    }

    /// A string; the second time it is named by its place in the memo.
    pub(super) fn text(&mut self, text: &str) -> io::Result<()> {
        if let Some(&place) = self.texts.get(text) {
            return self.again(place);
        }
        match u8::try_from(text.len()) {
            Ok(length) => self.out.write_all(&[0x8c, length])?,
            Err(_) => {
                let text_length = u32::try_from(text.len()).map_err(io::Error::other)?;
                self.out.write_all(b"X")?;
                self.out.write_all(&text_length.to_le_bytes())?;
            }
        }
        self.out.write_all(text.as_bytes())?;
        let place = self.remember()?;
        self.texts.insert(text.to_owned(), place);
        Ok(())
    }

    /// A tuple of two numbers.
    pub(super) fn pair(&mut self, (first, second): (u64, u64)) -> io::Result<()> {
        self.number(first)?;
        self.number(second)?;
        self.out.write_all(&[0x86])
    }

    /// A dict; what `entries` writes are keys and values in turn.
    pub(super) fn dict(
        &mut self,
        entries: impl FnOnce(&mut Self) -> io::Result<()>,
    ) -> io::Result<()> {
        self.out.write_all(b"}(")?;
        entries(self)?;
        self.out.write_all(b"u")
    }

    /// A list whose items come one at a time: each is written by a call of [`Self::item`].
    pub(super) fn list<E: From<io::Error>>(
        &mut self,
        items: impl FnOnce(&mut Self, &mut usize) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut written = 0;
        self.out.write_all(b"](")?;
        items(self, &mut written)?;
        Ok(self.out.write_all(b"e")?)
    }

    /// Comes before each item of a list: it begins a new batch now and then.
    pub(super) fn item(&mut self, written: &mut usize) -> io::Result<()> {
        if *written > 0 && written.is_multiple_of(BATCH) {
            self.out.write_all(b"e(")?;
        }
        *written += 1;
        Ok(())
    }

    /// A stack as a list of frames.
    pub(super) fn stack(&mut self, stack: StackId) -> io::Result<()> {
        if let Some(&place) = self.stacks.get(&stack) {
            return self.again(place);
        }
        self.out.write_all(b"]")?;
        let place = self.remember()?;
        self.stacks.insert(stack, place);
        self.out.write_all(b"(")?;
        let tables = self.tables;
        for frame in tables.frames(stack) {
            self.frame(frame.function, frame.file, frame.line)?;
        }
        self.out.write_all(b"e")
    }

    fn frame(&mut self, function: &str, file: &str, line: u32) -> io::Result<()> {
        let key = (function.to_owned(), file.to_owned(), line);
        if let Some(&place) = self.frames.get(&key) {
            return self.again(place);
        }
        self.out.write_all(b"}")?;
        let place = self.remember()?;
        self.frames.insert(key, place);
        self.out.write_all(b"(")?;
        self.text("name")?;
        self.text(function)?;
        self.text("filename")?;
        self.text(file)?;
        self.text("line")?;
        self.number(line.into())?;
        self.out.write_all(b"u")
    }

    /// Puts what was just written into the reader's memo.
    fn remember(&mut self) -> io::Result<u32> {
        self.out.write_all(&[0x94])?;
        let place = self.next;
        self.next += 1;
        Ok(place)
    }

    fn again(&mut self, place: u32) -> io::Result<()> {
        match u8::try_from(place) {
            Ok(place) => self.out.write_all(&[b'h', place]),
            Err(_) => {
                self.out.write_all(b"j")?;
                self.out.write_all(&place.to_le_bytes())
            }
        }
    }
}
