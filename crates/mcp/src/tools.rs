//! The tools: a table, and what each of them is made of.

mod amount;
mod diff;
mod fit;
mod replay;
mod who;
mod why;

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
    folders::{Folders, Opened},
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
    fn reading(&self, time: Duration) -> Question {
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
trait Tool {
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

/// A tool in the table.
pub(crate) struct Entry {
    pub(crate) name: &'static str,
    pub(crate) define: fn() -> model::Tool,
    pub(crate) ask: fn(JsonObject, &Rules, &Whyoom, &Stop) -> Result<Answered, Refusal>,
}

/// Every tool.
pub(crate) const TOOLS: &[Entry] = &[
    entry::<why::Why>(),
    entry::<diff::Diff>(),
    entry::<replay::Replay>(),
    entry::<fit::Fit>(),
    entry::<who::Who>(),
];

const fn entry<T: Tool>() -> Entry {
    Entry { name: T::NAME, define: define::<T>, ask: ask::<T> }
}

fn define<T: Tool>() -> model::Tool {
    let annotations = ToolAnnotations::new()
        .read_only(!T::RUNS_PROGRAM)
        .destructive(T::RUNS_PROGRAM)
        .open_world(T::RUNS_PROGRAM);
    model::Tool::new(T::NAME, T::ABOUT, JsonObject::new())
        .with_input_schema::<T::Input>()
        .with_output_schema::<T::Answer>()
        .with_annotations(annotations)
}

fn ask<T: Tool>(
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

fn answered<T: Tool>(document: &Value) -> Result<Answered, Refusal> {
    let unknown = |error: serde_json::Error| {
        Refusal::new(format!("whyoom {} answered something else ({error})", T::NAME))
    };
    let answer = fitting(|room| T::answer(document, room)).map_err(unknown)?;
    let answer = answer.ok_or_else(|| {
        Refusal::new(format!("the answer is too long: run whyoom {} in a terminal", T::NAME))
    })?;
    let structured = serde_json::to_value(&answer).map_err(unknown)?;
    Ok(Answered { structured, text: cut(answer.to_string().trim_end(), LONGEST_ANSWER) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_tool_has_schemas_and_says_whether_it_runs_something() {
        for tool in TOOLS {
            let defined = (tool.define)();
            assert_eq!(defined.name, tool.name);
            assert_eq!(defined.input_schema["type"], "object", "{}", tool.name);
            assert_eq!(defined.output_schema.unwrap()["type"], "object", "{}", tool.name);
            let runs = defined.annotations.unwrap().read_only_hint == Some(false);
            assert_eq!(runs, tool.name == "fit", "{}", tool.name);
        }
    }
}
