//! Who holds device memory on this machine, and why, as far as it can be told.
//!
//! [`Capture`] is everything that is looked at, read once and saved as plain data; the checks are pure
//! functions over it; [`NodeReport`] is what they found.
//!
//! ```no_run
//! let gpus = whyoom_gpu::Gpus::open()?;
//! let capture = whyoom_node::look(&gpus)?;
//! for device in whyoom_node::judge(&capture).devices {
//!     println!("GPU {}: {} holders", device.device.index, device.holders.len());
//! }
//! # Ok::<(), whyoom_gpu::GpuError>(())
//! ```

mod capture;
mod checks;
pub mod events;
mod holders;
mod judge;
mod look;
mod parentage;
mod private;
pub mod proc;
mod products;
mod report;
mod residual;
mod scene;
mod uses;
mod waits;

pub use capture::{
    Absent, Capture, Kin, Mount, Observer, Open, Process, Relative, Thread, Unread, Xid,
};
pub use judge::judge;
pub use look::{Looker, look};
pub use report::{
    DeviceReport, Holder, NodeReport, Origin, Orphan, Recorded, RecordedPlace, State, Suspicion,
    SuspicionKind, Workload,
};
pub use uses::uses_driver;
