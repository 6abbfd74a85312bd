//! The names that a report needs: only those of stacks that it tells of.

use std::collections::HashMap;

use serde::Serialize;
use whyoom_memory::call_site;
use whyoom_trace::{PoolId, StackId, StringId, Tables};

/// Frames of a stack beyond these are left out, in its middle nobody looks.
const MOST_FRAMES: usize = 256;

/// Strings, frames and stacks, each numbered in order of first use.
#[derive(Serialize)]
pub(super) struct Names<'a> {
    strings: Vec<String>,
    /// Function, file (both of strings) and line.
    frames: Vec<(usize, usize, u32)>,
    /// Frames of each, innermost first.
    stacks: Vec<Vec<usize>>,
    /// The place in the program that each stack leads to, of strings.
    places: Vec<usize>,
    /// The module that each stack carries, of strings; -1 for none.
    modules: Vec<i64>,
    #[serde(skip)]
    known: Known,
    #[serde(skip)]
    tables: &'a Tables,
}

#[derive(Default)]
struct Known {
    strings: HashMap<String, usize>,
    frames: HashMap<(usize, usize, u32), usize>,
    stacks: HashMap<StackId, usize>,
}

impl<'a> Names<'a> {
    /// What they are named from.
    pub(super) fn tables(&self) -> &'a Tables {
        self.tables
    }

    /// Those of tables; stack 0 is the unknown one.
    pub(super) fn of(tables: &'a Tables) -> Self {
        let mut names = Self {
            strings: Vec::new(),
            frames: Vec::new(),
            stacks: Vec::new(),
            places: Vec::new(),
            modules: Vec::new(),
            known: Known::default(),
            tables,
        };
        names.stack(StackId(0));
        names
    }

    /// The number of a stack.
    pub(super) fn stack(&mut self, stack: StackId) -> usize {
        if let Some(&number) = self.known.stacks.get(&stack) {
            return number;
        }
        let tables = self.tables;
        let mut frames = Vec::new();
        for frame in tables.frames(stack).take(MOST_FRAMES) {
            let (function, file) = (self.string(frame.function), self.string(frame.file));
            frames.push(self.frame((function, file, frame.line)));
        }
        let place = self.string(&call_site(tables, stack));
        self.stacks.push(frames);
        self.places.push(place);
        let module = self.module(stack);
        self.modules.push(module);
        let number = self.stacks.len() - 1;
        self.known.stacks.insert(stack, number);
        number
    }

    /// The name of the module that a stack carries, of strings; -1 for none.
    pub(super) fn module(&mut self, stack: StackId) -> i64 {
        let module = self.tables.module(stack);
        module.map_or(-1, |module| i64::try_from(self.string(module.name)).unwrap_or(-1))
    }

    /// The files of all frames.
    pub(super) fn files(&self) -> impl Iterator<Item = &str> {
        self.frames.iter().map(|&(_, file, _)| self.strings[file].as_str())
    }

    /// A string of the tables.
    pub(super) fn text(&self, id: StringId) -> String {
        self.tables.text(id).to_owned()
    }

    /// A pool as its allocator names it; nothing for the default one.
    pub(super) fn pool(&self, pool: PoolId) -> String {
        match self.tables.pool_name(pool) {
            (0, 0) => String::new(),
            (first, second) => format!("({first}, {second})"),
        }
    }

    fn frame(&mut self, frame: (usize, usize, u32)) -> usize {
        let (frames, next) = (&mut self.frames, self.known.frames.len());
        *self.known.frames.entry(frame).or_insert_with(|| {
            frames.push(frame);
            next
        })
    }

    /// The number of a string.
    pub(super) fn string(&mut self, text: &str) -> usize {
        if let Some(&number) = self.known.strings.get(text) {
            return number;
        }
        self.strings.push(text.to_owned());
        self.known.strings.insert(text.to_owned(), self.strings.len() - 1);
        self.strings.len() - 1
    }
}
