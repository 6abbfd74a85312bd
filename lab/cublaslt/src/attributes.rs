//! Attributes of a descriptor: numbered, each a few bytes whose meaning only the caller needs.

use std::{
    collections::BTreeMap,
    sync::{Mutex, PoisonError},
};

use whyoom_lab_abi::{In, Out};

use crate::status::Failure;

/// What stands behind every descriptor, whatever it describes.
#[derive(Debug, Default)]
pub(crate) struct Attributes(Mutex<BTreeMap<u32, Vec<u8>>>);

impl Attributes {
    /// Remembers an attribute, replacing what it was.
    pub(crate) fn set(&self, attribute: u32, value: Vec<u8>) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(attribute, value);
    }

    /// What was set. The lab knows no defaults: what was never set is not supported.
    fn get(&self, attribute: u32) -> Result<Vec<u8>, Failure> {
        let attributes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        attributes.get(&attribute).cloned().ok_or(Failure::NotSupported)
    }
}

/// Gives a value to a caller who has `room` for exactly it, or asks with no room for its size.
pub(crate) fn give(
    value: &[u8],
    buffer: Out<u8>,
    room: usize,
    written: Out<usize>,
) -> Result<(), Failure> {
    if room == 0 {
        return Ok(written.put(value.len())?);
    }
    if room != value.len() {
        return Err(Failure::InvalidValue);
    }
    buffer.put_all(value.iter().copied())?;
    written.put_if_wanted(value.len());
    Ok(())
}

/// A descriptor as callers pass it.
#[derive(Clone, Copy, Debug)]
#[repr(transparent)]
pub(crate) struct Descriptor(*mut Attributes);

impl Descriptor {
    /// A new one that remembers what it was made with.
    pub(crate) fn create(initial: &[(u32, &[u8])]) -> Self {
        let attributes = Attributes::default();
        for &(attribute, value) in initial {
            attributes.set(attribute, value.to_vec());
        }
        Self(Box::into_raw(Box::new(attributes)))
    }

    fn attributes<'call>(self) -> Result<&'call Attributes, Failure> {
        // SAFETY: null, or by the contract made by `create` and not destroyed before the call
        // returns; it is only ever borrowed shared.
        unsafe { self.0.as_ref() }.ok_or(Failure::InvalidValue)
    }

    /// Whether there is one.
    pub(crate) fn check(self) -> Result<(), Failure> {
        self.attributes().map(drop)
    }

    pub(crate) fn set(self, attribute: u32, value: In<u8>, size: usize) -> Result<(), Failure> {
        let attributes = self.attributes()?;
        value.get()?;
        attributes.set(attribute, value.list(size)?);
        Ok(())
    }

    pub(crate) fn get(
        self,
        attribute: u32,
        buffer: Out<u8>,
        room: usize,
        written: Out<usize>,
    ) -> Result<(), Failure> {
        give(&self.attributes()?.get(attribute)?, buffer, room, written)
    }

    /// Ends it; null is nothing to end.
    pub(crate) fn destroy(self) {
        if !self.0.is_null() {
            // SAFETY: not null, so by the contract from `create` and not destroyed before.
            drop(unsafe { Box::from_raw(self.0) });
        }
    }
}
