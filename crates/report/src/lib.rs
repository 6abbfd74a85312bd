//! What people and programs see. Everything here only renders: no figure is made in this crate.

mod caught;
mod chart;
mod contents;
mod device_json;
mod diff;
mod documentation;
mod explain;
mod fit;
mod frontier_chart;
mod html;
mod json;
mod live;
mod modules;
mod replay;
mod sarif;
mod schemas;
mod screen;
mod style;
mod text;
mod timeline;
mod value_chart;
mod written;

pub use caught::CaughtFailures;
pub use diff::{DiffCondition, diff_headline, write_diff, write_diff_json};
pub use explain::{write_catalogue, write_cause, write_terms};
pub use fit::{
    FitAmount, FitAnswer, FitAssertion, FitFrontier, FitFrontierRow, FitGeneration, FitGpu,
    FitLargest, FitNote, FitObstacle, FitPage, FitPeak, FitPoint, FitProcess, FitSetting,
    FitTokens, FitTokensPoint, FitVary, fits_somewhere, write_fit, write_fit_json,
};
pub use html::{
    DiffPage, Report, RunTimeline, run_timelines, write_diff_html, write_diff_page_json,
    write_report_html, write_report_json,
};
pub use json::{VerdictParts, write_catalogue_json, write_terms_json, write_verdict_json};
pub use live::write_live;
pub use modules::largest_modules;
pub use replay::{
    FitReach, ModelCheck, OWN_POOL, ReplayAnswer, ReplayRow, write_replay, write_replay_json,
};
pub use sarif::{SourceFolders, write_fit_sarif, write_verdict_sarif};
pub use schemas::{SCHEMAS, Schema};
pub use screen::Screen;
pub use text::{Detail, write_caught, write_verbose_hint, write_verdict};

use whyoom_causes::Verdict;
use whyoom_memory::Model;
use whyoom_sources::InputKind;
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
    /// The failures that the program survived. `None` if none failed, or if one may have stopped a process.
    pub caught: Option<CaughtFailures>,
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
