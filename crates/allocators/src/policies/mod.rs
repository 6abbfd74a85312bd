//! The policies, one file each.

pub mod pytorch;

pub mod bfc;
pub mod binned;
pub mod rmm_pool;
mod shared;
pub mod stitch;
pub mod stream_ordered;
