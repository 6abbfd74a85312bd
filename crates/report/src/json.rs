//! The verdict as programs read it. The schema is documented in docs/json.md; a change that could
//! break a reader raises [`VERSION`].

use std::io::{self, Write};

use serde::Serialize;
use whyoom_causes::{
    CATALOGUE, CallSite, Cause, Component, Evidence, Figure, Finding, GLOSSARY, Level,
    MemoryBreakdown, Part, Range, Remedy, Term, figures,
};
use whyoom_memory::{Holder, Incident, Model, Space};
use whyoom_trace::{Bytes, DeviceId, ProcessId, ProcessState, Tables};

use crate::{
    Answer,
    contents::contents,
    device_json::DeviceJson,
    documentation::documentation,
    live::{LiveJson, live_json},
    timeline::{TimelineJson, timelines},
    written::write_document,
};

const VERSION: u32 = 1;
/// Incidents beyond these are counted only.
const MAX_INCIDENTS: usize = 256;

#[derive(Serialize)]
struct VerdictJson<'a> {
    schema: &'static str,
    version: u32,
    verdict: FindingJson<'a>,
    alternatives: Vec<AlternativeJson>,
    contributing: Vec<FindingJson<'a>>,
    breakdown: Option<BreakdownJson>,
    by_process: Vec<ProcessJson<'a>>,
    totals: Vec<TotalsJson<'a>>,
    incidents: Vec<IncidentJson<'a>>,
    incidents_seen: u64,
    inputs: Vec<InputJson<'a>>,
    contains: Vec<String>,
    /// Only where it was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    live: Option<LiveJson<'a>>,
    /// Likewise.
    #[serde(skip_serializing_if = "Option::is_none")]
    timeline: Option<Vec<TimelineJson<'a>>>,
}

#[derive(Serialize)]
struct FindingJson<'a> {
    cause: &'a str,
    strength: &'static str,
    headline: &'a str,
    because: &'a str,
    gives_back_bytes: Option<u64>,
    call_sites: Vec<CallSiteJson<'a>>,
    documentation: String,
    process: &'a str,
    device: DeviceJson,
    evidence: Vec<EvidenceJson<'a>>,
    remedies: Vec<RemedyJson<'a>>,
}

/// A line of the program.
#[derive(Serialize)]
struct CallSiteJson<'a> {
    call_site: &'a str,
    what: &'a str,
}

/// The other cause that the figures leave open.
#[derive(Serialize)]
struct AlternativeJson {
    cause: &'static str,
    title: &'static str,
}

/// Where the memory of the device was.
#[derive(Serialize)]
struct BreakdownJson {
    capacity: RangeJson,
    shortfall: Option<RangeJson>,
    excess_bytes: u64,
    components: Vec<ComponentJson>,
}

#[derive(Serialize)]
struct RangeJson {
    low_bytes: u64,
    high_bytes: u64,
}

#[derive(Serialize)]
struct ComponentJson {
    component: &'static str,
    #[serde(flatten)]
    amount: RangeJson,
    basis: &'static str,
    suffices: Option<&'static str>,
}

#[derive(Serialize)]
struct EvidenceJson<'a> {
    label: &'a str,
    #[serde(flatten)]
    figure: FigureJson<'a>,
    basis: &'static str,
}

#[derive(Serialize)]
#[serde(rename_all = "snake_case")]
enum FigureJson<'a> {
    Bytes(u64),
    Count(u64),
    Share(f64),
    Text(&'a str),
}

#[derive(Serialize)]
struct RemedyJson<'a> {
    what: &'a str,
    paste: Option<&'a str>,
    /// Code to adapt: never with a line to paste.
    example: Option<&'a str>,
    frees_bytes: Option<u64>,
    /// Whether it ran, or a replay of whole iterations of this very run has shown that it helps.
    proved: bool,
    proof: Option<ProofJson>,
}

