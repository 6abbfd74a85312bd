//! Strings that are told once and then named by a number.

use std::collections::HashMap;

use foldhash::fast::RandomState;

use super::proto::{InternedData, InternedName};

/// What a string is used for: each use has numbers of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Sort {
    /// The name of a slice or an instant.
    Event,
    /// The name of an annotation.
    Annotation,
    /// The value of one.
    Value,
}

/// Strings beyond these are told anew: a program may name every step of a long run.
const MOST: usize = 1 << 16;

#[derive(Default)]
pub(super) struct Interned {
    known: HashMap<(Sort, String), u64, RandomState>,
    next: u64,
    new: InternedData,
}

impl Interned {
    pub(super) fn iid(&mut self, sort: Sort, text: &str) -> u64 {
        let key = (sort, text.to_owned());
        if let Some(iid) = self.known.get(&key) {
            return *iid;
        }
        if self.known.len() >= MOST {
            self.known.clear();
        }
        self.next += 1;
        let name = InternedName { iid: self.next, name: text.to_owned() };
        match sort {
            Sort::Event => self.new.event_names.push(name),
            Sort::Annotation => self.new.debug_annotation_names.push(name),
            Sort::Value => self.new.debug_annotation_string_values.push(name),
        }
        self.known.insert(key, self.next);
        self.next
    }

    /// What is new since the last packet, if anything is.
    pub(super) fn take_new(&mut self) -> Option<InternedData> {
        (self.new != InternedData::default()).then(|| std::mem::take(&mut self.new))
    }
}
