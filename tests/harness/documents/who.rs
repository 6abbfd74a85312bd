//! `whyoom who --json`.

use std::process::Output;

use anyhow::{Context, Result, ensure};
use serde::Deserialize;
use serde_json::Value;

use super::nullable;
use crate::strict::from_slice;

/// The document.
#[derive(Debug, Deserialize)]
pub struct Who {
    pub schema: String,
    pub version: u32,
    pub time: u64,
    pub devices: Vec<WhoDevice>,
    pub alerts: Value,
    pub notes: Vec<String>,
    pub contains: Vec<String>,
}

/// A GPU.
#[derive(Debug, Deserialize)]
pub struct WhoDevice {
    pub index: u32,
    pub name: String,
    pub uuid: String,
    pub bus_id: String,
    pub total_bytes: u64,
    pub free_bytes: u64,
    pub used_bytes: u64,
    #[serde(deserialize_with = "nullable")]
    pub reserved_bytes: Option<u64>,
    pub residual_bytes: u64,
    pub utilization: Value,
    pub temperature: Value,
    pub power_milliwatts: Value,
    pub power_limit_milliwatts: Value,
    pub ecc: Value,
    pub retired_pages: Value,
    pub remapped_rows: Value,
    pub persistence: Value,
    pub mig: Value,
    pub suspicions: Vec<Suspicion>,
    pub holders: Vec<WhoHolder>,
}

/// Something that is not as it should be.
#[derive(Debug, Clone, Deserialize)]
pub struct Suspicion {
    pub kind: String,
    pub headline: String,
    pub because: String,
    #[serde(deserialize_with = "nullable")]
    pub bytes: Option<u64>,
    #[serde(deserialize_with = "nullable")]
    pub command: Option<String>,
    pub pids: Vec<u32>,
}

/// A process that holds memory.
#[derive(Debug, Deserialize)]
pub struct WhoHolder {
    pub pid: u32,
    #[serde(deserialize_with = "nullable")]
    pub bytes: Option<u64>,
    pub origin: String,
    pub started: Value,
    pub user: Value,
    pub command: Value,
    pub name: Value,
    pub parent: Value,
    pub state: Value,
    pub workload: Value,
    pub orphan: bool,
    pub own_orphan: bool,
    pub recorded: Value,
}

impl Who {
    /// Reads what was printed; an error where the command failed.
    pub fn read(output: &Output) -> Result<Self> {
        let complaint = String::from_utf8_lossy(&output.stderr);
        ensure!(output.status.success(), "{}: {}", output.status, complaint.trim());
        Self::parse(&output.stdout)
    }

    /// Reads a document.
    pub fn parse(bytes: &[u8]) -> Result<Self> {
        let document: Self = from_slice(bytes)?;
        ensure!(document.schema == "whyoom.who", "the schema is {}", document.schema);
        Ok(document)
    }

    /// A device.
    pub fn device(&self, index: usize) -> Result<&WhoDevice> {
        self.devices.get(index).with_context(|| format!("it does not show device {index}"))
    }
}

impl WhoDevice {
    /// What is in use, without what the driver keeps for itself.
    pub fn used(&self) -> Result<u64> {
        let reserved = self.reserved_bytes.context("it does not say what the driver keeps")?;
        self.used_bytes.checked_sub(reserved).context("the driver keeps more than is in use")
    }

    /// The processes with what each holds.
    #[must_use]
    pub fn holders(&self) -> Vec<(u32, Option<u64>)> {
        self.holders.iter().map(|holder| (holder.pid, holder.bytes)).collect()
    }

    /// The suspicion of a kind.
    #[must_use]
    pub fn suspicion(&self, kind: &str) -> Option<&Suspicion> {
        self.suspicions.iter().find(|suspicion| suspicion.kind == kind)
    }

    /// The kinds of suspicions, in order.
    #[must_use]
    pub fn kinds(&self) -> Vec<&str> {
        self.suspicions.iter().map(|suspicion| suspicion.kind.as_str()).collect()
    }
}