#[derive(Serialize)]
struct ProofJson {
    peak_reserved_bytes: u64,
    capacity_bytes: u64,
    level: &'static str,
    /// The whole iterations that the replay covers, where it covers any.
    iterations: Option<u64>,
}

#[derive(Serialize)]
struct ProcessJson<'a> {
    process: &'a str,
    device: DeviceJson,
    cause: &'a str,
}

#[derive(Serialize)]
struct TotalsJson<'a> {
    process: &'a str,
    device: DeviceJson,
    reserved_bytes: u64,
    allocated_bytes: u64,
    active_bytes: u64,
    requested_bytes: u64,
    active_blocks: u64,
    segments: u64,
    peak_allocated_bytes: u64,
    peak_reserved_bytes: u64,
    blocks_made: u64,
    blocks_freed: u64,
    driver: Option<DriverJson>,
}

/// What was taken from the driver, where its calls were recorded.
#[derive(Serialize)]
struct DriverJson {
    in_use_bytes: u64,
    held_bytes: u64,
    outside_bytes: u64,
    peak_bytes: u64,
    allocations_made: u64,
    allocations_freed: u64,
    interfaces: Vec<InterfaceJson>,
}

#[derive(Serialize)]
struct InterfaceJson {
    name: &'static str,
    bytes: u64,
    allocations: u64,
}

#[derive(Serialize)]
struct IncidentJson<'a> {
    process: &'a str,
    device: DeviceJson,
    requested_bytes: Option<u64>,
    capacity_bytes: Option<u64>,
    free_bytes: Option<u64>,
    allocated_bytes: Option<u64>,
    reserved_bytes: Option<u64>,
    cached_bytes: Option<u64>,
    private_free_bytes: Option<u64>,
    largest_free_bytes: Option<u64>,
    fragmentation: Option<f64>,
    allowed_bytes: Option<u64>,
    process_used_bytes: Option<u64>,
    by_driver: bool,
    others: Vec<HolderJson<'a>>,
    message: Option<&'a str>,
}

#[derive(Serialize)]
struct HolderJson<'a> {
    pid: u32,
    bytes: u64,
    command: Option<&'a str>,
    standing: Option<ProcessState>,
}

#[derive(Serialize)]
struct InputJson<'a> {
    name: &'a str,
    kind: &'static str,
    notes: &'a [String],
}

/// What a verdict's document holds only where it is asked for.
#[derive(Debug, Clone, Copy, Default)]
pub struct VerdictParts {
    /// What was live when memory ran out.
    pub live: bool,
    /// Memory over time.
    pub timeline: bool,
}

/// Writes a verdict as JSON.
///
/// # Errors
/// When `out` cannot be written to.
pub fn write_verdict_json(
    answer: &Answer<'_>,
    parts: VerdictParts,
    out: &mut dyn Write,
) -> io::Result<()> {
    let tables = answer.tables;
    let document = VerdictJson {
        schema: "whyoom.why",
        version: VERSION,
        verdict: finding(&answer.verdict.primary, tables),
        contributing: answer.verdict.contributing.iter().map(|f| finding(f, tables)).collect(),
        alternatives: answer.verdict.alternatives.iter().map(|cause| alternative(cause)).collect(),
        breakdown: answer.verdict.breakdown.as_ref().map(breakdown),
        by_process: answer
            .verdict
            .by_process
            .iter()
            .map(|&(process, device, cause)| ProcessJson {
                process: tables.process_name(process),
                device: device.into(),
                cause,
            })
            .collect(),
        totals: answer
            .model
            .spaces()
            .map(|(process, device, space)| totals(process, device, space, tables))
            .collect(),
        incidents: answer
            .model
            .incidents()
            .iter()
            .take(MAX_INCIDENTS)
            .map(|found| incident(found, answer.model, tables))
            .collect(),
        incidents_seen: answer.model.incidents_seen(),
        inputs: answer
            .inputs
            .iter()
            .map(|input| InputJson {
                name: &input.name,
                kind: input.kind.name(),
                notes: &input.notes,
            })
            .collect(),
        contains: contents(answer),
        live: parts.live.then(|| live_json(answer)).flatten(),
        timeline: parts.timeline.then(|| timelines(answer)),
    };
    write_document(&document, out)
}

