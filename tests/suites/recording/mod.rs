//! The recording on disk, at scale and under the worst of ends.

mod flight;
mod kill;
mod made;
mod read;
mod scale;
mod writer;

use std::{env, fs, path::Path, process::ExitCode};

use anyhow::{Result, ensure};
use harness::{Check, Held};
use whyoom_trace::Bytes;

/// A check's name, with its size: so many events or kills.
type Row = (&'static str, fn(&str, u64) -> Result<Held>, u64);

const CHECKS: &[Row] = &[
    ("scale", scale::check, 5_000_000),
    ("deep-scale", scale::check, 50_000_000),
    ("read", read::check, 10_000_000),
    ("deep-read", read::check, 100_000_000),
    ("flight", flight::check, 4_000_000),
    ("deep-flight", flight::deep, 1_000_000_000),
    ("kill", kill::check, 100),
    ("deep-kill", kill::check, 1000),
];

/// All that write at scale have so many threads.
const THREADS: u32 = 8;

pub(crate) fn checks() -> Result<Vec<Check>> {
    let check = |&(name, run, size): &'static Row| {
        Check::new(name, move || run(&format!("recording/{name}"), size))
    };
    Ok(CHECKS.iter().map(check).collect())
}

/// The checks start this program again, as the process that is killed or measured: how that ended.
pub(crate) fn role() -> Option<ExitCode> {
    let words: Vec<String> = env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let done = match words[..] {
        ["recording", "as-writer", folder] => writer::run(Path::new(folder)),
        ["recording", "as-reader", folder, each] => read::measure(Path::new(folder), each),
        _ => return None,
    };
    Some(done.map_or_else(
        |error| {
            eprintln!("{error:#}");
            ExitCode::FAILURE
        },
        |()| ExitCode::SUCCESS,
    ))
}

/// What the files of a kind take in a folder.
fn bytes_of(folder: &Path, suffix: &str) -> Result<Bytes> {
    let mut bytes = 0;
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if entry.file_name().to_str().is_some_and(|name| name.ends_with(suffix)) {
            bytes += entry.metadata()?.len();
        }
    }
    ensure!(bytes > 0, "nothing in files that end with “{suffix}”");
    Ok(Bytes(bytes))
}
