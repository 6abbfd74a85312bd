//! `cargo xtask report [--screenshots FOLDER]`: the report of ten million events, and what it looks like of a
//! run that dies on the lab.

mod browser;
mod made;

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
    time::Instant,
};

use anyhow::{Context, Result, bail, ensure};
use whyoom_trace::Bytes;

use self::browser::{Look, look};
use crate::{lab::Bench, tools};

const EVENTS: u64 = 10_000_000;
/// What it may take, and be.
const MOST_SECONDS: f64 = 20.0;
const MOST_BYTES: u64 = 10_000_000;
const MOST_MILLISECONDS: u64 = 2000;

/// A desktop and a phone.
const SIZES: [(&str, u32, u32); 2] = [("desktop", 1440, 900), ("phone", 390, 844)];
const SCHEMES: [&str; 2] = ["light", "dark"];
/// Where the fragmented program dies.
const LAB: &[&str] = &["--gpu", "rtx-4090", "--memory", "3650MiB"];

pub(crate) fn run(arguments: &[String]) -> Result<()> {
    let (screenshots, events) = read(arguments)?;
    let bench = Bench::prepare()?;
    let folder = tools::scratch("report")?;
    let whyoom = bench.binaries.join("whyoom");
    let line = long_run(&whyoom, &folder, events)?;
    let looks = lab_run(&bench, &folder, screenshots.as_deref())?;
    println!("report: {line}; {looks}");
    Ok(())
}

/// The folder for pictures, and how many events; fewer only try this command out.
fn read(arguments: &[String]) -> Result<(Option<PathBuf>, u64)> {
    let (mut screenshots, mut events) = (None, EVENTS);
    let mut words = arguments.iter();
    while let Some(word) = words.next() {
        match word.as_str() {
            "--screenshots" => screenshots = Some(words.next().context("which folder?")?.into()),
            "--events" => events = words.next().context("how many events?")?.parse()?,
            other => bail!("{other} is no option: --screenshots FOLDER, --events N"),
        }
    }
    Ok((screenshots, events))
}

/// The report of a recording of very many events.
fn long_run(whyoom: &Path, folder: &Path, events: u64) -> Result<String> {
    let recording = folder.join("long");
    if recording.exists() {
        fs::remove_dir_all(&recording)?;
    }
    fs::create_dir_all(&recording)?;
    let made = made::write(&recording, events)?;
    let file = folder.join("long.html");
    let started = Instant::now();
    tools::must_succeed(Command::new(whyoom).arg("report").arg(&recording).arg("-o").arg(&file))?;
    let seconds = started.elapsed().as_secs_f64();
    let size = fs::metadata(&file)?.len();
    let look = |(_, width, height)| Look {
        file: file.clone(),
        width,
        height,
        scheme: SCHEMES[0],
        screenshot: None,
    };
    let seen = browser::look(&SIZES.map(look))?;
    let ready = seen.iter().map(|seen| seen.ready).max().unwrap_or_default();
    println!("{:<34} {made:>12}", "events of a training run, made up");
    println!("{:<34} {seconds:>10.1} s", "whyoom report");
    println!("{:<34} {:>12}", "the report", Bytes(size).to_string());
    println!("{:<34} {ready:>9} ms", "until the page is interactive");
    fs::remove_dir_all(&recording)?;
    ensure!(made >= events, "only {made} events were made");
    ensure!(seconds < MOST_SECONDS, "{seconds:.1} s, over {MOST_SECONDS}");
    ensure!(size < MOST_BYTES, "{size} bytes, over {MOST_BYTES}");
    ensure!(ready < MOST_MILLISECONDS, "{ready} ms, over {MOST_MILLISECONDS}");
    let size = Bytes(size);
    Ok(format!("{made} events in {seconds:.1} s and {size}, interactive after {ready} ms"))
}

/// The report of a program that dies on the lab, looked at in every way.
fn lab_run(bench: &Bench, folder: &Path, screenshots: Option<&Path>) -> Result<String> {
    let (recording, file) = (folder.join("fragmented"), folder.join("fragmented.html"));
    if recording.exists() {
        fs::remove_dir_all(&recording)?;
    }
    let whyoom = bench.binaries.join("whyoom").display().to_string();
    let python = tools::environment("torch")?.join("bin/python").display().to_string();
    let script = tools::root().join("tests/scenarios/torch/fragmented.py").display().to_string();
    let (folder, report) = (recording.display().to_string(), file.display().to_string());
    let command = [&whyoom, "run", "-o", &folder, "--report", &report, "--", &python, &script]
        .map(str::to_owned);
    let died = bench.run(LAB, &command)?;
    ensure!(!died.success && file.is_file(), "it should die, and be reported: {}", died.stderr);
    if let Some(folder) = screenshots {
        fs::create_dir_all(folder)?;
    }
    let mut looks = Vec::new();
    for (size, width, height) in SIZES {
        for scheme in SCHEMES {
            let name = format!("report-{size}-{scheme}.png");
            let screenshot = screenshots.map(|folder| tools::root().join(folder).join(name));
            looks.push(Look { file: file.clone(), width, height, scheme, screenshot });
        }
    }
    let seen = look(&looks)?;
    let ready = seen.iter().map(|seen| seen.ready).max().unwrap_or_default();
    println!("{:<34} {ready:>9} ms", "a run that dies on the lab");
    ensure!(ready < MOST_MILLISECONDS, "{ready} ms, over {MOST_MILLISECONDS}");
    Ok(format!("a lab OOM opened {} times", looks.len()))
}
