//! From inputs to answers, wherever the inputs come from: a verdict with what replays prove, the report of it, two runs
//! compared. Who opens files is the caller: the command reads them from disks and pipes, the page in the browser from
//! what was dropped on it.
#![cfg_attr(test, allow(clippy::disallowed_methods))]

mod archive;
mod beside;
mod contents;
mod inquiry;
mod packed;
mod replay_context;
mod replays;
mod run_profile;
mod stream;
mod what_if;
mod whole_run;

pub use archive::{ArchiveError, unpack};
pub use beside::{TORCH_FOLDER, referrers, tells_referrers};
pub use inquiry::{Inquiry, ReportOf};
pub use packed::{Packed, PackedError, is_packed};
pub use replay_context::ReplayContext;
pub use replays::{Asked, Candidate, answer, can_be_replayed};
pub use run_profile::{RunProfile, rank_in};
pub use stream::{Beginning, begin};
pub use what_if::WhatIf;

/// What a report of a recording made in the lab says of itself.
pub const SIMULATED: &str = "Recorded on a simulated GPU (whyoom lab): its memory, limits and errors are \
                             simulated, and nothing was computed.";
