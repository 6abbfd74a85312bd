//! Who holds device memory on this machine, and why, as far as it can be told.
//!
//! [`Capture`] is everything that is looked at, read once and saved as plain data; the checks are pure
//! functions over it; [`NodeReport`] is what they found, [`write_who`] and
//! [`write_who_json`] show it to people and programs.
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
mod render;
mod report;
mod residual;
mod scene;
mod uses;
mod waits;

pub use capture::{
    Absent, Capture, Environment, Kin, Mount, Open, Process, RankLauncher, Relative, Thread,
    Unread, Viewer, Xid,
};
pub use judge::judge;
pub use look::{NodeSampler, look};
pub use products::is_memory_shared;
pub use render::{
    WhoAlert, WhoWidth, holder_age, holder_command, who_changes, write_orphan_reasons, write_who,
    write_who_json, write_who_json_line,
};
pub use report::{
    DeviceReport, Holder, NodeReport, Origin, Orphan, Recorded, RecordedPlace, State, Suspicion,
    SuspicionKind, Workload,
};
pub use uses::uses_driver;
