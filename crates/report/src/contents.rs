//! What a document tells of a run and of a machine, for people who are about to send it.

use std::collections::BTreeSet;

use whyoom_sources::InputKind;
use whyoom_trace::{ProcessId, facts};

use crate::Answer;

/// What is never in one.
pub(crate) const LEFT_OUT: &str =
    "No other environment variables, no arguments of other users' programs, no memory contents";

/// What the verdict and the memory behind it tell, each in a few words.
pub(crate) fn contents(answer: &Answer<'_>) -> Vec<String> {
    let mut found = vec!["names of the inputs".to_owned()];
    let has = |kind| answer.inputs.iter().any(|input| input.kind == kind);
    if has(InputKind::Recording) {
        found.push("the command lines of the recorded processes, secrets masked".to_owned());
    }
    let settings = settings(answer);
    if settings > 0 {
        let many = if settings == 1 { "" } else { "s" };
        found.push(format!("{settings} memory-related setting{many}"));
    }
    // The empty one is always there.
    if answer.tables.stack_count() > 1 {
        found.push("functions, source files and lines".to_owned());
    }
    let incidents = answer.model.incidents();
    if incidents.iter().any(|incident| incident.symptom.is_some()) {
        found.push("messages of the program, secrets masked".to_owned());
    }
    if incidents.iter().any(|incident| !incident.holders.is_empty()) {
        found.push("PIDs and program names of other processes that held memory".to_owned());
    }
    found
}

/// How many settings the processes told.
fn settings(answer: &Answer<'_>) -> usize {
    let processes: BTreeSet<ProcessId> =
        answer.model.spaces().map(|(process, _, _)| process).collect();
    let names = processes.iter().flat_map(|process| answer.model.own_settings(*process));
    let names: BTreeSet<&str> = names.map(|(name, _)| name).collect();
    names.iter().filter(|name| !name.starts_with(facts::OWN)).count()
}
