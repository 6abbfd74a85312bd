//! Stores that lie. Nothing that is acknowledged is lost by it: with an honest store, each incident is there once.

use std::{
    collections::BTreeMap,
    fs,
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::{TcpListener, TcpStream},
    path::Path,
    process::Command,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    thread,
    time::Duration,
};

use anyhow::{Context, Result, ensure};
use harness::{Build, CProgram, must_succeed, root};

use super::{Attacked, Bystander, small};
use crate::fleet::{
    place::{Running, rows, wait_for},
    servers::Store,
    store::is_settled,
};

/// How a store lies.
#[derive(Clone, Copy, Debug)]
enum Lie {
    /// It says that it has written, and has nothing.
    Nothing,
    /// It says that something is there already, and has nothing.
    Exists,
    /// It says that it has written, and hands out something else.
    Other,
    /// It says that it has written, and hands out as many zeros as an object may have.
    Endless,
    /// It fails.
    Fails,
    /// It does not answer.
    Hangs,
}

const LIES: [Lie; 6] =
    [Lie::Nothing, Lie::Exists, Lie::Other, Lie::Endless, Lie::Fails, Lie::Hangs];
const INCIDENTS: usize = 3;
/// What is said to come, just below what a reader takes for an object.
const ENDLESS: u64 = (1 << 30) - 1;

/// A store that lies.
struct Liar {
    port: u16,
    /// What it was asked.
    asked: Arc<AtomicU64>,
}

impl Liar {
    fn start(lie: Lie) -> Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let port = listener.local_addr()?.port();
        let asked = Arc::new(AtomicU64::new(0));
        let counted = asked.clone();
        thread::spawn(move || {
            for connection in listener.incoming().flatten() {
                let counted = counted.clone();
                thread::spawn(move || serve(&connection, lie, &counted));
            }
        });
        Ok(Self { port, asked })
    }
}

/// Answers as long as the connection is asked.
fn serve(connection: &TcpStream, lie: Lie, asked: &AtomicU64) -> Result<()> {
    let mut reader = BufReader::new(connection);
    loop {
        let (mut method, mut length) = (String::new(), 0);
        loop {
            let mut line = String::new();
            ensure!(reader.read_line(&mut line)? > 0, "it has gone");
            let lower = line.trim().to_ascii_lowercase();
            if method.is_empty() {
                method = line.split(' ').next().unwrap_or_default().to_owned();
            }
            if let Some(value) = lower.strip_prefix("content-length:") {
                length = value.trim().parse()?;
            }
            if lower.is_empty() {
                break;
            }
        }
        std::io::copy(&mut reader.by_ref().take(length), &mut std::io::sink())?;
        asked.fetch_add(1, Ordering::Relaxed);
        answer(connection, lie, &method)?;
    }
}

fn answer(mut connection: &TcpStream, lie: Lie, method: &str) -> Result<()> {
    let other = fs::read(root().join("tests/fixtures/incidents/version-1.parquet"))?;
    let (status, body): (&str, &[u8]) = match (lie, method) {
        (Lie::Hangs, _) => {
            thread::sleep(Duration::from_secs(600));
            return Ok(());
        }
        (Lie::Fails, _) => ("500 Internal Server Error", b""),
        (Lie::Exists, "PUT") => ("412 Precondition Failed", b""),
        (_, "PUT") => ("200 OK", b""),
        (Lie::Other, _) => ("200 OK", &other),
        (Lie::Endless, _) => ("200 OK", b""),
        _ => ("404 Not Found", b""),
    };
    let is_endless = matches!(lie, Lie::Endless) && method != "PUT";
    let length = if is_endless { ENDLESS } else { body.len() as u64 };
    write!(
        connection,
        "HTTP/1.1 {status}\r\nContent-Length: {length}\r\nETag: \"0\"\r\nLast-Modified: Wed, 18 Nov 2026 03:04:05 \
         GMT\r\n\r\n"
    )?;
    connection.write_all(body)?;
    if is_endless {
        std::io::copy(&mut std::io::repeat(0).take(ENDLESS), &mut connection)?;
    }
    Ok(())
}

pub(super) fn run(bystander: &Bystander) -> Result<String> {
    let folder = harness::empty_folder("fleet-liars")?;
    let whyoom = CProgram::new("tests/scenarios/fleet/verdict.c")?.built()?;
    let mut nodes = Vec::new();
    let mut agents = Vec::new();
    for lie in LIES {
        let name = format!("{lie:?}").to_lowercase();
        let settings = format!("archive = '{}'\nnode = '{name}'\n", Store::archive());
        let attacked = Attacked::new(&format!("fleet-liar-{name}"), &whyoom, &settings)?;
        for number in 0..INCIDENTS {
            fs::write(attacked.log(&format!("job{number}.log")), bystander.blame())?;
        }
        let liar = Liar::start(lie)?;
        agents.push(attacked.start_with(&Store::variables(liar.port))?);
        nodes.push((attacked, liar));
    }
    for (attacked, liar) in &nodes {
        wait_for("incidents are acknowledged and the store is asked", 30, || {
            let told = attacked.metric("whyoom_oom_total")?;
            Ok(told == INCIDENTS as u64 && liar.asked.load(Ordering::Relaxed) > 0)
        })?;
    }
    // Time enough to believe it.
    thread::sleep(Duration::from_secs(4));
    let mut most = String::new();
    for ((attacked, _), agent) in nodes.iter().zip(&agents) {
        let archived = attacked.metric("whyoom_agent_archived_incidents_total")?;
        ensure!(
            archived == 0,
            "{}: {archived} incidents are thought to be archived",
            attacked.name()
        );
        ensure!(
            attacked.metric("whyoom_agent_journal_bytes")? > 0,
            "{}: the journal is empty",
            attacked.name()
        );
        most = most.max(small(agent).with_context(|| attacked.name())?);
    }
    drop(agents);
    let store = Store::start(&folder.join("store"))?;
    let _agents = nodes
        .iter()
        .map(|(attacked, _)| attacked.start_with(&Store::variables(store.port())))
        .collect::<Result<Vec<Running>>>()?;
    wait_for("the journals are empty", 40, || {
        Ok(nodes.iter().all(|(attacked, _)| is_settled(&attacked.node, INCIDENTS)))
    })?;
    let copy = folder.join("copy");
    let mut command = Command::new(Build::fleet()?);
    command.args(["copy", &Store::archive()]).arg(&copy).envs(Store::variables(store.port()));
    must_succeed(&mut command)?;
    check_each_once(&copy)?;
    Ok(format!(
        "{} stores that lie, {INCIDENTS} incidents each: each is archived once; {most} at most",
        LIES.len()
    ))
}

fn check_each_once(copy: &Path) -> Result<()> {
    let mut found: BTreeMap<(String, String), usize> = BTreeMap::new();
    for row in rows(copy)? {
        *found.entry((row.node, row.file)).or_default() += 1;
    }
    ensure!(
        found.len() == LIES.len() * INCIDENTS,
        "{} logs of {}",
        found.len(),
        LIES.len() * INCIDENTS
    );
    ensure!(found.values().all(|times| *times == 1), "not each once: {found:?}");
    Ok(())
}