fn finding<'a>(finding: &'a Finding, tables: &'a Tables) -> FindingJson<'a> {
    FindingJson {
        cause: finding.cause,
        strength: finding.strength.name(),
        headline: &finding.headline,
        because: &finding.because,
        gives_back_bytes: raw(finding.reclaimable),
        call_sites: finding.call_sites.iter().map(call_site).collect(),
        documentation: documentation(finding.cause),
        process: tables.process_name(finding.process),
        device: finding.device.into(),
        evidence: finding.evidence.iter().map(evidence).collect(),
        remedies: finding.remedies.iter().map(remedy).collect(),
    }
}

fn call_site(site: &CallSite) -> CallSiteJson<'_> {
    CallSiteJson { call_site: &site.call_site, what: &site.what }
}

fn alternative(cause: &Cause) -> AlternativeJson {
    AlternativeJson { cause: cause.id, title: cause.title }
}

fn breakdown(breakdown: &MemoryBreakdown) -> BreakdownJson {
    let range = |range: Range| RangeJson { low_bytes: range.low.0, high_bytes: range.high.0 };
    let component = |part: &Part| ComponentJson {
        component: part.component.name(),
        amount: range(part.amount),
        basis: part.basis.name(),
        suffices: Some(part.component)
            .filter(|one| *one != Component::Free)
            .and_then(|one| Some(breakdown.without(&[one])?.name())),
    };
    BreakdownJson {
        capacity: range(breakdown.capacity),
        shortfall: breakdown.shortfall.map(range),
        excess_bytes: breakdown.excess.0,
        components: breakdown.parts.iter().map(component).collect(),
    }
}

fn evidence(evidence: &Evidence) -> EvidenceJson<'_> {
    let figure = match &evidence.figure {
        Figure::Bytes(bytes) => FigureJson::Bytes(bytes.0),
        Figure::Count(count) => FigureJson::Count(*count),
        Figure::Share(share) => FigureJson::Share(*share),
        Figure::Text(text) => FigureJson::Text(text),
    };
    EvidenceJson { label: &evidence.label, figure, basis: evidence.basis.name() }
}

fn remedy(remedy: &Remedy) -> RemedyJson<'_> {
    let (what, paste) = (remedy.what.as_str(), remedy.paste.as_deref());
    let proof = remedy.proof.map(|proof| ProofJson {
        peak_reserved_bytes: proof.peak.0,
        capacity_bytes: proof.capacity.0,
        level: proof.level.name(),
        iterations: match proof.level {
            Level::WholeIterations(count) => Some(count),
            Level::ThisRequest | Level::Ran => None,
        },
    });
    RemedyJson {
        what,
        paste,
        example: remedy.example.as_deref(),
        frees_bytes: raw(remedy.frees),
        proved: remedy.is_proved(),
        proof,
    }
}

fn totals<'a>(
    process: ProcessId,
    device: DeviceId,
    space: &Space,
    tables: &'a Tables,
) -> TotalsJson<'a> {
    let (end, (peak, _), (made, freed)) = (space.totals(), space.peak(), space.block_counts());
    TotalsJson {
        process: tables.process_name(process),
        device: device.into(),
        reserved_bytes: end.reserved.0,
        allocated_bytes: end.allocated.0,
        active_bytes: end.active.0,
        requested_bytes: end.requested.0,
        active_blocks: end.blocks,
        segments: end.segments,
        peak_allocated_bytes: peak.allocated.0,
        peak_reserved_bytes: space.peak_reserved().0,
        blocks_made: made,
        blocks_freed: freed,
        driver: driver(space),
    }
}

