//! `whyoom why --json`.

use std::{path::Path, process::Command};

use anyhow::{Result, ensure};
use serde::Deserialize;
use serde_json::Value;

use super::nullable;
use crate::{build::Build, strict::from_slice};

/// The document.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct Why {
    pub schema: String,
    pub version: u32,
    pub verdict: Finding,
    pub alternatives: Vec<Alternative>,
    #[serde(deserialize_with = "nullable")]
    pub breakdown: Option<Breakdown>,
    pub contributing: Vec<Finding>,
    pub by_process: Value,
    pub totals: Vec<Totals>,
    pub incidents: Vec<Incident>,
    pub incidents_seen: u64,
    pub inputs: Vec<Input>,
    pub contains: Vec<String>,
}

/// A cause that holds.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct Finding {
    pub cause: String,
    pub strength: String,
    pub headline: String,
    pub because: String,
    #[serde(deserialize_with = "nullable")]
    pub gives_back_bytes: Option<u64>,
    pub call_sites: Vec<CallSite>,
    pub documentation: String,
    pub process: String,
    pub device: Device,
    pub evidence: Value,
    pub remedies: Vec<Remedy>,
}

/// A line of the program.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct CallSite {
    pub call_site: String,
    pub what: String,
}

/// The other cause that the figures leave open.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct Alternative {
    pub cause: String,
    pub title: String,
}

/// Where the memory of the device was.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct Breakdown {
    pub capacity: Amount,
    #[serde(deserialize_with = "nullable")]
    pub shortfall: Option<Amount>,
    pub excess_bytes: u64,
    pub components: Vec<Component>,
}

/// At least and at most so much.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct Amount {
    pub low_bytes: u64,
    pub high_bytes: u64,
}

/// A part of the device's memory.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct Component {
    pub component: String,
    pub low_bytes: u64,
    pub high_bytes: u64,
    pub basis: String,
    #[serde(deserialize_with = "nullable")]
    pub suffices: Option<String>,
}

impl Breakdown {
    /// The parts are the device, as far as they are known.
    fn adds_up(&self) -> Result<()> {
        let low: u64 = self.components.iter().map(|part| part.low_bytes).sum();
        let high: u64 = self.components.iter().map(|part| part.high_bytes).sum();
        let fits = low <= self.capacity.high_bytes + self.excess_bytes;
        ensure!(fits && high >= self.capacity.low_bytes, "the parts do not add up: {self:?}");
        Ok(())
    }
}

/// Something to do.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct Remedy {
    pub what: String,
    #[serde(deserialize_with = "nullable")]
    pub paste: Option<String>,
    #[serde(deserialize_with = "nullable")]
    pub example: Option<String>,
    #[serde(deserialize_with = "nullable")]
    pub frees_bytes: Option<u64>,
    pub proved: bool,
    #[serde(deserialize_with = "nullable")]
    pub proof: Option<Proof>,
}

/// What a replay of the run showed.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct Proof {
    pub peak_reserved_bytes: u64,
    pub capacity_bytes: u64,
    pub level: String,
    #[serde(deserialize_with = "nullable")]
    pub iterations: Option<u64>,
}

/// One process's memory on one device.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct Totals {
    pub process: String,
    pub device: Device,
    pub reserved_bytes: u64,
    pub allocated_bytes: u64,
    pub active_bytes: u64,
    pub requested_bytes: u64,
    pub active_blocks: u64,
    pub segments: u64,
    pub peak_allocated_bytes: u64,
    pub peak_reserved_bytes: u64,
    pub blocks_made: u64,
    pub blocks_freed: u64,
    #[serde(deserialize_with = "nullable")]
    pub driver: Option<Driver>,
}

/// What was taken from the driver.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct Driver {
    pub in_use_bytes: u64,
    pub held_bytes: u64,
    pub outside_bytes: u64,
    pub peak_bytes: u64,
    pub allocations_made: u64,
    pub allocations_freed: u64,
    pub interfaces: Value,
}

/// A moment at which memory ran out.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct Incident {
    pub process: String,
    pub device: Device,
    #[serde(deserialize_with = "nullable")]
    pub requested_bytes: Option<u64>,
    #[serde(deserialize_with = "nullable")]
    pub capacity_bytes: Option<u64>,
    #[serde(deserialize_with = "nullable")]
    pub free_bytes: Option<u64>,
    #[serde(deserialize_with = "nullable")]
    pub allocated_bytes: Option<u64>,
    #[serde(deserialize_with = "nullable")]
    pub reserved_bytes: Option<u64>,
    #[serde(deserialize_with = "nullable")]
    pub cached_bytes: Option<u64>,
    #[serde(deserialize_with = "nullable")]
    pub private_free_bytes: Option<u64>,
    #[serde(deserialize_with = "nullable")]
    pub largest_free_bytes: Option<u64>,
    #[serde(deserialize_with = "nullable")]
    pub fragmentation: Option<f64>,
    #[serde(deserialize_with = "nullable")]
    pub allowed_bytes: Option<u64>,
    #[serde(deserialize_with = "nullable")]
    pub process_used_bytes: Option<u64>,
    pub by_driver: bool,
    pub others: Value,
    #[serde(deserialize_with = "nullable")]
    pub message: Option<String>,
}

/// What was read.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct Input {
    pub name: String,
    pub kind: String,
    pub notes: Vec<String>,
}

/// A device's ordinal, `host`, or null where it is not known.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(untagged)]
pub enum Device {
    Ordinal(u16),
    Host(String),
    Unknown(()),
}

impl Why {
    /// What the command says of some files.
    pub fn ask(build: &Build, files: &[&Path]) -> Result<Self> {
        let output = Command::new(build.whyoom()).args(["why", "--json"]).args(files).output()?;
        ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr).trim());
        Self::parse(&output.stdout)
    }

    /// Reads the verdict that `whyoom why --json` printed.
    pub fn parse(bytes: &[u8]) -> Result<Self> {
        let document: Self = from_slice(bytes)?;
        ensure!(document.schema == "whyoom.why", "the schema is {}", document.schema);
        document.breakdown.iter().try_for_each(Breakdown::adds_up)?;
        Ok(document)
    }

    /// The primary cause is this one.
    pub fn has_cause(&self, cause: &str) -> Result<()> {
        let said = &self.verdict;
        ensure!(said.cause == cause, "{} in place of {cause}: {}", said.cause, said.headline);
        Ok(())
    }
}

impl Finding {
    /// The first line to paste.
    #[must_use]
    pub fn paste(&self) -> Option<&str> {
        let first = self.remedies.iter().find(|one| one.paste.is_some() || one.example.is_some());
        first?.paste.as_deref()
    }
}
