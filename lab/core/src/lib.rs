//! The simulated GPU: devices that several processes share, and what the driver API does with them.
//!
//! [`machine`] is shared between processes, [`driver`] is one process's own. The libraries that
//! programs load are thin over these two. Only memory, time and errors are simulated; kernels
//! do nothing. Where a behaviour is not documented and was not observed, the comment says "assumed".

pub mod driver;
pub mod error;
pub mod holders;
pub mod identity;
pub mod image;
pub mod log;
pub mod machine;
pub mod models;
pub mod session;
pub mod timeline;
pub mod visibility;

mod backing;
mod graph_memory;
mod graph_space;
mod pool;
mod ranges;
mod slabs;

pub use error::{Error, Result};
