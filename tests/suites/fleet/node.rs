//! What an agent costs a node.

use std::{
    fs::{self, File},
    io::Write as _,
    path::Path,
    process::Stdio,
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context, Result, ensure};
use harness::{Build, Held, Scene, SceneStage, root, text};
use whyoom_archive::Archive;

use super::{
    place::{Node, Running, rows, wait_for},
    servers::{free_ports, http_get},
};

const PROCESSES: usize = 200;
/// Logs of a node, and what is written to all of them in a second.
const LOGS: usize = 50;
const BYTES_PER_SECOND: usize = 20 << 20;
const SECONDS: u64 = 60;
/// Of a core, beyond what reading alone takes.
const MOST_SHARE: f64 = 0.01;
const MOST_MEMORY: u64 = 40 << 20;
/// Incidents of a burst, in the gate and at full size.
pub(super) const GATE_BURST: usize = 100;
pub(super) const DEEP_BURST: usize = 500;

/// Twenty megabytes of logs a second, eight GPUs, two hundred processes.
pub(super) fn cost() -> Result<Held> {
    let stage = SceneStage::ready()?;
    let mut scene = Scene::start(&stage, &["--gpus", "8"])?;
    scene.hold_as(&stage.holder, &["7=0", "--crowd", &PROCESSES.to_string()], PROCESSES)?;
    let archive = harness::fresh("fleet-cost-archive")?;
    let node = Node::new(
        "fleet-cost",
        &format!(
            "archive = '{}'\nwhyoom = '{}'\nupload-seconds = 1\n",
            text(&archive),
            text(&Build::ready()?.whyoom())
        ),
    )?;
    let plain = node.agent()?;
    let mut agent = scene.command(plain.get_program());
    agent
        .args(plain.get_args())
        .stdout(Stdio::null())
        .stderr(File::create(node.path("agent.err"))?);
    let agent = Running(agent.spawn()?);
    let pid = agent.0.id();
    let mut files = (0..LOGS)
        .map(|number| File::create(node.path("logs").join(format!("{number}.log"))))
        .collect::<Result<Vec<_>, _>>()?;
    thread::sleep(Duration::from_secs(12));
    let piece = piece(BYTES_PER_SECOND / LOGS / 5);
    let before = processor_seconds(pid)?;
    let mut written = 0;
    let started = Instant::now();
    while started.elapsed() < Duration::from_secs(SECONDS) {
        for file in &mut files {
            file.write_all(piece.as_bytes())?;
            written += piece.len();
        }
        let due = Duration::from_secs_f64(written as f64 / BYTES_PER_SECOND as f64);
        thread::sleep(due.saturating_sub(started.elapsed()));
    }
    thread::sleep(Duration::from_secs(2));
    let seconds = started.elapsed().as_secs_f64();
    let used = processor_seconds(pid)? - before;
    let reading = reading_seconds(&node)?;
    let share = (used - reading).max(0.0) / seconds;
    let memory = peak_of(pid)?;
    let bytes = incident_bytes(&node, &archive)?;
    let said = format!(
        "{:.1} MB/s of {LOGS} logs, 8 GPUs, {PROCESSES} processes: {:.2} % of a core, {:.2} % beyond reading (at most \
         {:.0} %), {:.1} MiB at most resident (at most 40); an incident here is an object of {:.1} KiB",
        written as f64 / seconds / 1e6,
        100.0 * used / seconds,
        100.0 * share,
        100.0 * MOST_SHARE,
        memory as f64 / f64::from(1 << 20),
        bytes as f64 / 1024.0
    );
    ensure!(share <= MOST_SHARE && memory <= MOST_MEMORY, "{said}");
    Ok(Held::new(said))
}

/// What one incident of such a node takes in the archive.
fn incident_bytes(node: &Node, archive: &Path) -> Result<u64> {
    let message = fs::read_to_string(root().join("tests/fixtures/logs/four-ranks.log"))?;
    fs::write(node.path("logs/failing.log"), message)?;
    wait_for("an incident is archived", 60, || Ok(rows(archive)?.len() == 1))?;
    let archive = Archive::open(&text(archive))?;
    let paths = archive.objects(|_| true)?;
    paths.iter().map(|path| Ok(archive.bytes(path)?.len() as u64)).sum()
}

