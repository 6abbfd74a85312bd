//! `diff`: what changed between two runs.

use std::{
    fmt::{self, Display},
    path::Path,
    time::Duration,
};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{
    folders::Opened,
    refusal::Refusal,
    room::Room,
    tool::{Rules, Tool},
    whyoom::Question,
};

pub(crate) struct Diff;

/// Two runs of one program.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Input {
    /// The run before: a PyTorch memory snapshot with history, or the folder of a recording
    a: String,
    /// The run after
    b: String,
}

/// What changed.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Answer {
    /// The answer in one line
    headline: String,
}

/// The document of `whyoom diff --json`, as far as it is told.
// To be finished when the command is there: what it prints beside its headline, the lines that grew and shrank; and,
// as with `why`, that it opens no library that a recording names.
#[derive(Deserialize)]
struct Document {
    headline: String,
}

impl Tool for Diff {
    const NAME: &'static str = "diff";
    const ABOUT: &'static str = "Compare the memory of two runs: what grew, what shrank, and at which line of the \
         program. Executes nothing.";
    type Input = Input;
    type Answer = Answer;

    fn question(input: Input, rules: &Rules) -> Result<Question, Refusal> {
        let files = vec![
            rules.folders.open(Path::new(&input.a))?,
            rules.folders.open(Path::new(&input.b))?,
        ];
        let mut arguments: Vec<String> = ["diff", "--json", "--"].map(str::to_owned).into();
        arguments.extend(files.iter().map(Opened::name));
        Ok(Question { arguments, files, ..rules.reading(Duration::from_secs(120)) })
    }

    fn answer(document: &Value, room: Room) -> serde_json::Result<Answer> {
        let Document { headline } = Document::deserialize(document)?;
        Ok(Answer { headline: room.text(&headline) })
    }
}

impl Display for Answer {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(out, "{}", self.headline)
    }
}
