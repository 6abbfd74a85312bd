//! Side by side with nvitop and gpustat: the same totals and processes, and what each of the three
//! shows in the nine situations.

use std::collections::BTreeMap;

use anyhow::{Context, Result, ensure};
use serde::Deserialize;

use super::{
    Scene, Stage, is_root, named, peers_table,
    situations::{Made, SITUATIONS, Situation},
    skipped,
};
use crate::tools::{environment, root};

/// One of the others, at one moment.
#[derive(Deserialize)]
pub(super) struct Peer {
    devices: Vec<PeerDevice>,
    /// What it prints for people.
    text: String,
}

#[derive(Deserialize)]
struct PeerDevice {
    total: u64,
    used: u64,
    processes: BTreeMap<u32, Option<u64>>,
}

/// The names by which both answer, and the unit in which each tells amounts.
const PEERS: [(&str, u64); 2] = [("nvitop", 1), ("gpustat", 1 << 20)];

pub(super) fn run(stage: &Stage) -> Result<String> {
    let compared = same_totals_and_processes(stage).context("side by side")?;
    let mut rows = Vec::new();
    for situation in SITUATIONS {
        if situation.needs_root && !is_root() {
            skipped(situation.name);
            continue;
        }
        rows.push(observe(stage, situation).with_context(|| situation.name)?);
    }
    let table = peers_table::markdown(&rows);
    println!("\n{table}");
    let complete = rows.len() == SITUATIONS.len();
    if complete {
        peers_table::keep(&table, stage.bless)?;
    }
    Ok(format!("{compared}; {} situations seen by all three", rows.len()))
}

/// On a healthy machine of two devices all three must show the same.
fn same_totals_and_processes(stage: &Stage) -> Result<String> {
    let mut scene = Scene::start(stage, &["--gpus", "2"])?;
    scene.hold(&["0=96"])?;
    scene.hold(&["0=512", "1=64"])?;
    scene.hold(&["1=256"])?;
    let answer = scene.who(&[])?;
    let peers = ask(&scene, &[])?;
    let mut figures = 0;
    for (name, unit) in PEERS {
        let devices = &peers[name].devices;
        ensure!(devices.len() == answer.devices(), "{name}: {} devices", devices.len());
        for (index, peer) in devices.iter().enumerate() {
            let whole = |bytes: u64| bytes / unit * unit;
            let ours = (whole(answer.total(index)?), whole(answer.used(index)?));
            let theirs = (peer.total, peer.used);
            ensure!(theirs == ours, "{name}, device {index}: {theirs:?} in place of {ours:?}");
            let holders = answer.holders(index).into_iter();
            let holders: BTreeMap<_, _> =
                holders.map(|(pid, bytes)| (pid, Some(whole(bytes)))).collect();
            ensure!(peer.processes == holders, "{name}, device {index}: {:?}", peer.processes);
            figures += 2 + holders.len();
        }
    }
    println!("whyoom who, nvitop and gpustat: {figures} totals and processes are the same");
    Ok(format!("{figures} figures the same as nvitop's and gpustat's"))
}

/// What each of the three shows in a situation.
fn observe(stage: &Stage, situation: &Situation) -> Result<peers_table::Row> {
    let mut scene = Scene::start(stage, situation.flags)?;
    let made = (situation.make)(&mut scene)?;
    let peers = ask(&scene, made.before)?;
    let cell = |name: &str| shown(&peers[name], situation, &made);
    let (nvitop, gpustat) = (cell("nvitop"), cell("gpustat"));
    // Last: it may end the situation.
    let whyoom = named::judge(&scene, situation, &made)?.told();
    Ok(peers_table::Row { situation: situation.name, whyoom, nvitop, gpustat })
}

/// Whether a monitor lists who holds the memory, and which of its words say what is the matter. Words
/// count where they stand beside the process; where there is none to show, wherever they stand.
fn shown(peer: &Peer, situation: &Situation, made: &Made) -> String {
    let beside = |(device, pid): &(usize, u32)| {
        let listed = peer.devices.get(*device).is_some_and(|one| one.processes.contains_key(pid));
        let lines = peer.text.lines().filter(|line| has_number(line, *pid));
        lines.filter(|_| listed).collect::<Vec<_>>().join("\n")
    };
    let lines: Vec<String> = made.holders.iter().map(beside).collect();
    let listed = lines.iter().filter(|lines| !lines.is_empty()).count();
    let text = if lines.is_empty() { peer.text.clone() } else { lines.join("\n") };
    let text = text.to_lowercase();
    let said = situation.words.iter().find(|word| text.contains(**word));
    let said = said.map(|word| format!("says “{word}”"));
    let process = match (listed, lines.len()) {
        (_, 0) => return said.unwrap_or_else(|| "no word of it".to_owned()),
        (0, _) => "does not list it",
        (found, all) if found == all => "lists it",
        _ => "lists a part",
    };
    said.map_or_else(|| process.to_owned(), |said| format!("{process}, {said}"))
}

/// Whether a number stands in a line by itself.
fn has_number(line: &str, number: u32) -> bool {
    let mut numbers = line.split(|character: char| !character.is_ascii_digit());
    numbers.any(|part| part == number.to_string())
}

/// Runs both, behind other commands where some are given.
fn ask(scene: &Scene, before: &[&str]) -> Result<BTreeMap<String, Peer>> {
    let python = environment("clients")?.join("bin/python").display().to_string();
    let script = root().join("tests/scenarios/who/peers.py").display().to_string();
    let output = scene.output(&[before, &[&python, &script]].concat())?;
    let complaint = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "nvitop or gpustat: {complaint}");
    let last = output.stdout.split(|byte| *byte == b'\n').rfind(|line| !line.is_empty());
    Ok(serde_json::from_slice(last.unwrap_or_default())?)
}
