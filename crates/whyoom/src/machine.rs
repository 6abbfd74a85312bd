//! `--machine FILE`: what `whyoom doctor --json` measured of a machine, in place of what the table assumes.

use std::{path::Path, str::FromStr};

use anyhow::{Error, Result, anyhow};
use whyoom_allocators::CallCosts;
use whyoom_causes::Measured;
use whyoom_doctor::{Machine, MeasuredGpu};
use whyoom_files::untrusted;
use whyoom_trace::Bytes;

/// A machine has a page of checks; nothing else is as long.
const LONGEST: u64 = 4 << 20;

/// A file of `whyoom doctor --json`.
#[derive(Clone, Debug)]
pub(crate) struct MachineFile {
    pub(crate) name: String,
    pub(crate) machine: Machine,
}

impl FromStr for MachineFile {
    type Err = Error;

    fn from_str(path: &str) -> Result<Self> {
        let read = untrusted::read(Path::new(path), LONGEST);
        let read = read.map_err(|error| anyhow!("it cannot be read: {error}"))?;
        let machine = Machine::read(&String::from_utf8_lossy(&read));
        let machine =
            machine.map_err(|error| anyhow!("{error}: make it with whyoom doctor --json"))?;
        let name = Path::new(path).file_name().unwrap_or_default().to_string_lossy().into_owned();
        Ok(Self { name, machine })
    }
}

impl MachineFile {
    /// What was measured, in words.
    pub(crate) fn told(&self) -> String {
        let mut told: Vec<String> = Vec::new();
        for gpu in &self.machine.gpus {
            let line = told_of(gpu);
            if !told.contains(&line) {
                told.push(line);
            }
        }
        format!("measured by whyoom doctor ({}): {}", self.name, told.join("; "))
    }

    /// What a verdict takes of it, in words.
    pub(crate) fn told_of_context(&self) -> String {
        match self.measured().context {
            Some(bytes) => {
                format!("a context takes {bytes}: measured by whyoom doctor ({})", self.name)
            }
            None => format!("{} does not tell what a context takes", self.name),
        }
    }

    /// What a replay takes of it, in words.
    pub(crate) fn told_of_calls(&self) -> String {
        match self.machine.calls {
            Some(calls) => format!(
                "time of driver calls: measured by whyoom doctor ({}): create {:?}, map {:?}, unmap {:?}",
                self.name, calls.create, calls.map, calls.unmap
            ),
            None => format!("{} has no time of driver calls: an A100's is taken", self.name),
        }
    }

    /// The size of a context for a verdict: the largest, where GPUs differ.
    pub(crate) fn measured(&self) -> Measured {
        let contexts = self.machine.gpus.iter().filter_map(|gpu| gpu.figures.get("context"));
        Measured { context: contexts.max().copied().map(Bytes) }
    }

    /// What calls take here, for a replay.
    pub(crate) fn call_costs(&self) -> CallCosts {
        let usual = CallCosts::default();
        let nanoseconds = |time: std::time::Duration| time.as_nanos() as u64;
        self.machine.calls.map_or(usual, |calls| CallCosts {
            create: nanoseconds(calls.create),
            map: nanoseconds(calls.map),
            unmap: nanoseconds(calls.unmap),
            ..usual
        })
    }
}

fn told_of(gpu: &MeasuredGpu) -> String {
    let words = [("total", "memory"), ("context", "context"), ("granularity", "granularity")];
    let figure =
        |(name, word): (&str, &str)| Some(format!("{word} {}", Bytes(*gpu.figures.get(name)?)));
    let figures: Vec<String> = words.into_iter().filter_map(figure).collect();
    let simulated = if gpu.simulated { ", itself simulated" } else { "" };
    format!("{}{simulated}: {}", gpu.name, figures.join(", "))
}
