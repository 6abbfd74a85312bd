//! What people and programs see. Everything here only renders: no figure is made in this crate.

mod chart;
mod contents;
mod explain;
mod fit;
mod html;
mod json;
mod live;
mod replay;
mod style;
mod text;
mod timeline;
mod who;
mod written;

pub use explain::{write_catalogue, write_cause, write_terms};
pub use fit::{
    FitAmount, FitAnswer, FitAssertion, FitGpu, FitLargest, FitNote, FitObstacle, FitPeak,
    FitPoint, FitProcess, FitSetting, FitVary, write_fit, write_fit_json,
};
pub use html::{Report, write_report_html, write_report_json};
pub use json::{VerdictParts, write_catalogue_json, write_terms_json, write_verdict_json};
pub use live::write_live;
pub use replay::{ModelCheck, ReplayAnswer, ReplayRow, write_replay, write_replay_json};
pub use text::write_verdict;
pub use who::{
    WhoAlert, WhoWidth, holder_age, holder_command, who_changes, write_orphan_reasons, write_who,
    write_who_json, write_who_json_line,
};

use whyoom_causes::Verdict;
use whyoom_memory::Model;
use whyoom_trace::Tables;

/// Everything that a rendering may show.
pub struct Answer<'a> {
    /// The verdict.
    pub verdict: &'a Verdict,
    /// What it was made from.
    pub model: &'a Model,
    /// The names of it.
    pub tables: &'a Tables,
    /// What was read, for people to recognise.
    pub inputs: &'a [Input],
}

/// Something that was read.
#[derive(Debug, Clone)]
pub struct Input {
    /// Its name: a path, or `standard input`.
    pub name: String,
    /// What it was taken for.
    pub kind: InputKind,
    /// What is worth saying of it.
    pub notes: Vec<String>,
}

/// What an input was taken for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InputKind {
    /// A PyTorch memory snapshot.
    TorchSnapshot,
    /// A log or a message.
    Text,
    /// A recording of `whyoom run`.
    Recording,
    /// A log of RAPIDS Memory Manager.
    RmmLog,
    /// An SQLite export of Nsight Systems.
    NsightSystems,
}

impl InputKind {
    /// The word for it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::TorchSnapshot => "pytorch-snapshot",
            Self::Text => "text",
            Self::Recording => "recording",
            Self::RmmLog => "rmm-log",
            Self::NsightSystems => "nsight-systems",
        }
    }
}
