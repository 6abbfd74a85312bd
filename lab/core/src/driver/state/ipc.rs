//! What a process shares by legacy handles, and what it has opened of others.

use std::{
    collections::{BTreeMap, HashMap},
    os::fd::OwnedFd,
};

use super::ids::ContextId;
use crate::{backing, ranges::FreeRanges};

/// A handle, as words of its 64 bytes.
pub type IpcHandle = [u64; 8];

/// What this process shares, and what it has opened of others.
pub(crate) struct Ipc {
    /// The shared clock when this process's own began.
    pub(crate) epoch: u64,
    /// The events of this process that others can open.
    pub(crate) moments: Option<Moments>,
    /// Where events of others are mapped, by the file that they are in.
    pub(crate) foreign_moments: HashMap<u64, u64>,
    pub(crate) exports: BTreeMap<u64, Export>,
    pub(crate) imports: HashMap<u64, Import>,
}

impl Default for Ipc {
    fn default() -> Self {
        Self {
            epoch: backing::shared_clock(),
            moments: None,
            foreign_moments: HashMap::new(),
            exports: BTreeMap::new(),
            imports: HashMap::new(),
        }
    }
}

/// A range of device memory with a file behind it.
pub(crate) struct Export {
    pub(crate) length: u64,
    pub(crate) file: OwnedFd,
    pub(crate) inode: u64,
}

/// Memory of another process.
pub(crate) struct Import {
    pub(crate) handle: IpcHandle,
    pub(crate) context: ContextId,
    pub(crate) device: usize,
    /// What is mapped, which may be more than the allocation.
    pub(crate) mapped: (u64, u64),
    pub(crate) references: u32,
}

/// The events of this process that others can open.
pub(crate) struct Moments {
    pub(crate) file: OwnedFd,
    pub(crate) start: u64,
    pub(crate) free: FreeRanges,
}