/// Lines as training writes them, some with words of messages that are none.
fn piece(bytes: usize) -> String {
    let mut piece = String::new();
    let mut step = 0_u64;
    while piece.len() < bytes {
        let words = if step.is_multiple_of(50) { "enough memory for" } else { "allocated, out of" };
        piece += &format!(
            "[rank{}]: 2026-11-15 02:00:{:02} INFO trainer.py:88 step {step} loss 0.{step:04} memory 41.2/79.2 GiB {words} \
             {} samples\n",
            step % 8,
            step % 60,
            step * 32
        );
        step += 1;
    }
    piece
}

/// What it takes to read the same files and do nothing.
fn reading_seconds(node: &Node) -> Result<f64> {
    use std::os::unix::fs::FileExt as _;
    let before = processor_seconds(std::process::id())?;
    let mut buffer = vec![0; 256 << 10];
    for entry in fs::read_dir(node.path("logs"))? {
        let (file, mut at) = (File::open(entry?.path())?, 0);
        loop {
            let read = file.read_at(&mut buffer, at)?;
            if read == 0 {
                break;
            }
            at += read as u64;
        }
    }
    Ok(processor_seconds(std::process::id())? - before)
}

/// The time of a process on a processor, its threads' and its children's.
fn processor_seconds(pid: u32) -> Result<f64> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat"))?;
    let (_, fields) = stat.rsplit_once(") ").context("no name")?;
    let fields: Vec<&str> = fields.split(' ').collect();
    let ticks: u64 = fields[11..15].iter().map(|field| field.parse::<u64>().unwrap_or(0)).sum();
    // The kernel tells hundredths of a second.
    Ok(ticks as f64 / 100.0)
}

/// The most memory that a process has had.
pub(super) fn peak_of(pid: u32) -> Result<u64> {
    let status = fs::read_to_string(format!("/proc/{pid}/status"))?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).context("no peak")?;
    let kib: u64 = line.trim().trim_end_matches(" kB").parse()?;
    Ok(kib << 10)
}

/// Many incidents at once: all are told, and metrics answer meanwhile.
pub(super) fn burst(incidents: usize) -> Result<Held> {
    let ports = free_ports(1)?;
    let archive = harness::fresh("fleet-burst-archive")?;
    let node = Node::new(
        "fleet-burst",
        &format!(
            "archive = '{}'\nwhyoom = '{}'\nwho-seconds = 0\nupload-seconds = 1\npoll-seconds = 0.5\nlisten = \
             '127.0.0.1:{}'\n",
            text(&archive),
            text(&Build::ready()?.whyoom()),
            ports[0]
        ),
    )?;
    let agent = node.start()?;
    wait_for("metrics answer", 30, || Ok(http_get(ports[0], "/healthz").is_ok()))?;
    let message = fs::read_to_string(root().join("tests/fixtures/logs/four-ranks.log"))?;
    for number in 0..incidents {
        fs::write(node.path("logs").join(format!("{number}.log")), &message)?;
    }
    let started = Instant::now();
    let mut slowest = Duration::ZERO;
    wait_for("all are in the archive", 240, || {
        let asked = Instant::now();
        let text = http_get(ports[0], "/metrics")?;
        slowest = slowest.max(asked.elapsed());
        let line = text
            .lines()
            .find_map(|line| line.strip_prefix("whyoom_agent_archived_incidents_total "));
        Ok(line.is_some_and(|count| {
            count.trim().parse::<usize>().is_ok_and(|count| count >= incidents)
        }))
    })?;
    let seconds = started.elapsed().as_secs_f64();
    let memory = peak_of(agent.0.id())?;
    let found = rows(&archive)?.len();
    let said = format!(
        "{incidents} incidents told in {seconds:.0} s, metrics answer in {:.0} ms at most, {:.1} MiB resident",
        slowest.as_secs_f64() * 1e3,
        memory as f64 / f64::from(1 << 20)
    );
    ensure!(found == incidents && slowest < Duration::from_secs(1), "{said}; {found} archived");
    Ok(Held::new(said))
}
