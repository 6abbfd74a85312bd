//! Physical memory without an address of its own, and where it is mapped.

use std::{os::fd::OwnedFd, sync::Arc};

use super::ids::HandleId;
use crate::machine::SharedMemory;

/// What physical memory is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Physical {
    /// Its device.
    pub device: usize,
    /// Its size.
    pub size: u64,
    /// The kinds of handle that it may be exported as, as the driver API numbers them.
    pub handle_types: u32,
}

pub(crate) struct Handle {
    pub(crate) physical: Physical,
    /// Uses of the handle by the program.
    pub(crate) references: u32,
    /// Places that it is mapped at.
    pub(crate) mappings: u32,
    pub(crate) file: FileOf,
    pub(crate) offset: u64,
    /// Set once it was exported, or where it was imported.
    pub(crate) shared: Option<SharedMemory>,
}

/// The file that a handle's bytes are in.
#[derive(Clone)]
pub(crate) enum FileOf {
    /// This process's own for the device.
    Own,
    /// Another process's.
    Imported(Arc<OwnedFd>),
}

#[derive(Clone, Copy)]
pub(crate) struct Mapping {
    pub(crate) size: u64,
    pub(crate) handle: HandleId,
    /// A bit for each device, as this process numbers them, that may read and write it.
    pub(crate) access: u32,
    pub(crate) id: u64,
}
