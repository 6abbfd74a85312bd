//! Clients that connect to the port of the metrics and take their time, while Prometheus scrapes.

use std::{
    fs,
    io::Write as _,
    net::TcpStream,
    os::unix::fs::PermissionsExt as _,
    path::Path,
    process::Command,
    time::{Duration, Instant},
};

use anyhow::{Context, Result, ensure};
use harness::{Held, empty_folder, text};

use super::super::{
    place::{Node, wait_for},
    servers::{certificate, free_ports},
};

/// Slow connections before each scrape.
const SLOW: usize = 64;
const LONGEST: Duration = Duration::from_secs(1);
const TOKEN: &str = "0123456789abcdef-0123456789abcdef";
/// The first bytes of a greeting of TLS, of which the rest does not come.
const HALF_A_GREETING: &[u8] = &[0x16, 0x03, 0x01, 0x02, 0x00, 0x01];

pub(super) fn run() -> Result<Held> {
    let port = free_ports(1)?[0];
    let folder = empty_folder("fleet-scrapes-keys")?;
    certificate(&folder)?;
    fs::write(folder.join("token"), TOKEN)?;
    fs::set_permissions(folder.join("token"), fs::Permissions::from_mode(0o600))?;
    let settings = format!(
        "archive = '{0}/archive'\nwho-seconds = 0\nlisten = '0.0.0.0:{port}'\ntls-certificate = \
         '{0}/cert.pem'\ntls-key = '{0}/key.pem'\ntoken-file = '{0}/token'\n",
        text(&folder)
    );
    let node = Node::new("fleet-scrapes", &settings)?;
    let _agent = node.start()?;
    wait_for("metrics answer", 30, || Ok(scrape(&folder, port, "127.0.0.1").is_ok()))?;
    let mut slowest = Duration::ZERO;
    // Slow ones come from 127.0.0.1: from another address, and from the same.
    for from in ["127.0.0.2", "127.0.0.1", "127.0.0.2", "127.0.0.1"] {
        let slow = connect(port)?;
        let took = scrape(&folder, port, from)?;
        slowest = slowest.max(took);
        ensure!(took < LONGEST, "{} slow connections: {took:?} for {from}", slow.len());
    }
    Ok(Held::new(format!(
        "{SLOW} slow connections before each scrape over TLS: {:.0} ms at most, from the same and from another address",
        slowest.as_secs_f64() * 1000.0
    )))
}

fn connect(port: u16) -> Result<Vec<TcpStream>> {
    let mut all = Vec::new();
    for number in 0..SLOW {
        let mut connection = TcpStream::connect(("127.0.0.1", port))?;
        if number.is_multiple_of(2) {
            connection.write_all(HALF_A_GREETING)?;
        }
        all.push(connection);
    }
    Ok(all)
}

/// Scrapes from an address of this machine. Returns how long that took.
fn scrape(folder: &Path, port: u16, from: &str) -> Result<Duration> {
    let mut curl = Command::new("curl");
    curl.args(["--silent", "--fail", "--max-time", "20", "--interface", from, "--cacert"]);
    curl.arg(folder.join("cert.pem")).arg("--header").arg(format!("Authorization: Bearer {TOKEN}"));
    curl.arg(format!("https://127.0.0.1:{port}/metrics"));
    let started = Instant::now();
    let answer = curl.output().context("apt-get install curl")?;
    let took = started.elapsed();
    let text = String::from_utf8_lossy(&answer.stdout);
    ensure!(
        answer.status.success() && text.contains("whyoom_agent_log_files"),
        "{}: {text}",
        answer.status
    );
    Ok(took)
}
