//! Many agents and one store: whatever dies, each incident that was printed is in the archive exactly once.

use std::{
    collections::BTreeMap,
    fs,
    path::Path,
    process::Command,
    sync::atomic::Ordering,
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context, Result, ensure};
use harness::{Build, CProgram, Held, Random, empty_folder, must_succeed, text};

use super::{
    place::{Node, Running, rows, wait_for},
    servers::{Cutter, Store},
};

/// How large it is.
#[derive(Clone, Copy)]
pub(super) struct Size {
    agents: usize,
    /// Agents that run at the same time.
    at_once: usize,
    /// Incidents of each.
    incidents: usize,
    /// Seconds of kills and cuts for each group of agents.
    chaos: u64,
}

pub(super) const GATE: Size = Size { agents: 12, at_once: 12, incidents: 30, chaos: 12 };
pub(super) const DEEP: Size = Size { agents: 1000, at_once: 250, incidents: 100, chaos: 60 };

/// Shows a process another time.
const FAKETIME: &str = "/usr/lib/x86_64-linux-gnu/faketime/libfaketime.so.1";
/// Clocks that are wrong: by what a store accepts, and by what it may not.
const SKEWS: [&str; 5] = ["+0", "+10m", "-10m", "+2d", "-2d"];
/// What an agent may keep on disk: room for a few incidents, so that it is full while the store is away.
const JOURNAL_BYTES: usize = 24 << 10;

pub(super) fn run(size: Size) -> Result<Held> {
    let folder = empty_folder("fleet-store")?;
    // The verdict of each is not what is asked here: a program that answers at once stands for `whyoom`.
    let whyoom = CProgram::new("tests/scenarios/fleet/verdict.c")?.built()?;
    let mut store = Store::start(&folder.join("store"))?;
    let cutter = Cutter::start(store.port())?;
    let started = Instant::now();
    let (mut kills, mut store_kills) = (0, 0);
    let numbers: Vec<usize> = (0..size.agents).collect();
    for group in numbers.chunks(size.at_once) {
        let nodes =
            group.iter().map(|number| node(*number, &whyoom)).collect::<Result<Vec<_>>>()?;
        let mut agents =
            nodes.iter().map(|node| start(node, cutter.port, "+0")).collect::<Result<Vec<_>>>()?;
        print_messages(&nodes, size.incidents)?;
        kills += chaos(&nodes, &mut agents, &mut store, &cutter, size.chaos)?;
        store_kills += 1;
        // Clocks are put right, nobody is killed any more, and every agent comes to its end.
        for (node, agent) in nodes.iter().zip(&mut agents) {
            restart(node, agent, cutter.port, "+0")?;
        }
        wait_for("the journals are empty", 600, || {
            Ok(nodes.iter().all(|node| is_settled(node, size.incidents)))
        })?;
        drop(agents);
        for node in &nodes {
            fs::remove_dir_all(node.path("logs"))?;
        }
    }
    cutter.calm();
    let copy = folder.join("copy");
    let mut command = Command::new(Build::fleet()?);
    command.args(["copy", &Store::archive()]).arg(&copy).envs(Store::variables(store.port()));
    must_succeed(&mut command)?;
    let counted = count(&copy, size)?;
    let (seconds, cuts) = (started.elapsed().as_secs(), cutter.cuts.load(Ordering::Relaxed));
    Ok(Held::new(format!(
        "{counted} incidents of {} agents, each there once, none half; {kills} agents killed, the store {store_kills} \
         times, {cuts} connections cut, clocks wrong by up to two days, journals full; {seconds} s",
        size.agents
    )))
}

fn node(number: usize, whyoom: &Path) -> Result<Node> {
    let settings = format!(
        "archive = '{}'\nnode = 'n{number}'\nwhyoom = '{}'\nwho-seconds = 0\npoll-seconds = 0.2\nupload-seconds = 1\n\
         journal-bytes = {JOURNAL_BYTES}\n",
        Store::archive(),
        text(whyoom)
    );
    Node::new(&format!("fleet-store-{number}"), &settings)
}

