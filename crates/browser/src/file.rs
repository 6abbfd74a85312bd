//! A file that the page holds: read piece by piece, from its beginning, as often as it is needed.

use std::io::{self, Read};

use wasm_bindgen::prelude::*;
use whyoom_reading::{Packed, begin, is_packed};
use whyoom_report::Input;
use whyoom_sources::recording::Unresolved;
use whyoom_trace::{EventSink, Tables};

use crate::told;

#[wasm_bindgen]
extern "C" {
    /// `(offset, length) => Uint8Array`: at most so many bytes of a file, none at its end.
    #[wasm_bindgen(typescript_type = "(offset: number, length: number) => Uint8Array")]
    #[derive(Clone)]
    pub type ReadFile;
    #[wasm_bindgen(method, catch)]
    fn call(
        this: &ReadFile,
        receiver: &JsValue,
        offset: f64,
        length: f64,
    ) -> Result<Vec<u8>, JsValue>;

    /// `(done) => void`: how many bytes were read.
    #[wasm_bindgen(typescript_type = "(done: number) => void")]
    #[derive(Clone)]
    pub type Progress;
    #[wasm_bindgen(method, js_name = call)]
    fn tell(this: &Progress, receiver: &JsValue, done: f64);
}

/// What is asked for at once.
const PIECE: usize = 1 << 20;
/// Enough to know a compressed file.
const MAGIC: usize = 2;

/// A file of the page.
pub(crate) struct PageFile {
    pub(crate) name: String,
    read: ReadFile,
    progress: Progress,
    /// What was read before this file, for the progress.
    before: f64,
    pub(crate) packed: Option<Packed>,
}

impl PageFile {
    pub(crate) fn open(
        name: String,
        read: ReadFile,
        progress: Progress,
        before: f64,
    ) -> Result<Self, JsValue> {
        let mut file = Self { name, read, progress, before, packed: None };
        let mut magic = Vec::new();
        file.stream().take(MAGIC as u64).read_to_end(&mut magic).map_err(told)?;
        if is_packed(&magic) {
            file.packed = Some(Packed::unpack(&file.name, file.stream()).map_err(told)?);
        }
        Ok(file)
    }

    /// Reads it into a sink.
    pub(crate) fn import(
        &self,
        tables: &mut Tables,
        sink: &mut dyn EventSink,
    ) -> Result<Input, JsValue> {
        match &self.packed {
            Some(packed) => packed.import(&mut Unresolved, tables, sink).map_err(told),
            None => {
                let begun = begin(&self.name, self.stream()).map_err(told)?;
                begun.import(tables, sink).map_err(told)
            }
        }
    }

    /// Reads it once more, with what lies beside it.
    pub(crate) fn import_all(
        &self,
        tables: &mut Tables,
        sink: &mut dyn EventSink,
    ) -> Result<(), JsValue> {
        match &self.packed {
            Some(packed) => packed.import_all(tables, sink).map_err(told),
            None => self.import(tables, sink).map(drop),
        }
    }

    /// Whether it was recorded in the lab.
    pub(crate) fn is_simulated(&self) -> bool {
        self.packed.as_ref().is_some_and(Packed::is_simulated)
    }

    fn stream(&self) -> Stream<'_> {
        Stream { file: self, offset: 0, piece: Vec::new(), at: 0 }
    }
}

/// The file from its beginning.
struct Stream<'a> {
    file: &'a PageFile,
    offset: u64,
    piece: Vec<u8>,
    at: usize,
}

impl Read for Stream<'_> {
    fn read(&mut self, target: &mut [u8]) -> io::Result<usize> {
        if self.at == self.piece.len() {
            let PageFile { read, progress, before, .. } = self.file;
            let piece = read.call(&JsValue::NULL, self.offset as f64, PIECE as f64);
            self.piece = piece.map_err(|error| {
                io::Error::other(
                    error.as_string().unwrap_or("the browser cannot read it".to_owned()),
                )
            })?;
            self.at = 0;
            self.offset += self.piece.len() as u64;
            progress.tell(&JsValue::NULL, before + self.offset as f64);
        }
        let some = target.len().min(self.piece.len() - self.at);
        target[..some].copy_from_slice(&self.piece[self.at..self.at + some]);
        self.at += some;
        Ok(some)
    }
}
