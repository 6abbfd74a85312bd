//! `replay`: which allocator or setting would have served the run.

use std::{
    fmt::{self, Display},
    path::Path,
    time::Duration,
};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{
    amount::Amount,
    refusal::Refusal,
    room::Room,
    tool::{Rules, Tool},
    whyoom::Question,
};

pub(crate) struct Replay;

/// A recorded run, and what to try.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Input {
    /// A PyTorch memory snapshot with history, an RMM log, or the folder of a recording
    path: String,
    /// Only these allocators, e.g. expandable, max-split; default: all
    #[serde(default)]
    allocators: Vec<String>,
    /// Also PyTorch with each of these settings, as in `PYTORCH_CUDA_ALLOC_CONF`, e.g. max_split_size_mb:256
    #[serde(default)]
    settings: Vec<String>,
    /// Memory available to the allocators, e.g. 24GiB; default: from the recording
    capacity: Option<String>,
    /// Try many PyTorch allocator settings
    #[serde(default)]
    sweep: bool,
}

/// What each allocator would have needed.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Answer {
    /// One for each process and GPU
    runs: Vec<Run>,
    /// How many there are in all
    runs_in_all: usize,
}

#[derive(Debug, Serialize, JsonSchema)]
struct Run {
    device: String,
    /// The most that the program used at once
    peak_live: Amount,
    /// Memory that there was
    capacity: Option<Amount>,
    /// Whether the replay of what ran equals the recording, so that the others can be believed
    model_is_exact: bool,
    /// True if `fits` is about the recorded requests only: `caveat` says why the program needs more
    fits_up_to_here: bool,
    /// Why the program needs more than the recorded requests
    caveat: Option<String>,
    /// The best first
    allocators: Vec<Allocator>,
    notes: Vec<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct Allocator {
    allocator: String,
    /// Whether the run fits; null where it is not known how much memory there was
    fits: Option<bool>,
    peak_reserved: Amount,
    /// What switches it on, to paste; null if nothing does, or if memory grows
    switch: Option<String>,
}

/// The document of `whyoom replay --json`, as far as it is told.
#[derive(Deserialize)]
struct Document {
    runs: Vec<Replayed>,
}

#[derive(Deserialize)]
struct Replayed {
    device: String,
    peak_live_bytes: i64,
    capacity_bytes: Option<i64>,
    model: Model,
    rows: Vec<Row>,
    fits_up_to_here: bool,
    caveat: Option<String>,
    /// Left out where there are none.
    #[serde(default)]
    notes: Vec<String>,
}

#[derive(Deserialize)]
struct Model {
    whole: bool,
    steps: u64,
    equal: u64,
}

#[derive(Deserialize)]
struct Row {
    allocator: String,
    switch: Option<String>,
    fits: Option<bool>,
    peak_reserved_bytes: i64,
}

impl Tool for Replay {
    const NAME: &'static str = "replay";
    const ABOUT: &'static str = "Replay a recorded run under other allocators and PyTorch allocator settings: which of \
         them fits, and what switches it on. Executes nothing.";
    type Input = Input;
    type Answer = Answer;

    fn question(input: Input, rules: &Rules) -> Result<Question, Refusal> {
        let opened = rules.folders.open(Path::new(&input.path))?;
        let mut arguments = vec!["replay".to_owned(), "--json".to_owned()];
        arguments.extend(input.allocators.iter().map(|one| format!("--allocator={one}")));
        arguments.extend(input.settings.iter().map(|one| format!("--set={one}")));
        arguments.extend(input.capacity.map(|size| format!("--capacity={size}")));
        arguments.extend(input.sweep.then(|| "--sweep".to_owned()));
        arguments.extend(["--".to_owned(), opened.name()]);
        let reading = rules.reading(Duration::from_secs(300));
        Ok(Question { arguments, files: vec![opened], ..reading })
    }

    fn answer(document: &Value, room: Room) -> serde_json::Result<Answer> {
        let Document { runs } = Document::deserialize(document)?;
        let few = Room { items: room.items.min(4), ..room };
        Ok(Answer { runs: few.list(&runs, |run| replayed(run, room)), runs_in_all: runs.len() })
    }
}

fn replayed(run: &Replayed, room: Room) -> Run {
    let Model { whole, steps, equal } = run.model;
    Run {
        device: room.text(&run.device),
        peak_live: Amount::new(run.peak_live_bytes),
        capacity: run.capacity_bytes.map(Amount::new),
        model_is_exact: whole && steps == equal,
        fits_up_to_here: run.fits_up_to_here,
        caveat: room.maybe(run.caveat.as_deref()),
        allocators: room.list(&run.rows, |row| Allocator {
            allocator: room.text(&row.allocator),
            fits: row.fits,
            peak_reserved: Amount::new(row.peak_reserved_bytes),
            switch: Room::paste(row.switch.as_deref()),
        }),
        notes: Room { items: room.items.min(2), ..room }.list(&run.notes, |note| room.text(note)),
    }
}

impl Display for Answer {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        for run in &self.runs {
            let capacity =
                run.capacity.as_ref().map_or(String::new(), |bytes| format!(" of {bytes}"));
            writeln!(out, "{}: {} live at the peak{capacity}", run.device, run.peak_live)?;
            if let Some(caveat) = &run.caveat {
                writeln!(out, "{caveat}")?;
            }
            for one in &run.allocators {
                let fits = match one.fits {
                    Some(true) if run.fits_up_to_here => "fits up to here",
                    Some(true) => "fits",
                    Some(false) => "does not fit",
                    None => "not known",
                };
                let switch = one.switch.as_deref().unwrap_or("-");
                writeln!(
                    out,
                    "  {}: {fits}, {} reserved; {switch}",
                    one.allocator, one.peak_reserved
                )?;
            }
            for note in &run.notes {
                writeln!(out, "note: {note}")?;
            }
        }
        match self.runs_in_all - self.runs.len() {
            0 => Ok(()),
            more => writeln!(out, "and {more} more runs: whyoom replay in a terminal shows all"),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_fit_of_a_run_that_leaks_is_not_called_a_fix() {
        let row = json!({"allocator": "expandable", "switch": null, "fits": true, "peak_reserved_bytes": 1});
        let run = json!({"device": "GPU 0", "peak_live_bytes": 1, "capacity_bytes": 2, "rows": [row],
            "model": {"whole": true, "steps": 1, "equal": 1},
            "fits_up_to_here": true, "caveat": "Memory grows; the leak goes on."});
        let document = json!({"runs": [run]});
        let answer = Replay::answer(&document, Room { text: 400, items: 8 }).unwrap();
        let text = answer.to_string();
        assert!(text.contains("Memory grows; the leak goes on.\n"), "{text}");
        assert!(text.contains("expandable: fits up to here, 1 B reserved; -\n"), "{text}");
    }
}
