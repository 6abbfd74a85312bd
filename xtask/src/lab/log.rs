//! The call log against PyTorch's own record of the same run: every segment that PyTorch says it
//! took from the driver is an allocation in the log, at the same address and of the same size.

use std::{collections::HashMap, path::Path, process::Command};

use anyhow::{Context, Result, ensure};
use whyoom_trace::{Action, MemoryKind, ResultCode, Tables, lines};

use super::bench::Bench;
use crate::tools::{environment, root, scratch};

pub(super) fn run(bench: &Bench) -> Result<String> {
    let python = environment("torch")?.join("bin/python");
    let folder = scratch("lab-log")?;
    let (log, snapshot) = (folder.join("calls.jsonl"), folder.join("snapshot.pickle"));
    let _ = std::fs::remove_file(&log);
    let script = root().join("tests/scenarios/torch/snapshot.py");
    let text = |path: &Path| path.display().to_string();
    let command = [text(&python), text(&script), text(&snapshot)];
    bench.run(&["--log", &text(&log)], &command)?.figures()?;

    let taken = allocations(&log)?;
    let segments = segments(&python, &snapshot)?;
    ensure!(!segments.is_empty(), "the snapshot has no segments");
    for segment in &segments {
        let size = taken.get(&segment.0);
        ensure!(size == Some(&segment.1), "{segment:x?} is {size:x?} in the log");
    }
    println!("{} segments of PyTorch among {} allocations", segments.len(), taken.len());
    Ok(format!("{} segments of PyTorch are in the log, address and size", segments.len()))
}

/// Successful allocations of plain device memory by address.
fn allocations(log: &Path) -> Result<HashMap<u64, u64>> {
    let (mut reader, mut tables) = (lines::Reader::default(), Tables::default());
    let mut taken = HashMap::new();
    for line in std::fs::read_to_string(log)?.lines() {
        let event = reader.read(line, &mut tables).with_context(|| line.to_owned())?;
        if let Action::Alloc { kind: MemoryKind::Device, address, size } = event.action
            && event.result == ResultCode(0)
        {
            taken.insert(address.0, size.0);
        }
    }
    Ok(taken)
}

/// Address and size of what PyTorch took from the driver.
fn segments(python: &Path, snapshot: &Path) -> Result<Vec<(u64, u64)>> {
    let program = "import json, pickle, sys\n\
        snapshot = pickle.load(open(sys.argv[1], 'rb'))\n\
        traces = [entry for device in snapshot['device_traces'] for entry in device]\n\
        print(json.dumps([(entry['addr'], entry['size']) for entry in traces\n\
            if entry['action'] == 'segment_alloc']))";
    let output = Command::new(python).args(["-c", program]).arg(snapshot).output()?;
    serde_json::from_slice(&output.stdout).context("cannot read the snapshot")
}
