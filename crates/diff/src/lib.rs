//! Two runs compared: what appeared, vanished and grew, and why.
//!
//! A [`Profile`] is what is known of one run's memory, as plain data; [`compare()`] takes two and returns a
//! [`Comparison`], which text, JSON and HTML render. Nothing here reads a file.

mod alignment;
mod arguments;
mod change;
mod compare;
mod explain;
mod explanation;
mod figures;
mod grouping;
mod known_code;
mod library_lines;
mod matching;
mod module_path;
mod names;
mod profile;
mod read_model;
mod scaling;
mod settings;
mod view;

pub use change::{Change, Sums};
pub use compare::{Comparison, RankComparison, SamePhase, compare};
pub use explanation::{Explanation, KindChange, Reason, SiteChange};
pub use figures::{Figures, noise};
pub use profile::{MemoryAt, OwnFrame, Profile, RankProfile, Row, SteadyAt};
pub use read_model::{LaunchNames, profile_of};
pub use settings::SettingChange;
pub use view::{Group, View};