fn driver(space: &Space) -> Option<DriverJson> {
    let memory = space.driver()?;
    let (end, (peak, _), (made, freed)) =
        (memory.layer().totals(), memory.layer().peak(), memory.layer().block_counts());
    let interfaces = memory.by_interface().into_iter().map(|(interface, usage)| InterfaceJson {
        name: interface.name(),
        bytes: usage.bytes.0,
        allocations: usage.blocks,
    });
    let outside: Bytes = space.outside_by_stack().iter().map(|(_, usage)| usage.bytes).sum();
    Some(DriverJson {
        in_use_bytes: end.active.0,
        held_bytes: end.reserved.0,
        outside_bytes: outside.0,
        peak_bytes: peak.allocated.0,
        allocations_made: made,
        allocations_freed: freed,
        interfaces: interfaces.collect(),
    })
}

fn incident<'a>(incident: &Incident, model: &Model, tables: &'a Tables) -> IncidentJson<'a> {
    let situation = figures(model, tables, incident);
    IncidentJson {
        process: tables.process_name(incident.process),
        device: incident.device.into(),
        requested_bytes: raw(situation.requested),
        capacity_bytes: raw(situation.capacity),
        free_bytes: raw(situation.free),
        allocated_bytes: raw(situation.allocated),
        reserved_bytes: raw(situation.reserved),
        cached_bytes: raw(situation.cached),
        private_free_bytes: raw(situation.private_free),
        largest_free_bytes: raw(situation.largest_cached),
        fragmentation: situation.fragmentation(),
        allowed_bytes: raw(situation.allowed),
        process_used_bytes: raw(situation.process_used),
        by_driver: incident.of_driver,
        others: situation.others.iter().map(|h| holder(h, tables)).collect(),
        message: incident.symptom.map(|(_, _, text)| tables.text(text)),
    }
}

fn holder<'a>(holder: &Holder, tables: &'a Tables) -> HolderJson<'a> {
    HolderJson {
        pid: holder.pid,
        bytes: holder.bytes.0,
        command: Some(tables.text(holder.command)).filter(|command| !command.is_empty()),
        standing: Some(holder.standing).filter(|standing| *standing != ProcessState::Untold),
    }
}

fn raw(bytes: Option<Bytes>) -> Option<u64> {
    bytes.map(|bytes| bytes.0)
}

#[derive(Serialize)]
struct CatalogueJson {
    schema: &'static str,
    version: u32,
    causes: Vec<CauseJson>,
    glossary: Vec<TermJson>,
}

#[derive(Serialize)]
struct CauseJson {
    id: &'static str,
    title: &'static str,
    explanation: &'static str,
}

#[derive(Serialize)]
struct TermJson {
    word: &'static str,
    aliases: &'static [&'static str],
    meaning: &'static str,
}

impl From<&Term> for TermJson {
    fn from(term: &Term) -> Self {
        Self { word: term.word, aliases: term.aliases, meaning: term.meaning }
    }
}

/// Writes the causes as JSON: all of them, or the one of that id.
///
/// # Errors
/// When `out` cannot be written to.
pub fn write_catalogue_json(id: Option<&str>, out: &mut dyn Write) -> io::Result<()> {
    let causes = CATALOGUE.iter().filter(|cause| id.is_none_or(|id| cause.id == id));
    let document = CatalogueJson {
        schema: "whyoom.causes",
        version: VERSION,
        causes: causes
            .map(|c| CauseJson { id: c.id, title: c.title, explanation: c.explanation })
            .collect(),
        glossary: GLOSSARY.iter().map(TermJson::from).collect(),
    };
    write_document(&document, out)
}

/// Writes counters as JSON: the same document, without causes.
///
/// # Errors
/// When `out` cannot be written to.
pub fn write_terms_json(terms: &[&Term], out: &mut dyn Write) -> io::Result<()> {
    let document = CatalogueJson {
        schema: "whyoom.causes",
        version: VERSION,
        causes: Vec::new(),
        glossary: terms.iter().copied().map(TermJson::from).collect(),
    };
    write_document(&document, out)
}
