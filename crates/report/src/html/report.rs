//! What a report is made from.

use whyoom_memory::Model;
use whyoom_redact::Paths;
use whyoom_trace::Tables;

use crate::{Answer, FitAnswer, ReplayAnswer, contents::contents};

/// Everything that a report may show.
#[derive(Default)]
pub struct Report<'a> {
    /// What was looked at, for people: names of inputs, or a command.
    pub title: String,
    /// The verdict, and what it was made from.
    pub answer: Option<Answer<'a>>,
    /// Whether a program fits.
    pub fit: Option<&'a FitAnswer>,
    /// Memory over time, of a model with history, and the names in it.
    pub memory: Option<(&'a Model, &'a Tables)>,
    /// What other allocators would have done.
    pub replay: &'a [ReplayAnswer<'a>],
    /// Why there is no more of that, for people.
    pub replay_note: Option<String>,
    /// Where a GPU was simulated, a sentence that says so.
    pub simulated: Option<String>,
    /// Which folders are left out of paths, beside the one that the program's own files are in.
    pub paths: Paths,
    /// Whether paths are told in full all the same.
    pub full_paths: bool,
}

impl Report<'_> {
    /// What who opens it sees of the run and of the machine, in words.
    #[must_use]
    pub fn contents(&self) -> Vec<String> {
        let of_fit = || vec!["the command line, secrets masked".to_owned()];
        self.answer.as_ref().map_or_else(of_fit, contents)
    }
}
