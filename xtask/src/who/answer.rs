//! What `whyoom who --json` said.

use std::process::Output;

use anyhow::{Context, Result, ensure};
use serde_json::Value;

const SCHEMA: &str = "whyoom.who";

/// One answer.
pub(crate) struct Answer(Value);

/// A suspicion in it.
#[derive(Debug)]
pub(crate) struct Suspicion<'a>(&'a Value);

impl Answer {
    /// Reads what was printed; an error where the command failed.
    pub(super) fn read(output: &Output) -> Result<Self> {
        let complaint = String::from_utf8_lossy(&output.stderr);
        ensure!(output.status.success(), "{}: {}", output.status, complaint.trim());
        let value: Value = serde_json::from_slice(&output.stdout).context("not JSON")?;
        ensure!(value["schema"] == SCHEMA, "the schema is {}", value["schema"]);
        Ok(Self(value))
    }

    /// How many devices it shows.
    pub(super) fn devices(&self) -> usize {
        self.0["devices"].as_array().map_or(0, Vec::len)
    }

    /// All memory of a device.
    pub(super) fn total(&self, device: usize) -> Result<u64> {
        self.bytes(device, "total_bytes")
    }

    /// What is in use of it, without what the driver keeps for itself.
    pub(super) fn used(&self, device: usize) -> Result<u64> {
        Ok(self.bytes(device, "used_bytes")? - self.bytes(device, "reserved_bytes")?)
    }

    fn bytes(&self, device: usize, what: &str) -> Result<u64> {
        self.0["devices"][device][what].as_u64().with_context(|| format!("it does not say {what}"))
    }

    /// The processes of a device with what each holds.
    pub(super) fn holders(&self, device: usize) -> Vec<(u32, u64)> {
        let holders = self.0["devices"][device]["holders"].as_array();
        let number = |value: &Value| value.as_u64().unwrap_or_default();
        let holders = holders.into_iter().flatten();
        holders.map(|holder| (number(&holder["pid"]) as u32, number(&holder["bytes"]))).collect()
    }

    /// The suspicion of a kind on a device.
    pub(super) fn suspicion(&self, device: usize, kind: &str) -> Option<Suspicion<'_>> {
        let all = self.0["devices"][device]["suspicions"].as_array()?;
        all.iter().find(|suspicion| suspicion["kind"] == kind).map(Suspicion)
    }

    /// The kinds of a device's suspicions, in order.
    pub(super) fn kinds(&self, device: usize) -> Vec<&str> {
        let all = self.0["devices"][device]["suspicions"].as_array();
        all.into_iter().flatten().filter_map(|suspicion| suspicion["kind"].as_str()).collect()
    }

    /// What could not be seen.
    pub(super) fn notes(&self) -> Vec<&str> {
        self.0["notes"].as_array().into_iter().flatten().filter_map(Value::as_str).collect()
    }

    /// All of it, for a message that says what was wrong.
    pub(super) fn whole(&self) -> String {
        format!("{:#}", self.0)
    }
}

impl Suspicion<'_> {
    /// The sentence.
    pub(super) fn headline(&self) -> &str {
        self.0["headline"].as_str().unwrap_or_default()
    }

    /// What shows it; where nothing frees the memory, why not.
    pub(super) fn because(&self) -> &str {
        self.0["because"].as_str().unwrap_or_default()
    }

    /// What frees the memory, where something can.
    pub(super) fn command(&self) -> Option<&str> {
        self.0["command"].as_str()
    }

    /// The memory that it explains.
    pub(super) fn bytes(&self) -> Option<u64> {
        self.0["bytes"].as_u64()
    }

    /// The processes that it is about.
    pub(super) fn pids(&self) -> Vec<u32> {
        let pids = self.0["pids"].as_array().into_iter().flatten();
        pids.filter_map(|pid| u32::try_from(pid.as_u64()?).ok()).collect()
    }
}
