//! What is told of `whyoom fit --json`.

use std::fmt::{self, Display};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{amount::Amount, quoted::quoted, room::Room};

/// Whether it fits, and where.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Answer {
    /// Whether it fits on at least one of the GPUs
    fits: bool,
    /// Each GPU that was asked for
    gpus: Vec<Gpu>,
    /// How many there are in all
    gpus_in_all: usize,
    /// The largest value that fits on each GPU, where one was varied
    largest: Vec<Largest>,
    /// What was asserted
    assertions: Vec<Assertion>,
    /// The person's own line at the peak
    peak_line: Option<String>,
    /// What each step leaves allocated: not 0 B means a leak
    growth_per_step: Amount,
    /// How sure it is: what was measured, what is assumed
    notes: Vec<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct Gpu {
    name: String,
    fits: bool,
    total: Amount,
    /// Of the process that needs most
    peak: Option<Amount>,
    /// What is left; negative: what is missing
    headroom: Option<Amount>,
    /// A setting with which it fits, to paste
    fits_with: Option<String>,
    /// What stands in the way: too-large, fragmented, unfinished; or how the program failed
    obstacle: Option<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct Largest {
    gpu: String,
    /// null where none fits
    value: Option<u64>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct Assertion {
    text: String,
    holds: bool,
    found: String,
}

/// The document, as far as it is told.
#[derive(Deserialize)]
struct Document {
    gpus: Vec<Judged>,
    peaks: Vec<Peak>,
    vary: Option<Vary>,
    growth_bytes_per_step: i64,
    assertions: Vec<Asserted>,
    notes: Vec<Note>,
}

#[derive(Deserialize)]
struct Judged {
    name: String,
    total_bytes: i64,
    fits: bool,
    failure: Option<String>,
    processes: Vec<Process>,
}

#[derive(Deserialize)]
struct Process {
    peak_bytes: i64,
    headroom_bytes: i64,
    fits_with: Option<Setting>,
    obstacle: Option<String>,
}

#[derive(Deserialize)]
struct Setting {
    paste: String,
}

#[derive(Deserialize)]
struct Peak {
    place: String,
}

#[derive(Deserialize)]
struct Vary {
    largest: Vec<LargestOf>,
}

#[derive(Deserialize)]
struct LargestOf {
    gpu: String,
    value: Option<u64>,
}

#[derive(Deserialize)]
struct Asserted {
    text: String,
    holds: bool,
    found: String,
}

#[derive(Deserialize)]
struct Note {
    kind: String,
    text: String,
}

pub(super) fn answer(document: &Value, room: Room) -> serde_json::Result<Answer> {
    let document = Document::deserialize(document)?;
    let largest = document.vary.map_or(Vec::new(), |vary| vary.largest);
    let by_value = largest.iter().any(|one| one.value.is_some());
    let few = Room { items: room.items.min(3), ..room };
    Ok(Answer {
        fits: by_value || document.gpus.iter().any(|gpu| gpu.fits),
        gpus: room.list(&document.gpus, |gpu| judged(gpu, room)),
        gpus_in_all: document.gpus.len(),
        largest: room.list(&largest, |one| Largest { gpu: room.text(&one.gpu), value: one.value }),
        assertions: room.list(&document.assertions, |one| Assertion {
            text: room.text(&one.text),
            holds: one.holds,
            found: room.text(&one.found),
        }),
        peak_line: document.peaks.first().map(|peak| room.text(&peak.place)),
        growth_per_step: Amount::new(document.growth_bytes_per_step),
        notes: few
            .list(&document.notes, |note| room.text(&format!("{}: {}", note.kind, note.text))),
    })
}

fn judged(gpu: &Judged, room: Room) -> Gpu {
    let worst = gpu.processes.iter().min_by_key(|process| process.headroom_bytes);
    let obstacle = worst.and_then(|process| process.obstacle.as_deref());
    let setting = worst.and_then(|process| process.fits_with.as_ref());
    Gpu {
        name: room.text(&gpu.name),
        fits: gpu.fits,
        total: Amount::new(gpu.total_bytes),
        peak: worst.map(|process| Amount::new(process.peak_bytes)),
        headroom: worst.map(|process| Amount::new(process.headroom_bytes)),
        fits_with: Room::paste(setting.map(|setting| setting.paste.as_str())),
        obstacle: room.maybe(gpu.failure.as_deref().or(obstacle)),
    }
}

impl Display for Answer {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        for gpu in &self.gpus {
            let fits = if gpu.fits { "it fits" } else { "it does not fit" };
            let peak = gpu.peak.as_ref().map_or(String::new(), |peak| format!(", peak {peak}"));
            let with =
                gpu.fits_with.as_ref().map_or(String::new(), |line| format!("; with: {line}"));
            let why = gpu.obstacle.as_ref().map_or(String::new(), |why| format!(" ({why})"));
            writeln!(out, "{}: {fits}{why}{peak} of {}{with}", gpu.name, gpu.total)?;
        }
        match self.gpus_in_all - self.gpus.len() {
            0 => {}
            more => writeln!(out, "and {more} more GPUs: whyoom fit in a terminal shows all")?,
        }
        for Largest { gpu, value } in &self.largest {
            let value = value.map_or("none".to_owned(), |value| value.to_string());
            writeln!(out, "{gpu}: the largest value that fits is {value}")?;
        }
        for Assertion { text, holds, found } in &self.assertions {
            let holds = if *holds { "holds" } else { "DOES NOT HOLD" };
            writeln!(out, "assert {text}: {holds} ({found})")?;
        }
        if let Some(line) = &self.peak_line {
            let line = quoted(line);
            writeln!(out, "peak at {line}; each step leaves {}", self.growth_per_step)?;
        }
        self.notes.iter().try_for_each(|note| writeln!(out, "{note}"))
    }
}
