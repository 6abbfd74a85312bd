//! What was live when memory ran out, by the place in the program that made it.

use std::io::{self, Write};

use serde::Serialize;
use whyoom_memory::{Category, Incident, Interface, LiveCallSite, LiveSum, Model, live_call_sites};
use whyoom_redact::visible;
use whyoom_trace::{Bytes, DeviceId, ProcessId};

use crate::{
    Answer,
    modules::{ModuleJson, modules_json},
    style::{self, styled},
};

/// What was live at one moment.
pub(crate) struct Live {
    process: ProcessId,
    device: DeviceId,
    /// Which moment it was, in words.
    pub(crate) moment: String,
    /// Whether memory ran out then.
    failed: bool,
    /// The moment's number among the events, and what was live then.
    at: u64,
    pub(crate) sums: Vec<LiveSum>,
    places: Vec<LiveCallSite>,
}

impl Live {
    /// At the failure that the verdict is about; where there was none, at the peak, or at the end of what a
    /// snapshot holds.
    pub(crate) fn of(answer: &Answer<'_>) -> Option<Self> {
        let finding = &answer.verdict.primary;
        let (process, device) = (finding.process, finding.device);
        let failed = answer.model.incidents().iter().rev();
        let mut failed = failed.filter(|incident| !incident.live.is_empty());
        let own = |one: &&Incident| (one.process, one.device) == (process, device);
        let found = failed.clone().find(own).or(failed.next());
        let (process, device, moment, at, sums) = match found {
            Some(incident) => {
                let asked = incident.requested();
                let asked = asked.map_or("a request".to_owned(), |bytes| bytes.to_string());
                let moment = format!("when {asked} failed");
                (incident.process, incident.device, moment, incident.number, incident.live.clone())
            }
            None => {
                let (moment, sums) = without_failure(answer.model, process, device)?;
                (process, device, moment.to_owned(), answer.model.events(), sums)
            }
        };
        let places = live_call_sites(answer.tables, &sums);
        Some(Self { process, device, moment, failed: found.is_some(), at, sums, places })
    }

    /// At the failure, or else at the peak, of a snapshot too, if its history has one.
    pub(crate) fn at_worst(answer: &Answer<'_>) -> Option<Self> {
        let live = Self::of(answer)?;
        let space = answer.model.space(live.process, live.device)?;
        if live.failed || space.block_counts().0 == 0 {
            return Some(live);
        }
        Some(Self { moment: "at the peak".to_owned(), sums: space.live_sums_at_peak(), ..live })
    }

    fn bytes(&self) -> Bytes {
        self.places.iter().map(|place| place.usage.bytes).sum()
    }

    fn blocks(&self) -> u64 {
        self.places.iter().map(|place| place.usage.blocks).sum()
    }
}

/// At the peak of a program that has ended; of one that has not, now.
fn without_failure(
    model: &Model,
    process: ProcessId,
    device: DeviceId,
) -> Option<(&'static str, Vec<LiveSum>)> {
    let space = model.space(process, device)?;
    let ended = model.process(process).is_some_and(|process| process.exited().is_some());
    let (moment, sums) = match ended {
        true => ("at the peak", space.live_sums_at_peak()),
        false => ("at the end of the recording", space.live_sums()),
    };
    (!sums.is_empty()).then_some((moment, sums))
}

/// What a place's memory is: what it is for, or by which call it was taken.
fn kind(place: &LiveCallSite) -> &'static str {
    match (place.interface, place.category) {
        (Interface::Allocator, category) => category.name(),
        (interface, Category::Unattributed) => interface.name(),
        (_, category) => category.name(),
    }
}

/// How far into the run an event came, in percent.
fn percent(event: u64, at: u64) -> u64 {
    event.saturating_mul(100) / at.max(1)
}

/// Writes the places that hold most, at most so many.
///
/// # Errors
/// When `out` cannot be written to.
pub fn write_live(answer: &Answer<'_>, most: usize, out: &mut dyn Write) -> io::Result<()> {
    let Some(live) = Live::of(answer) else {
        return writeln!(out, "\nNo live allocations recorded.");
    };
    let heading = format!(
        "Live {}: {} in {}, from {}",
        live.moment,
        live.bytes(),
        counted(live.blocks(), "block"),
        counted(live.places.len() as u64, "call site")
    );
    writeln!(out, "\n{}", styled(style::HEADING, heading))?;
    writeln!(
        out,
        "  {:>11} {:>8}  {:<16} {:<13}  call site",
        "bytes", "blocks", "what", "allocated"
    )?;
    for place in live.places.iter().take(most) {
        writeln!(
            out,
            "  {:>11} {:>8}  {:<16} {:<13}  {}",
            place.usage.bytes.to_string(),
            place.usage.blocks,
            kind(place),
            made(place, live.at),
            visible(&place.call_site)
        )?;
    }
    if live.places.len() > most {
        let rest = live.places[most..].iter().map(|place| place.usage.bytes).sum::<Bytes>();
        writeln!(
            out,
            "  {:>11}  at {} more call sites",
            rest.to_string(),
            live.places.len() - most
        )?;
    }
    let note =
        "  allocated: how far into the run, in events, the oldest and the newest were allocated";
    writeln!(out, "{}", styled(style::FAINT, note))
}

fn counted(count: u64, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}

fn made(place: &LiveCallSite, at: u64) -> String {
    let (oldest, newest) = (percent(place.oldest, at), percent(place.newest, at));
    match oldest == newest {
        true => format!("at {oldest} %"),
        false => format!("at {oldest}–{newest} %"),
    }
}

#[derive(Serialize)]
pub(crate) struct LiveJson<'a> {
    process: &'a str,
    device: crate::device_json::DeviceJson,
    moment: String,
    bytes: u64,
    blocks: u64,
    places: Vec<LivePlaceJson>,
    modules: Vec<ModuleJson<'a>>,
}

#[derive(Serialize)]
struct LivePlaceJson {
    place: String,
    what: &'static str,
    interface: &'static str,
    bytes: u64,
    blocks: u64,
    oldest_percent: u64,
    newest_percent: u64,
}

/// The same for programs: all places.
pub(crate) fn live_json<'a>(answer: &Answer<'a>) -> Option<LiveJson<'a>> {
    let live = Live::of(answer)?;
    let (bytes, blocks) = (live.bytes().0, live.blocks());
    let place = |place: LiveCallSite| LivePlaceJson {
        what: place.category.name(),
        interface: place.interface.name(),
        bytes: place.usage.bytes.0,
        blocks: place.usage.blocks,
        oldest_percent: percent(place.oldest, live.at),
        newest_percent: percent(place.newest, live.at),
        place: place.call_site,
    };
    Some(LiveJson {
        process: answer.tables.process_name(live.process),
        device: live.device.into(),
        moment: live.moment,
        bytes,
        blocks,
        places: live.places.into_iter().map(place).collect(),
        modules: modules_json(answer.tables, &live.sums),
    })
}