/// An agent whose clock is wrong by so much.
fn start(node: &Node, port: u16, skew: &str) -> Result<Running> {
    let mut agent = node.agent()?;
    agent.envs(Store::variables(port));
    ensure!(Path::new(FAKETIME).exists(), "apt-get install libfaketime");
    agent
        .env("LD_PRELOAD", FAKETIME)
        .env("FAKETIME", skew)
        .env("FAKETIME_DONT_FAKE_MONOTONIC", "1");
    Ok(Running(agent.spawn()?))
}

fn restart(node: &Node, agent: &mut Running, port: u16, skew: &str) -> Result<()> {
    agent.0.kill()?;
    agent.0.wait()?;
    *agent = start(node, port, skew)?;
    Ok(())
}

/// One log an incident: what is printed close together is one incident.
fn print_messages(nodes: &[Node], incidents: usize) -> Result<()> {
    for at in 0..incidents {
        for node in nodes {
            let text = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total \
                        capacity of 79.25 GiB of which 1.10 GiB is free.\n";
            fs::write(node.path("logs").join(format!("job{at}.log")), text)?;
        }
    }
    Ok(())
}

/// Agents are killed wherever they are, the store once.
fn chaos(
    nodes: &[Node],
    agents: &mut [Running],
    store: &mut Store,
    cutter: &Cutter,
    seconds: u64,
) -> Result<u64> {
    let mut random = Random::default();
    let until = Instant::now() + Duration::from_secs(seconds);
    let store_dies = Instant::now() + Duration::from_secs(seconds / 3);
    let store_lives = Instant::now() + Duration::from_secs(2 * seconds / 3);
    let (mut kills, mut is_dead, mut was_dead) = (0, false, false);
    while Instant::now() < until {
        let which = random.within(0..nodes.len() as u64) as usize;
        let skew = SKEWS[random.within(0..SKEWS.len() as u64) as usize];
        restart(&nodes[which], &mut agents[which], cutter.port, skew)?;
        kills += 1;
        if Instant::now() > store_dies && !was_dead {
            store.kill();
            (is_dead, was_dead) = (true, true);
        }
        if Instant::now() > store_lives && is_dead {
            store.run()?;
            is_dead = false;
        }
        thread::sleep(Duration::from_millis(150));
    }
    if is_dead {
        store.run()?;
    }
    Ok(kills)
}

/// Whether an agent has read all logs and uploaded what it found.
pub(super) fn is_settled(node: &Node, incidents: usize) -> bool {
    let journal = fs::read_dir(node.path("state/journal"));
    let waiting =
        journal.into_iter().flatten().flatten().filter(|entry| entry.file_name() != "next");
    let checkpoint = fs::read_to_string(node.path("state/checkpoint.json")).unwrap_or_default();
    // A log is done with when an incident of it was told.
    let told = checkpoint.matches("\"told\":").count() - checkpoint.matches("\"told\":0}").count();
    waiting.count() == 0 && told == incidents
}

/// Each log of each node once.
fn count(copy: &Path, size: Size) -> Result<usize> {
    let mut found: BTreeMap<(String, String), usize> = BTreeMap::new();
    for row in rows(copy)? {
        let log = Path::new(&row.file).file_name().context("a row without a log")?;
        *found.entry((row.node, log.to_string_lossy().into_owned())).or_default() += 1;
    }
    for agent in 0..size.agents {
        for at in 0..size.incidents {
            let key = (format!("n{agent}"), format!("job{at}.log"));
            let times = found.remove(&key).unwrap_or(0);
            ensure!(times == 1, "{key:?} is there {times} times");
        }
    }
    ensure!(found.is_empty(), "nobody printed {found:?}");
    Ok(size.agents * size.incidents)
}
