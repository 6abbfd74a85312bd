//! What the scripts in `tests/scenarios/exports` print.

use std::collections::BTreeMap;

use harness::documents::nullable;
use serde::Deserialize;
use serde_json::Value;

/// `trace_processor.py`
#[derive(Deserialize)]
pub(super) struct Trace {
    pub(super) counters: Vec<Counter>,
    pub(super) failures: Vec<Failure>,
    #[serde(rename = "slices")]
    _slices: u64,
    /// What it counts as one: none is expected.
    pub(super) errors: Vec<Value>,
}

#[derive(Deserialize)]
pub(super) struct Counter {
    pub(super) process: String,
    pub(super) counter: String,
    pub(super) highest: u64,
    pub(super) latest: u64,
    pub(super) points: u64,
}

#[derive(Deserialize)]
pub(super) struct Failure {
    pub(super) name: String,
    pub(super) arguments: BTreeMap<String, String>,
}

/// `duckdb_figures.py`
#[derive(Deserialize)]
pub(super) struct Table {
    pub(super) metadata: BTreeMap<String, String>,
    /// The script compares them with the document's.
    #[serde(rename = "columns")]
    _columns: Vec<String>,
    pub(super) rows: u64,
    pub(super) events: u64,
    pub(super) sorted: bool,
    pub(super) largest_group: u64,
    pub(super) spaces: Vec<Space>,
    pub(super) by_place: Vec<Place>,
}

/// A layer of one process's memory on one device; -1 is no GPU, or none that is known.
#[derive(Deserialize)]
pub(super) struct Space {
    pub(super) process: String,
    pub(super) device: i64,
    pub(super) layer: String,
    pub(super) peak_allocated: u64,
    pub(super) peak_reserved: u64,
    pub(super) allocated: u64,
    pub(super) reserved: u64,
    pub(super) changes: u64,
    pub(super) made: u64,
}

#[derive(Deserialize)]
pub(super) struct Place {
    #[serde(rename = "place", deserialize_with = "nullable")]
    _place: Option<String>,
    pub(super) bytes: u64,
}

/// `memory_viz_figures.py`
#[derive(Deserialize)]
pub(super) struct Viewed {
    pub(super) devices: BTreeMap<u16, Sums>,
    pub(super) entries: Vec<u64>,
    pub(super) failures: Vec<u64>,
    pub(super) flame_bytes: u64,
    pub(super) summary: Vec<String>,
    pub(super) trace_lines: u64,
    pub(super) plot_bytes: u64,
    #[serde(rename = "settings")]
    _settings: u64,
}

#[derive(Deserialize)]
pub(super) struct Sums {
    pub(super) reserved_bytes: u64,
    pub(super) allocated_bytes: u64,
    pub(super) active_bytes: u64,
    pub(super) requested_bytes: u64,
    pub(super) active_blocks: u64,
    pub(super) segments: u64,
}
