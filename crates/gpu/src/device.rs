//! One device, as NVML describes it at one moment.

use serde::{Deserialize, Serialize};

/// One device at one moment.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Device {
    /// Its number, as NVML counts.
    pub index: u32,
    /// Its product name.
    pub name: String,
    /// Its identity.
    pub uuid: String,
    /// Where it is on the bus.
    pub bus_id: String,
    /// Its memory; the host's, where it has none of its own.
    pub memory: Memory,
    /// Whether its memory is the host's.
    #[serde(default)]
    pub unified_memory: bool,
    /// Processes that the driver lists, compute, graphics and MPS merged; the same number may appear
    /// once only. `None` where the driver does not list them.
    pub processes: Option<Vec<ProcessUse>>,
    /// How busy it is.
    pub utilization: Option<Utilization>,
    /// Degrees Celsius.
    pub temperature: Option<u32>,
    /// Milliwatts drawn.
    pub power_milliwatts: Option<u32>,
    /// Milliwatts allowed.
    pub power_limit_milliwatts: Option<u32>,
    /// Error correction.
    pub ecc: Option<Ecc>,
    /// Pages retired for errors, and rows remapped, where it tells.
    pub retired_pages: Option<u32>,
    /// Rows remapped for uncorrectable errors.
    pub remapped_rows: Option<u32>,
    /// Whether the driver keeps the device awake between clients.
    pub persistence: Option<bool>,
    /// Whether it is divided into instances.
    pub mig: Option<bool>,
}

/// A device that does not answer.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Silent {
    /// Its number, as NVML counts.
    pub index: u32,
    /// What is the matter, and what to do.
    pub why: String,
}

/// A device's memory in bytes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Memory {
    /// All of it.
    pub total: u64,
    /// What is free.
    pub free: u64,
    /// What is in use, `reserved` included.
    pub used: u64,
    /// What the driver keeps for itself, where it tells.
    pub reserved: Option<u64>,
}

/// A process that the driver lists.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProcessUse {
    /// Its number, as the driver tells it to this namespace.
    pub pid: u32,
    /// What it holds; `None` where the driver does not say.
    pub bytes: Option<u64>,
    /// In which list it was.
    pub kind: ProcessKind,
}

/// A list of processes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ProcessKind {
    /// Computing.
    Compute,
    /// Drawing.
    Graphics,
    /// A client of the multi-process service.
    Mps,
}

/// How busy a device is, in per cent of the last moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Utilization {
    /// A kernel ran.
    pub gpu: u32,
    /// Memory was read or written.
    pub memory: u32,
}

/// Error correction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ecc {
    /// On now.
    pub enabled: bool,
    /// On after the next restart.
    pub pending: bool,
}
