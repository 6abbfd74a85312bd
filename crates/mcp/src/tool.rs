//! A tool: a command of whyoom, and what is told of its answer.

use std::{
    fmt::Display,
    path::{Path, PathBuf},
    time::Duration,
};

use rmcp::model::{self, JsonObject, ToolAnnotations};
use schemars::JsonSchema;
use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;
use whyoom_bounded::Stop;

use crate::{
    allowed::Allowed,
    folders::Folders,
    quoted::Marked,
    refusal::Refusal,
    room::{LONGEST_ANSWER, Room, cut, fitting},
    whyoom::{Question, Whyoom},
};

/// What the person allowed.
#[derive(Debug)]
pub(crate) struct Rules {
    pub(crate) folders: Folders,
    pub(crate) allowed: Allowed,
}

impl Rules {
    /// A question that reads only, to be filled in.
    pub(crate) fn reading(&self, time: Duration) -> Question {
        Question {
            arguments: Vec::new(),
            files: Vec::new(),
            text: None,
            folder: self.folders.first().map_or(PathBuf::from("/"), Path::to_owned),
            time,
            runs_program: false,
            answered: &[0],
        }
    }
}

/// An answer, as programs and as people read it.
#[derive(Debug)]
pub(crate) struct Answered {
    pub(crate) structured: Value,
    pub(crate) text: String,
}

/// A tool: a command of whyoom, what it takes, and what is told of its answer.
pub(crate) trait Tool {
    const NAME: &'static str;
    const ABOUT: &'static str;
    /// Whether it runs a program of the person's.
    const RUNS_PROGRAM: bool = false;
    type Input: DeserializeOwned + JsonSchema + 'static;
    type Answer: Serialize + JsonSchema + Display + 'static;

    /// What whyoom is asked, if the rules allow it.
    fn question(input: Self::Input, rules: &Rules) -> Result<Question, Refusal>;

    /// What is told of the document that it printed.
    fn answer(document: &Value, room: Room) -> serde_json::Result<Self::Answer>;
}

/// What a client is told of a tool.
pub(crate) fn define<T: Tool>() -> model::Tool {
    let annotations = ToolAnnotations::new()
        .read_only(!T::RUNS_PROGRAM)
        .destructive(T::RUNS_PROGRAM)
        .open_world(T::RUNS_PROGRAM);
    model::Tool::new(T::NAME, T::ABOUT, JsonObject::new())
        .with_input_schema::<T::Input>()
        .with_output_schema::<Marked<T::Answer>>()
        .with_annotations(annotations)
}

/// Asks whyoom, if the rules allow it.
pub(crate) fn ask<T: Tool>(
    input: JsonObject,
    rules: &Rules,
    whyoom: &Whyoom,
    stop: &Stop,
) -> Result<Answered, Refusal> {
    let input = serde_json::from_value(Value::Object(input))
        .map_err(|error| Refusal::new(format!("{error}: see the schema of {}", T::NAME)))?;
    let document = whyoom.ask(T::question(input, rules)?, stop)?;
    answered::<T>(&document)
}

/// What is told of a document.
pub(crate) fn answered<T: Tool>(document: &Value) -> Result<Answered, Refusal> {
    let unknown = |error: serde_json::Error| {
        Refusal::new(format!("whyoom {} answered something else ({error})", T::NAME))
    };
    let answer = fitting(|room| T::answer(document, room).map(Marked::new)).map_err(unknown)?;
    let answer = answer.ok_or_else(|| {
        Refusal::new(format!("the answer is too long: run whyoom {} in a terminal", T::NAME))
    })?;
    let structured = serde_json::to_value(&answer).map_err(unknown)?;
    Ok(Answered { structured, text: cut(answer.to_string().trim_end(), LONGEST_ANSWER) })
}
