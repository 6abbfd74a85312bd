//! Who holds memory, as programs read it. The schema is documented in docs/json.md.

use std::io::{self, Write};

use serde::Serialize;
use whyoom_gpu::{Ecc, Utilization};
use whyoom_redact::escaped_json;

use super::verdict::kind_name;
use crate::report::{
    DeviceReport, Holder, NodeReport, Origin, Recorded, RecordedPlace, State, Suspicion, Workload,
};

const VERSION: u32 = 1;
/// What is told of the machine and its users. `Capture::private` has left out the rest.
const CONTAINS: &[&str] = &[
    "the GPUs of this machine, by name and identifier",
    "users, PIDs and program names of processes that hold memory",
    "command lines of this user's processes, secrets masked",
    "call sites in this machine's recorded programs that hold memory",
];

/// A condition that was asked for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct WhoAlert {
    /// As it was written.
    pub text: String,
    /// Whether it holds on any device.
    pub holds: bool,
    /// The devices on which it holds.
    pub devices: Vec<u32>,
}

#[derive(Serialize)]
struct Document<'a> {
    schema: &'static str,
    version: u32,
    time: u64,
    devices: Vec<DeviceJson<'a>>,
    alerts: &'a [WhoAlert],
    notes: &'a [String],
    contains: &'static [&'static str],
}

#[derive(Serialize)]
struct DeviceJson<'a> {
    index: u32,
    name: &'a str,
    uuid: &'a str,
    bus_id: &'a str,
    total_bytes: u64,
    free_bytes: u64,
    used_bytes: u64,
    reserved_bytes: Option<u64>,
    residual_bytes: u64,
    utilization: Option<Utilization>,
    temperature: Option<u32>,
    power_milliwatts: Option<u32>,
    power_limit_milliwatts: Option<u32>,
    ecc: Option<Ecc>,
    retired_pages: Option<u32>,
    remapped_rows: Option<u32>,
    persistence: Option<bool>,
    mig: Option<bool>,
    suspicions: Vec<SuspicionJson<'a>>,
    holders: Vec<HolderJson<'a>>,
}

#[derive(Serialize)]
struct SuspicionJson<'a> {
    kind: &'static str,
    headline: &'a str,
    because: &'a str,
    bytes: Option<u64>,
    command: Option<&'a str>,
    pids: &'a [u32],
}

#[derive(Serialize)]
struct HolderJson<'a> {
    pid: u32,
    bytes: Option<u64>,
    origin: Origin,
    started: Option<u64>,
    user: Option<&'a str>,
    command: Option<&'a str>,
    name: Option<&'a str>,
    parent: Option<u32>,
    state: Option<State>,
    workload: Option<&'a Workload>,
    orphan: bool,
    own_orphan: bool,
    recorded: Option<RecordedJson<'a>>,
}

#[derive(Serialize)]
struct RecordedJson<'a> {
    folder: &'a str,
    allocated_bytes: u64,
    reserved_bytes: u64,
    driver_bytes: u64,
    events: u64,
    places: &'a [RecordedPlace],
}

/// Writes the report as a JSON document.
///
/// # Errors
/// When `out` cannot be written to.
pub fn write_who_json(
    report: &NodeReport,
    alerts: &[WhoAlert],
    out: &mut dyn Write,
) -> io::Result<()> {
    serde_json::to_writer_pretty(escaped_json(out), &document(report, alerts))?;
    writeln!(out)
}

/// Writes the same document in one line, for a stream of them.
///
/// # Errors
/// When `out` cannot be written to.
pub fn write_who_json_line(
    report: &NodeReport,
    alerts: &[WhoAlert],
    out: &mut dyn Write,
) -> io::Result<()> {
    serde_json::to_writer(escaped_json(out), &document(report, alerts))?;
    writeln!(out)
}

fn document<'a>(report: &'a NodeReport, alerts: &'a [WhoAlert]) -> Document<'a> {
    Document {
        schema: "whyoom.who",
        version: VERSION,
        time: report.time,
        devices: report.devices.iter().map(device).collect(),
        alerts,
        notes: &report.notes,
        contains: CONTAINS,
    }
}

fn device(report: &DeviceReport) -> DeviceJson<'_> {
    let device = &report.device;
    DeviceJson {
        index: device.index,
        name: &device.name,
        uuid: &device.uuid,
        bus_id: &device.bus_id,
        total_bytes: device.memory.total,
        free_bytes: device.memory.free,
        used_bytes: device.memory.used,
        reserved_bytes: device.memory.reserved,
        residual_bytes: report.residual,
        utilization: device.utilization,
        temperature: device.temperature,
        power_milliwatts: device.power_milliwatts,
        power_limit_milliwatts: device.power_limit_milliwatts,
        ecc: device.ecc,
        retired_pages: device.retired_pages,
        remapped_rows: device.remapped_rows,
        persistence: device.persistence,
        mig: device.mig,
        suspicions: report.suspicions.iter().map(suspicion).collect(),
        holders: report.holders.iter().map(holder).collect(),
    }
}

fn suspicion(suspicion: &Suspicion) -> SuspicionJson<'_> {
    SuspicionJson {
        kind: kind_name(suspicion.kind),
        headline: &suspicion.headline,
        because: &suspicion.because,
        bytes: suspicion.bytes,
        command: suspicion.command.as_deref(),
        pids: &suspicion.pids,
    }
}

fn holder(holder: &Holder) -> HolderJson<'_> {
    HolderJson {
        pid: holder.pid,
        bytes: holder.bytes,
        origin: holder.origin,
        started: holder.started,
        user: holder.user.as_deref(),
        command: holder.command.as_deref(),
        name: holder.name.as_deref(),
        parent: holder.parent,
        state: holder.state,
        workload: holder.workload.as_ref(),
        orphan: holder.orphan.is_some(),
        own_orphan: holder.orphan.is_some_and(|orphan| orphan.own),
        recorded: holder.recorded.as_ref().map(recorded),
    }
}

fn recorded(recorded: &Recorded) -> RecordedJson<'_> {
    RecordedJson {
        folder: &recorded.folder,
        allocated_bytes: recorded.allocated,
        reserved_bytes: recorded.reserved,
        driver_bytes: recorded.driver,
        events: recorded.events,
        places: &recorded.places,
    }
}
