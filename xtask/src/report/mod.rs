//! `cargo xtask report`: the report of ten million events, the comparison of two such runs, and what a report looks
//! like of a run that dies on the lab.

mod compared;
mod looks;
mod made;

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::Instant,
};

use anyhow::{Result, ensure};
use harness::{Build, Held, Look, Trial, fresh, must_succeed, python, root, text};
use whyoom_trace::Bytes;

use self::looks::{MOST_MILLISECONDS, SCHEMES, SIZES, looked_at, slowest};
use crate::bare_reading::read_barely;

/// What it may take, and be.
const MOST_SECONDS: f64 = 20.0;
const MOST_BYTES: u64 = 10_000_000;
/// Where the fragmented program dies, and how.
const LAB: [&str; 4] = ["--gpu", "rtx-4090", "--memory", "3650MiB"];
const DIES: i32 = 3;

/// `cargo xtask report`.
#[derive(clap::Args)]
pub(crate) struct Wish {
    /// Where pictures of the report are put
    #[arg(long, value_name = "FOLDER")]
    screenshots: Option<PathBuf>,
    /// Fewer events only try this command out
    #[arg(long, value_name = "N", default_value_t = 10_000_000)]
    events: u64,
}

pub(crate) fn run(wish: &Wish) -> Result<Held> {
    let folder = fresh("report")?;
    let line = long_run(&folder, wish.events)?;
    let compared = compared::long_runs(&folder, wish.events)?;
    let looks = lab_run(&folder, wish.screenshots.as_deref())?;
    Ok(Held::new(format!("{line}; {compared}; a lab OOM opened {looks} times")))
}

/// The report of a recording of very many events.
fn long_run(folder: &Path, events: u64) -> Result<String> {
    let (recording, file) = (folder.join("long"), folder.join("long.html"));
    fs::create_dir_all(&recording)?;
    let made = made::write(&recording, events, made::LEFT)?;
    let bare = read_barely(&recording)?;
    let of_report = ["report".into(), text(&recording), "-o".into(), text(&file)];
    let seconds = seconds_of(&of_report)?;
    let why = seconds_of(&["why".into(), text(&recording)])?;
    let of_replay = ["replay", "--allocator", "expandable"].map(str::to_owned);
    let replay = seconds_of(&[&of_replay[..], &[text(&recording)]].concat())?;
    fs::remove_dir_all(&recording)?;
    let size = fs::metadata(&file)?.len();
    let ready = slowest(&SIZES.map(|size| looked_at(&file, size, SCHEMES[0])))?;
    println!("{:<34} {made:>12}", "events of a training run, made up");
    println!("{:<34} {:>10.2} s", "bare reading of these", bare.seconds);
    let commands =
        [("whyoom why", why), ("whyoom replay, one allocator", replay), ("whyoom report", seconds)];
    for (command, seconds) in commands {
        println!("{command:<34} {seconds:>10.2} s {:>6.2} times that", bare.ratio(seconds));
    }
    println!("{:<34} {:>12}", "the report", Bytes(size).to_string());
    println!("{:<34} {ready:>9} ms", "until the page is interactive");
    ensure!(made >= events, "only {made} events were made");
    ensure!(seconds < MOST_SECONDS, "{seconds:.1} s, over {MOST_SECONDS}");
    ensure!(size < MOST_BYTES, "{size} bytes, over {MOST_BYTES}");
    ensure!(ready < MOST_MILLISECONDS, "{ready} ms, over {MOST_MILLISECONDS}");
    let size = Bytes(size);
    Ok(format!(
        "{made} events in {seconds:.1} s ({} bare reading; why: {}) and {size}, interactive after {ready} ms",
        bare.times(seconds),
        bare.times(why),
    ))
}

/// How long a command of `whyoom` takes.
fn seconds_of(arguments: &[String]) -> Result<f64> {
    let mut whyoom = Command::new(Build::ready()?.whyoom());
    let started = Instant::now();
    must_succeed(whyoom.args(arguments).stdout(Stdio::null()))?;
    Ok(started.elapsed().as_secs_f64())
}

/// The report of a program that dies on the lab, looked at in every way; in how many.
fn lab_run(folder: &Path, screenshots: Option<&Path>) -> Result<usize> {
    let file = folder.join("fragmented.html");
    let script = text(&root().join("tests/scenarios/torch/fragmented.py"));
    let trial = Trial::on(&LAB, &[python()?, script]);
    let died = trial.recorded_with("report-fragmented", &["--report", &text(&file)])?.ran;
    let is_reported = died.status == DIES && file.is_file();
    ensure!(is_reported, "it should die, and be reported: {}: {}", died.status, died.stderr);
    let screenshots = screenshots.map(|folder| root().join(folder));
    if let Some(folder) = &screenshots {
        fs::create_dir_all(folder)?;
    }
    let mut looks = Vec::new();
    for size in SIZES {
        for scheme in SCHEMES {
            let name = format!("report-{}-{scheme}.png", size.0);
            let screenshot = screenshots.as_ref().map(|folder| folder.join(name));
            looks.push(Look { screenshot, ..looked_at(&file, size, scheme) });
        }
    }
    let ready = slowest(&looks)?;
    println!("{:<34} {ready:>9} ms", "a run that dies on the lab");
    ensure!(ready < MOST_MILLISECONDS, "{ready} ms, over {MOST_MILLISECONDS}");
    Ok(looks.len())
}
