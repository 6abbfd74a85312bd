//! Side by side with nvitop and gpustat: the same totals and processes, and what each of the three
//! shows in the nine situations.

use std::collections::BTreeMap;

use anyhow::{Context, Result, ensure};
use harness::{Held, Need, Scene, SceneStage, environment, from_slice, root, text};
use serde::Deserialize;

use super::{
    named, peers_table,
    situations::{Made, SITUATIONS, Situation},
};

/// Both at one moment.
#[derive(Deserialize)]
struct Peers {
    nvitop: Peer,
    gpustat: Peer,
}

/// One of the others, at one moment.
#[derive(Deserialize)]
struct Peer {
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

/// What each of the three shows in the situations, as a page of the documentation keeps it.
pub(super) fn table() -> Result<Held> {
    Need::Root.met()?;
    let stage = SceneStage::ready()?;
    let rows = SITUATIONS.iter().map(|one| observe(&stage, one).with_context(|| one.name));
    let table = peers_table::markdown(&rows.collect::<Result<Vec<_>>>()?);
    println!("{table}");
    peers_table::keep(&table)?;
    let count = SITUATIONS.len() as u64;
    Ok(Held::new(format!("{count} situations seen by all three")).count("situations", count))
}

/// On a healthy machine of two devices all three must show the same.
pub(super) fn side_by_side() -> Result<Held> {
    let mut scene = Scene::start(&SceneStage::ready()?, &["--gpus", "2"])?;
    scene.hold(&["0=96"])?;
    scene.hold(&["0=512", "1=64"])?;
    scene.hold(&["1=256"])?;
    let answer = scene.who(&[])?;
    let peers = ask(&scene, &[])?;
    let mut figures = 0;
    // Each with the unit in which it tells amounts.
    for (name, peer, unit) in [("nvitop", &peers.nvitop, 1), ("gpustat", &peers.gpustat, 1 << 20)] {
        let devices = (answer.devices.len(), peer.devices.len());
        ensure!(devices == (2, 2), "{name}: {devices:?} devices");
        for (ours, theirs) in answer.devices.iter().zip(&peer.devices) {
            let place = format!("{name}, device {}", ours.index);
            let whole = |bytes: u64| bytes / unit * unit;
            let (own, other) =
                ((whole(ours.total_bytes), whole(ours.used()?)), (theirs.total, theirs.used));
            ensure!(own == other, "{place}: {other:?} in place of {own:?}");
            let holders = ours.holders().into_iter();
            let holders: BTreeMap<_, _> =
                holders.map(|(pid, bytes)| (pid, bytes.map(whole))).collect();
            ensure!(holders.len() == 2, "{place}: {holders:?} in place of two");
            ensure!(theirs.processes == holders, "{place}: {:?}", theirs.processes);
            figures += 2 + holders.len() as u64;
        }
    }
    let figure = format!("{figures} figures the same as nvitop's and gpustat's");
    Ok(Held::new(figure).count("figures the same", figures))
}

/// What each of the three shows in a situation.
fn observe(stage: &SceneStage, situation: &Situation) -> Result<peers_table::Row> {
    let (scene, made, folder) = situation.made(stage, "who-peers")?;
    let peers = ask(&scene, made.before)?;
    let nvitop = shown(&peers.nvitop, situation, &made);
    let gpustat = shown(&peers.gpustat, situation, &made);
    // Last: it may end the situation.
    let whyoom = named::judge(&scene, situation, &made, &folder)?.told();
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
        (_, 0) => return said.unwrap_or_else(|| "does not report it".to_owned()),
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
fn ask(scene: &Scene, before: &[&str]) -> Result<Peers> {
    let python = text(&environment("clients")?.join("bin/python"));
    let script = text(&root().join("tests/scenarios/who/peers.py"));
    let output = scene.output(&[before, &[&python, &script]].concat())?;
    let complaint = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "nvitop or gpustat: {complaint}");
    let last = output.stdout.split(|byte| *byte == b'\n').rfind(|line| !line.is_empty());
    from_slice(last.context("nvitop and gpustat tell nothing")?)
}
