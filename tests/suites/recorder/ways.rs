//! Every way in which a program reaches the driver: recorded the same, and every look-up wrapped.

use std::{fs, path::Path};

use anyhow::{Context, Result, bail, ensure};
use harness::{Build, Check, Held, Trial, cuda, empty_folder, text};

use super::{
    programs::recorded_right,
    programs_in_c::{counting_driver, linked, linked_statically, program},
};

/// Each as it is called, and what is tried.
type Way = (&'static str, fn(&str) -> Result<Held>);

const WAYS: &[Way] = &[
    ("dlsym", at_run_time),
    ("default", at_run_time),
    ("proc", at_run_time),
    ("proc_v2", at_run_time),
    ("nested", at_run_time),
    // The lab's own functions carry no version.
    ("dlvsym", |way| wrapped(Trial { within: before_the_lab(COUNTING)?, ..ways(way)? }, way)),
    ("linked", |way| wrapped(Trial::new("2GiB", &[linked()?]), way)),
    ("static-cudart", static_runtime),
    ("genuine-cudart", |way| genuine(&[program("genuine")?, vendors("libcudart.so.13")?], way)),
    ("genuine-static-cudart", |way| {
        let runtime = vendors("libcudart_static.a")?;
        genuine(&[linked_statically("recorder-genuine-static", Path::new(&runtime))?], way)
    }),
];

/// Functions that take or give memory: what a program gets for them must be the recorder's.
const WRAPPED: &[&str] = &["cuMemAlloc_v2", "cuMemFree_v2", "cuMemAllocAsync", "cuMemFreeAsync"];

/// Puts a driver that counts before the lab's: `sh -c COUNTING FOLDER COMMAND…`
const COUNTING: &str = r#"LD_LIBRARY_PATH="$0:$LD_LIBRARY_PATH" exec "$@""#;
/// The same without the lab's runtime, so that the program meets the vendor's.
const GENUINE: &str = r#"unset LD_PRELOAD; LD_LIBRARY_PATH="$0:$LD_LIBRARY_PATH" exec "$@""#;

/// The vendor's runtime looks up hundreds of functions; fewer were not all of them.
const FEWEST_LOOK_UPS: usize = 400;

pub(super) fn checks() -> Vec<Check> {
    let check = |(way, run): &'static Way| Check::new(format!("ways::{way}"), || run(way));
    WAYS.iter().map(check).collect()
}

fn ways(way: &str) -> Result<Trial> {
    Ok(Trial::new("2GiB", &[program("ways")?, way.to_owned()]))
}

fn at_run_time(way: &str) -> Result<Held> {
    wrapped(ways(way)?, way)
}

/// A file of the vendor's.
fn vendors(library: &str) -> Result<String> {
    Ok(text(&cuda()?.join("lib").join(library)))
}

fn before_the_lab(script: &str) -> Result<Vec<String>> {
    let shell = ["sh", "-c", script].map(str::to_owned);
    Ok(shell.into_iter().chain([text(&counting_driver()?)]).collect())
}

/// The program is recorded, and has the recorder's functions in place of the driver's.
fn wrapped(trial: Trial, way: &str) -> Result<Held> {
    let homes = empty_folder(&format!("recorder/{way}-homes"))?.join("homes");
    let (_, calls) = recorded_right(&trial.with("WHYOOM_HOMES", &homes), way)?;
    let homes = fs::read_to_string(homes)?;
    for function in WRAPPED {
        let home = homes.lines().find_map(|line| line.strip_prefix(function));
        let home = home.with_context(|| format!("{function} was not looked up"))?;
        ensure!(home.contains("whyoom_recorder"), "{function} lies in{home}");
    }
    Ok(Held::new(format!("{calls} driver calls, {} functions wrapped", WRAPPED.len())))
}

/// A program that carries the lab's runtime inside it.
fn static_runtime(way: &str) -> Result<Held> {
    let runtime = Build::ready()?.file("libwhyoom_lab_cudart.a");
    let program = linked_statically("recorder-static", &runtime)?;
    let (recorded, calls) = recorded_right(&Trial::new("2GiB", &[program]), way)?;
    recorded.verdict()?.has_cause("growth")?;
    Ok(Held::new(format!("{calls} driver calls, growth")))
}

/// The vendor's runtime refuses, recorded or not; until then the recorder has seen each look-up that
/// the driver answered.
fn genuine(command: &[String], name: &str) -> Result<Held> {
    let folder = empty_folder(&format!("recorder/{name}-look-ups"))?;
    let (counted, seen) = (folder.join("counted"), folder.join("seen"));
    let mut trial = Trial::new("2GiB", command).with("WHYOOM_COUNTED", &counted);
    trial.within = before_the_lab(GENUINE)?;
    let plain = trial.plain()?;
    let asked = sorted_lines(&counted)?;
    ensure!(asked.len() >= FEWEST_LOOK_UPS, "only {} look-ups", asked.len());
    let answered = asked.iter().filter_map(|line| line.strip_suffix(" answered"));
    let answered: Vec<_> = answered.map(str::to_owned).collect();
    let recorded =
        trial.with("WHYOOM_RECORDER_LOOKUPS", &seen).recorded(&format!("recorder/{name}"))?;
    recorded.ran.like(&plain)?;
    let (by_recorder, wrapped) = looked_up(&seen)?;
    let missing = answered.iter().find(|name| !by_recorder.contains(name));
    ensure!(
        by_recorder == answered,
        "the driver answered {} look-ups, the recorder saw {} (missing: {missing:?})",
        answered.len(),
        by_recorder.len()
    );
    let (asked, answered) = (asked.len(), answered.len());
    let seen = format!("{asked} look-ups, all {answered} answers seen, {wrapped} wrapped");
    Ok(Held::new(format!("refused alike; {seen}")))
}

fn sorted_lines(file: &Path) -> Result<Vec<String>> {
    let text = fs::read_to_string(file).with_context(|| text(file))?;
    let mut lines: Vec<_> = text.lines().map(str::to_owned).collect();
    lines.sort();
    Ok(lines)
}

/// The names that were asked for through the driver's own function, and how many of them the
/// recorder answered with its own. A line of its list: HOW NAME VERSION, then what was given.
fn looked_up(file: &Path) -> Result<(Vec<String>, usize)> {
    let (mut names, mut wrapped) = (Vec::new(), 0);
    for line in sorted_lines(file)? {
        let words: Vec<_> = line.splitn(4, ' ').collect();
        let [how, name, _, given] = words[..] else { bail!("a line is “{line}”") };
        if how.starts_with("cuGetProcAddress") {
            names.push(name.to_owned());
            wrapped += usize::from(given != "as it is");
        }
    }
    ensure!(wrapped > 0, "the recorder answered with nothing of its own");
    names.sort();
    Ok((names, wrapped))
}
