//! The live allocator: the policy `stitch`, the very code that a replay runs, on a device's virtual
//! memory.
//!
//! A [`DevicePool`] serves one device. Each stream has a *lane* with a lock of its own, and what is
//! asked for on a stream is served from what is free in its lane: nothing else is touched, and the
//! driver is not called. Where nothing fits, the *growth path* moves idle pages or makes new ones; it
//! is the one place where a lock of the whole device is taken. Nobody ever waits for the device but
//! those who ask for it: see `pages` for how a page moves while work that uses it still runs.
//!
//! Whoever adds a way in adds a file to `c_abi` and its functions to `include/whyoom_pool.h`.

mod c_abi;
mod captures;
mod counting;
mod cuda;
mod debug;
mod device;
mod driver;
mod environment;
mod error;
mod forget;
mod fork;
mod growth;
mod lane;
mod lane_device;
mod lane_key;
mod lanes;
mod message;
mod moments;
mod pages;
mod peers;
pub mod process;
mod record;
mod refusal;
pub mod resource;
mod statistics;
mod sync;
mod tally;
mod torch_error;
mod trim;
mod uses;

pub use cuda::CudaDevice;
pub use device::{DevicePool, Options};
pub use driver::{Answer, Driver, Event, Physical, Stream};
pub use error::PoolError;
pub use refusal::Refusal;
pub use statistics::{BlockInfo, Statistics};
