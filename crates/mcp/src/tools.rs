//! The tools: a table.

mod diff;
mod fit;
mod replay;
mod who;
mod why;

use rmcp::model::{self, JsonObject};
use whyoom_bounded::Stop;

use crate::{
    refusal::Refusal,
    tool::{Answered, Rules, Tool, ask, define},
    whyoom::Whyoom,
};

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
