//! The parts of SARIF 2.1.0 that are written.

use serde::Serialize;

use super::location::Location;

const SCHEMA: &str =
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json";

/// The document.
#[derive(Serialize)]
pub(super) struct Log {
    #[serde(rename = "$schema")]
    schema: &'static str,
    version: &'static str,
    runs: [Run; 1],
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Run {
    tool: Tool,
    column_kind: &'static str,
    results: Vec<Result>,
}

#[derive(Serialize)]
struct Tool {
    driver: Driver,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Driver {
    name: &'static str,
    semantic_version: &'static str,
    information_uri: &'static str,
    rules: Vec<Rule>,
}

/// What can be found.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Rule {
    id: &'static str,
    short_description: Words,
    full_description: Words,
    help: Words,
    help_uri: String,
}

#[derive(Serialize)]
struct Words {
    text: String,
}

/// Something that was found.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Result {
    rule_id: &'static str,
    level: &'static str,
    message: Message,
    locations: Vec<Location>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    related_locations: Vec<Location>,
}

/// What is told of it.
#[derive(Serialize)]
pub(super) struct Message {
    text: String,
    markdown: String,
}

impl Log {
    pub(super) fn new(rules: Vec<Rule>, results: Vec<Result>) -> Self {
        let driver = Driver {
            name: "whyoom",
            semantic_version: env!("CARGO_PKG_VERSION"),
            information_uri: env!("CARGO_PKG_HOMEPAGE"),
            rules,
        };
        let run = Run { tool: Tool { driver }, column_kind: "unicodeCodePoints", results };
        Self { schema: SCHEMA, version: "2.1.0", runs: [run] }
    }
}

impl Rule {
    pub(super) fn new(
        id: &'static str,
        title: &'static str,
        explanation: &'static str,
        help_uri: String,
    ) -> Self {
        let words = |text: &str| Words { text: text.trim().to_owned() };
        let explanation = words(explanation);
        Self {
            id,
            short_description: words(title),
            full_description: Words { text: explanation.text.clone() },
            help: explanation,
            help_uri,
        }
    }
}

impl Result {
    /// The first line is where it is; the others have to do with it.
    pub(super) fn new(
        rule_id: &'static str,
        level: &'static str,
        message: Message,
        mut lines: Vec<Location>,
    ) -> Self {
        let related_locations = lines.split_off(lines.len().min(1));
        Self { rule_id, level, message, locations: lines, related_locations }
    }
}

impl Message {
    pub(super) fn new(text: String, markdown: String) -> Self {
        Self { text, markdown }
    }
}
