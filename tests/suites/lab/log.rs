//! The call log against PyTorch's own record of the same run: every segment that PyTorch says it
//! took from the driver is an allocation in the log, at the same address and of the same size.

use std::{collections::HashMap, path::Path, process::Command};

use anyhow::{Context, Result, ensure};
use harness::{Held, fresh, from_slice, python, scenarios, text};
use whyoom_trace::{Action, MemoryKind, ResultCode, Tables, lines};

pub(super) fn run() -> Result<Held> {
    let folder = fresh("lab-log")?;
    std::fs::create_dir(&folder)?;
    let log = folder.join("calls.jsonl");
    let all = scenarios()?;
    let scenario = all.iter().find(|scenario| scenario.script == "snapshot.py");
    let scenario = scenario.context("no scenario keeps a snapshot")?;
    let mut trial = scenario.trial(&folder)?;
    trial.lab.extend(["--log".to_owned(), text(&log)]);
    scenario.told(&trial.plain()?)?;

    let taken = allocations(&log)?;
    let segments = segments(&folder.join("snapshot.pickle"))?;
    ensure!(!segments.is_empty(), "the snapshot has no segments");
    for segment in &segments {
        let size = taken.get(&segment.0);
        ensure!(size == Some(&segment.1), "{segment:x?} is {size:x?} in the log");
    }
    let (count, all) = (segments.len(), taken.len());
    Ok(Held::new(format!("{count} segments of PyTorch are among {all} allocations in the log")))
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
fn segments(snapshot: &Path) -> Result<Vec<(u64, u64)>> {
    let program = "import json, pickle, sys\n\
        snapshot = pickle.load(open(sys.argv[1], 'rb'))\n\
        traces = [entry for device in snapshot['device_traces'] for entry in device]\n\
        print(json.dumps([(entry['addr'], entry['size']) for entry in traces\n\
            if entry['action'] == 'segment_alloc']))";
    let output = Command::new(python()?).args(["-c", program]).arg(snapshot).output()?;
    from_slice(&output.stdout).context("cannot read the snapshot")
}
