//! Many events in one pass, by a process of its own whose memory is bounded.

use std::{
    fs,
    path::Path,
    process::{Command, Stdio},
    time::Instant,
};

use anyhow::{Result, ensure};
use harness::{Held, empty_folder, from_slice, peak_resident};
use serde::{Deserialize, Serialize};
use whyoom_recording::{Recording, Unresolved};
use whyoom_trace::{Bytes, Tables};

use super::{THREADS, bytes_of, made::Checked, scale};

const BAR: Bytes = Bytes(300 << 20);

/// What the reader prints.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Figures {
    events: u64,
    seconds: f64,
    resident: u64,
}

pub(super) fn check(name: &str, events: u64) -> Result<Held> {
    let (folder, each) = (empty_folder(name)?, events / u64::from(THREADS));
    let seconds = scale::write(&folder, each)?;
    println!("{:<34} {:>10}", "recording", bytes_of(&folder, "")?.to_string());
    println!("{:<34} {:>8.1} M/s", "written", events as f64 / seconds / 1e6);
    let reader = Command::new(std::env::current_exe()?)
        .args(["recording", "as-reader"])
        .arg(&folder)
        .arg(each.to_string())
        .stderr(Stdio::inherit())
        .output()?;
    fs::remove_dir_all(&folder)?;
    ensure!(reader.status.success(), "the reader failed");
    let Figures { events: read, seconds, resident } = from_slice(&reader.stdout)?;
    let resident = Bytes(resident);
    ensure!(read == events, "{read} events in place of {events}");
    ensure!(resident <= BAR, "{resident} resident, over {BAR}");
    let rate = read as f64 / seconds / 1e6;
    let said = format!("{read} events in one pass at {rate:.1} million a second in {resident}");
    Ok(Held::new(format!("{said} resident")).count("events", read))
}

/// Reads a recording, and says how fast and in how much memory.
pub(super) fn measure(folder: &Path, each: &str) -> Result<()> {
    let started = Instant::now();
    let mut checked = Checked::new(THREADS);
    let losses =
        Recording::open(folder)?.read(&mut Unresolved, &mut Tables::default(), &mut checked)?;
    ensure!(losses.words().is_empty(), "{losses}");
    let (events, seconds) = (checked.finish(each.parse()?)?, started.elapsed().as_secs_f64());
    let figures = Figures { events, seconds, resident: peak_resident()?.0 };
    println!("{}", serde_json::to_string(&figures)?);
    Ok(())
}
