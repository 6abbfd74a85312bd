//! What several policies are built from.

mod arrivals;
mod blocks;
mod free_set;

pub(super) use arrivals::Arrivals;
pub(super) use blocks::{Blocks, NONE};
pub(super) use free_set::{FreeBlocks, FreeSet, FreeTag, ListId};
