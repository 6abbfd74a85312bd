//! Every way in which a program reaches the driver: recorded the same, and every look-up wrapped.

use std::{fs, path::Path, process::Command};

use anyhow::{Context, Result, ensure};

use super::{
    programs::recorded_right,
    stage::{Stage, cuda, fresh},
    tally::Tally,
    trial::{Trial, text},
};
use crate::tools::{must_succeed, root, scratch};

/// What `ways` calls them, where the lab's own driver serves.
const WAYS: &[&str] = &["dlsym", "default", "proc", "proc_v2", "nested"];

/// Functions that take or give memory: what a program gets for them must be the recorder's.
const WRAPPED: &[&str] = &["cuMemAlloc_v2", "cuMemFree_v2", "cuMemAllocAsync", "cuMemFreeAsync"];

/// Puts a driver that counts before the lab's: `sh -c COUNTING FOLDER COMMAND…`
const COUNTING: &str = r#"LD_LIBRARY_PATH="$0:$LD_LIBRARY_PATH" exec "$@""#;
/// The same without the lab's runtime, so that the program meets the vendor's.
const GENUINE: &str = r#"unset LD_PRELOAD; LD_LIBRARY_PATH="$0:$LD_LIBRARY_PATH" exec "$@""#;

/// The vendor's runtime looks up hundreds of functions; fewer were not all of them.
const FEWEST_LOOK_UPS: usize = 400;

pub(super) fn run(stage: &Stage) -> Result<String> {
    let mut tally = Tally::default();
    for way in WAYS {
        let trial = Trial::new("2GiB", &[text(&stage.program("ways")), (*way).to_owned()]);
        tally.case(way, || wrapped(stage, &trial, way));
    }
    tally.case("dlvsym", || {
        let mut trial = Trial::new("2GiB", &[text(&stage.program("ways")), "dlvsym".into()]);
        trial.within = counting(stage, COUNTING);
        wrapped(stage, &trial, "dlvsym")
    });
    let linked = Trial::new("2GiB", &[stage.program("linked")]);
    tally.case("linked", || wrapped(stage, &linked, "linked"));
    tally.case("static cudart", || static_runtime(stage));
    let shared = text(&cuda()?.join("lib/libcudart.so.13"));
    let shared = [text(&stage.program("genuine")), shared];
    tally.case("genuine cudart", || genuine(stage, &shared, "genuine"));
    tally.case("genuine, static", || genuine(stage, &genuine_static()?, "genuine-static"));
    let held = tally.all()?;
    Ok(format!("{held} ways into the driver recorded alike"))
}

fn counting(stage: &Stage, script: &str) -> Vec<String> {
    ["sh", "-c", script]
        .map(str::to_owned)
        .into_iter()
        .chain([text(&stage.counting_driver())])
        .collect()
}

/// The program is recorded, and has the recorder's functions in place of the driver's.
fn wrapped(stage: &Stage, trial: &Trial, name: &str) -> Result<String> {
    let homes = scratch("recordings")?.join(format!("{name}.homes"));
    let (_, calls) = recorded_right(stage, &trial.clone().with("WHYOOM_HOMES", &homes), name)?;
    let homes = fs::read_to_string(homes)?;
    for function in WRAPPED {
        let home = homes.lines().find_map(|line| line.strip_prefix(function));
        let home = home.with_context(|| format!("{function} was not looked up"))?;
        ensure!(home.contains("whyoom_recorder"), "{function} lies in{home}");
    }
    Ok(format!("{calls} driver calls, {} functions wrapped", WRAPPED.len()))
}

/// A program that carries the lab's runtime inside it.
fn static_runtime(stage: &Stage) -> Result<String> {
    let program = scratch("recorder-programs")?.join("static");
    let archive = stage.binaries.join("libwhyoom_lab_cudart.a");
    link_statically(&archive, &program)?;
    let (recorded, calls) = recorded_right(stage, &Trial::new("2GiB", &[program]), "static")?;
    let cause = recorded.verdict(stage)?["verdict"]["cause"].clone();
    ensure!(cause == "growth", "the verdict is {cause}");
    Ok(format!("{calls} driver calls, {cause}"))
}

/// Program 10, which has no kernel, with a runtime linked in.
fn link_statically(archive: &Path, program: &Path) -> Result<()> {
    let mut compiler = Command::new("c++");
    compiler.args(["-O0", "-g", "-x", "c++"]).arg(root().join("tests/scenarios/cuda/program10.cu"));
    compiler.arg("-I").arg(cuda()?.join("include")).args(["-x", "none"]).arg(archive);
    must_succeed(compiler.args(["-lpthread", "-ldl", "-lrt", "-lm", "-o"]).arg(program))
}

fn genuine_static() -> Result<[String; 1]> {
    let program = scratch("recorder-programs")?.join("genuine-static");
    link_statically(&cuda()?.join("lib/libcudart_static.a"), &program)?;
    Ok([text(&program)])
}

/// The vendor's runtime refuses, recorded or not; until then the recorder has seen each look-up that
/// the driver answered.
fn genuine(stage: &Stage, command: &[String], name: &str) -> Result<String> {
    let folder = fresh(&format!("{name}-look-ups"))?;
    fs::create_dir_all(&folder)?;
    let (counted, seen) = (folder.join("counted"), folder.join("seen"));
    let mut trial = Trial::new("2GiB", command).with("WHYOOM_COUNTED", &counted);
    trial.within = counting(stage, GENUINE);
    let plain = trial.plain(stage)?;
    let asked = sorted_lines(&counted)?;
    ensure!(asked.len() >= FEWEST_LOOK_UPS, "only {} look-ups", asked.len());
    let answered = asked.iter().filter_map(|line| line.strip_suffix(" answered"));
    let answered: Vec<_> = answered.map(str::to_owned).collect();
    let recorded = trial.with("WHYOOM_RECORDER_LOOKUPS", &seen).recorded(stage, name)?;
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
    Ok(format!("refused alike; {asked} look-ups, all {answered} answers seen, {wrapped} wrapped"))
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
        let mut words = line.splitn(4, ' ');
        let (how, name) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
        if how.starts_with("cuGetProcAddress") {
            names.push(name.to_owned());
            wrapped += usize::from(words.last() != Some("as it is"));
        }
    }
    names.sort();
    Ok((names, wrapped))
}
