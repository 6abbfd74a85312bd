//! What receivers do wrong does not keep an agent.

use std::{
    collections::BTreeMap,
    fs,
    io::{Read as _, Write as _},
    net::TcpListener,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use anyhow::{Result, ensure};
use harness::root;
use rustix::process::{Pid, Signal, kill_process};

use super::{
    super::{
        place::{Node, Running, rows, wait_for},
        servers::{free_ports, http_get},
    },
    node,
};

/// Incidents of an agent whose receiver does wrong.
const INCIDENTS: u64 = 4;
/// How much later they may be in the archive, on a busy machine: an agent that waited for a silent receiver once would be
/// later than this.
const MOST_LATER: Duration = Duration::from_secs(9);
/// An agent that is told to stop does not wait for a receiver.
const MOST_FAREWELL: Duration = Duration::from_secs(6);

/// A receiver that is not there, one that does not answer, one that is always busy.
pub(super) fn run() -> Result<String> {
    let (busy, asked) = busy_receiver()?;
    let silent = TcpListener::bind("127.0.0.1:0")?;
    let started = Instant::now();
    let agents = [
        Agent::start("none", None)?,
        Agent::start("down", Some(free_ports(1)?[0]))?,
        Agent::start("silent", Some(silent.local_addr()?.port()))?,
        Agent::start("busy", Some(busy))?,
    ];
    let mut archived = BTreeMap::new();
    wait_for("all incidents are archived", 90, || {
        for agent in &agents {
            if !archived.contains_key(agent.name) && agent.archived() == INCIDENTS {
                archived.insert(agent.name, started.elapsed().as_secs_f64());
            }
        }
        Ok(archived.len() == agents.len())
    })?;
    let (without, last) = (archived["none"], archived.values().copied().fold(0.0, f64::max));
    let is_kept = last > without + MOST_LATER.as_secs_f64();
    ensure!(!is_kept, "an agent waits for its receiver: {archived:?}");
    for agent in &agents {
        let found = rows(&agent.node.path("archive"))?.len() as u64;
        ensure!(found == INCIDENTS, "{}: {found} incidents in the archive", agent.name);
    }
    for agent in &agents[1..] {
        let what = format!("what is lost is counted: {}", agent.name);
        wait_for(&what, 20, || Ok(agent.lost() > 0))?;
    }
    ensure!(agents[0].lost() == 0, "lost without a receiver");
    let asked = asked.load(Ordering::Relaxed);
    ensure!(asked > 1, "a busy receiver is not asked again");
    let farewell = farewell(agents.map(|agent| agent.running))?.as_secs_f64();
    Ok(format!(
        "a receiver that is down, silent or busy: {INCIDENTS} incidents are archived after {last:.1} s ({without:.1} s \
         without a receiver), the agents end within {farewell:.1} s"
    ))
}

/// An agent with incidents, and with a receiver.
struct Agent {
    name: &'static str,
    node: Node,
    scraped: u16,
    running: Running,
}

impl Agent {
    fn start(name: &'static str, receiver: Option<u16>) -> Result<Self> {
        let scraped = free_ports(1)?[0];
        let otlp = receiver.map(|port| format!("otlp = 'http://127.0.0.1:{port}'\n"));
        let settings = format!("listen = '127.0.0.1:{scraped}'\nwho-seconds = 0\n");
        let settings = settings + &otlp.unwrap_or_default();
        let node = node(&format!("fleet-otlp-{name}"), &settings)?;
        for number in 0..INCIDENTS {
            let log = node.path("logs").join(format!("{number}.log"));
            fs::copy(root().join("tests/fixtures/logs/four-ranks.log"), log)?;
        }
        let running = node.start()?;
        Ok(Self { name, node, scraped, running })
    }

    /// What it says that it uploaded.
    fn archived(&self) -> u64 {
        self.count("whyoom_agent_archived_incidents_total ")
    }

    /// What it says that it could not send.
    fn lost(&self) -> u64 {
        self.count("whyoom_agent_failures_total{what=\"otlp\"} ")
    }

    /// Nothing is counted before it answers.
    fn count(&self, series: &str) -> u64 {
        let answer = http_get(self.scraped, "/metrics").unwrap_or_default();
        let count = answer.lines().find_map(|line| line.strip_prefix(series)?.parse().ok());
        count.unwrap_or_default()
    }
}

/// It answers 503, to whatever it is asked.
fn busy_receiver() -> Result<(u16, Arc<AtomicU64>)> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let port = listener.local_addr()?.port();
    let asked = Arc::new(AtomicU64::new(0));
    let counted = asked.clone();
    thread::spawn(move || {
        for mut connection in listener.incoming().flatten() {
            counted.fetch_add(1, Ordering::Relaxed);
            let _ = connection.read(&mut [0; 1 << 16]);
            let answer = "HTTP/1.1 503 Busy\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
            let _ = connection.write_all(answer.as_bytes());
        }
    });
    Ok((port, asked))
}

/// How long the last of them takes to end when all are told to.
fn farewell(mut agents: [Running; 4]) -> Result<Duration> {
    let told = Instant::now();
    for agent in &agents {
        let pid = Pid::from_child(&agent.0);
        kill_process(pid, Signal::TERM)?;
    }
    wait_for("the agents end", MOST_FAREWELL.as_secs(), || {
        let mut ended = true;
        for agent in &mut agents {
            ended &= agent.0.try_wait()?.is_some();
        }
        Ok(ended)
    })?;
    Ok(told.elapsed())
}
