//! Small files that hold very many of one thing: no command takes time or memory out of proportion to them.

use std::{path::Path, process::Command};

use anyhow::{Context, Result, bail, ensure};
use harness::{Bounded, Build, Check, Held, empty_folder, input_bytes, root, text};
use whyoom_trace::Bytes;

/// What is made, how many of it, and how the file's name ends.
type Input = (&'static str, u32, &'static str);

const SNAPSHOTS: &[Input] = &[
    ("streams", 5_000, "pickle"),
    ("streams_that_free", 5_000, "pickle"),
    ("pools", 5_000, "pickle"),
    ("segment_frees", 20_000, "pickle"),
    ("segments_of_state", 5_000, "pickle"),
    ("holes", 10_000, "pickle"),
    ("idle_pages", 10_000, "pickle"),
    ("huge", 40, "pickle"),
    ("huge_moves", 200, "pickle"),
    ("misses", 20_000, "pickle"),
    ("stacks_of_devices", 20_000, "pickle"),
];
/// No export replays anything: these are what it goes through itself.
const EXPORTED: &[Input] = &[
    ("streams_that_free", 5_000, "pickle"),
    ("segment_frees", 20_000, "pickle"),
    ("stacks_of_devices", 20_000, "pickle"),
];
const LOGS: &[Input] = &[("rmm_streams", 40_000, "csv"), ("rmm_streams_in_turn", 20_000, "csv")];
const TEXTS: &[Input] = &[
    ("text_messages", 1_000, "log"),
    ("text_holders", 20_000, "log"),
    ("text_ranks", 1_000, "log"),
    ("text_tracebacks", 20_000, "log"),
];
const NSIGHT: &[Input] = &[
    ("nsys_streams", 20_000, "sqlite"),
    ("nsys_pools", 10_000, "sqlite"),
    ("nsys_failing_processes", 10_000, "sqlite"),
];
/// Their counts are the MiB that they become unpacked.
const PACKED: &[Input] = &[
    ("packed_bad_lines", 900, "tar.gz"),
    ("packed_names", 900, "tar.gz"),
    ("packed_marks", 900, "tar.gz"),
    ("packed_zeros", 1000, "tar.gz"),
    ("packed_events", 1000, "tar.gz"),
    ("packed_unknown", 900, "tar.gz"),
];
const RECORDINGS: &[Input] = &[("folder_of_bad_lines", 300, "recording")];

/// Seconds that a command may take for each MiB of an archive's contents: 2 s for 100 MiB.
const SECONDS_PER_UNPACKED_MIB: f64 = 0.02;

const FORMATS: [&str; 4] = ["perfetto", "pprof", "parquet", "pytorch-snapshot"];

/// One check for each command and each kind of file that it reads.
pub(super) fn checks() -> Vec<Check> {
    let families = [
        ("snapshot", SNAPSHOTS, &["why", "report", "replay"][..]),
        ("snapshot", EXPORTED, &["export"]),
        ("rmm", LOGS, &["why", "report", "replay", "export"]),
        ("text", TEXTS, &["why", "report"]),
        ("nsight", NSIGHT, &["why", "report", "export"]),
        ("packed", PACKED, &["why", "report"]),
        ("recording", RECORDINGS, &["why", "report", "replay"]),
    ];
    let mut checks = Vec::new();
    for (kind, inputs, commands) in families {
        for &command in commands {
            let name = format!("proportion::{command}-{kind}");
            checks.push(Check::new(name.clone(), move || in_proportion(&name, command, inputs)));
        }
    }
    checks
}

fn in_proportion(name: &str, command: &str, inputs: &[Input]) -> Result<Held> {
    let folder = empty_folder(&format!("hostile-{}", name.replace("::", "-")))?;
    let mut runs = 0;
    for &(what, count, ending) in inputs {
        let file = folder.join(format!("{what}.{ending}"));
        make(what, count, &file)?;
        let bytes = input_bytes(&file)?;
        for words in commands(command, &file, &folder)? {
            let words: Vec<&str> = words.iter().map(String::as_str).collect();
            let ran = Bounded::run(&words, None, &[])?;
            let (seconds, resident) = (ran.seconds, Bytes(ran.resident));
            println!("{what:<24} {:>10} {seconds:>6.2} s {resident:>10}", Bytes(bytes).to_string());
            let context = || format!("{what}: {}", words.join(" "));
            // The memory is of the packed bytes, the time of the unpacked ones: they have to be unpacked.
            let ran = if ending == "tar.gz" {
                ran.in_bounds_with_time(bytes, f64::from(count) * SECONDS_PER_UNPACKED_MIB)
            } else {
                ran.in_bounds(bytes)
            };
            let ran = ran.with_context(context)?;
            // A file without a history has nothing to replay or to export: it says so.
            let status = ran.status.context("it was not killed")?;
            ensure!(
                status == 0 || (status == 1 && ran.err.contains("whyoom")),
                "{what}: {}",
                ran.err
            );
            runs += 1;
        }
    }
    Ok(Held::new("in bounds").count("runs", runs))
}

fn make(what: &str, count: u32, file: &Path) -> Result<()> {
    let mut script = Command::new("python3");
    script.arg(root().join("tests/suites/hostile/proportion.py"));
    let output = script.args([what, &count.to_string(), &text(file)]).output()?;
    ensure!(output.status.success(), "{what}: {}", String::from_utf8_lossy(&output.stderr));
    Ok(())
}

/// The command lines that are one command; `export` has one for each format.
fn commands(command: &str, file: &Path, folder: &Path) -> Result<Vec<Vec<String>>> {
    let whyoom = text(&Build::ready()?.whyoom());
    let (file, out) = (text(file), text(&folder.join("out")));
    let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
    Ok(match command {
        "why" | "replay" => vec![words(&[&whyoom, command, &file])],
        "report" => vec![words(&[&whyoom, "report", &file, "--force", "-o", &out])],
        "export" => {
            let to =
                |format| words(&[&whyoom, "export", &file, "--to", format, "--force", "-o", &out]);
            FORMATS.map(to).into()
        }
        other => bail!("no command is called {other}"),
    })
}
