//! A collector of OpenTelemetry receives incidents and metrics.

mod compare;
mod troubles;

use std::{
    fs::{self, File},
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use anyhow::{Context, Result};
use harness::{
    Build, Held, Scene, SceneStage, empty_folder, environment, root, site_packages, text,
};

use super::{
    place::{Node, Running, rows, wait_for},
    servers::{certificate, free_ports, http_get},
};

const TOKEN: &str = "Bearer fleet-otlp-token";
pub(super) fn received() -> Result<Held> {
    let records = through_a_front()?;
    let troubles = troubles::run()?;
    Ok(Held::new(format!("{records}; {troubles}")))
}

/// Rotel, with what it received in a file.
struct Collector {
    _running: Running,
    printed: PathBuf,
    port: u16,
}

impl Collector {
    fn start(folder: &Path) -> Result<Self> {
        let rotel = site_packages(&environment("otlp")?)?.join("rotel/rotel-agent");
        let (ports, printed) = (free_ports(2)?, folder.join("collector.txt"));
        let mut collector = Command::new(rotel);
        collector.args(["start", "--exporter", "blackhole", "--debug-log-verbosity", "detailed"]);
        collector.args(["--debug-log", "logs", "--debug-log", "metrics"]);
        collector.arg(format!("--otlp-http-endpoint=127.0.0.1:{}", ports[0]));
        collector.arg(format!("--otlp-grpc-endpoint=127.0.0.1:{}", ports[1]));
        let log = File::create(&printed)?;
        collector.stdin(Stdio::null()).stderr(log.try_clone()?).stdout(log);
        let _running = Running(collector.spawn()?);
        let collector = Self { _running, printed, port: ports[0] };
        wait_for("the collector answers", 10, || Ok(http_get(collector.port, "/").is_ok()))?;
        Ok(collector)
    }

    fn printed(&self) -> Result<String> {
        Ok(fs::read_to_string(&self.printed)?)
    }
}

/// TLS, a token, and a receiver that is busy at first: everything arrives, each record once.
fn through_a_front() -> Result<String> {
    let folder = empty_folder("fleet-otlp")?;
    let collector = Collector::start(&folder)?;
    let (front, port) = start_front(&folder, collector.port)?;
    let stage = SceneStage::ready()?;
    let mut scene = Scene::start(&stage, &["--gpus", "2"])?;
    scene.hold(&["1=2048", "--orphan"])?;
    let scraped = free_ports(1)?[0];
    let node = node(
        "fleet-otlp-node",
        &format!(
            "who-seconds = 1\nlisten = '127.0.0.1:{scraped}'\notlp = 'https://127.0.0.1:{port}'\notlp-seconds = 1\n\
             otlp-headers = {{ authorization = '{TOKEN}' }}\n\
             redact = [{{ pattern = 'secret-\\w+', with = 'somebody' }}]\n"
        ),
    )?;
    let log = node.path("logs/pods/secret-ops_llama-6d4cf56db6-x7k2p_uid/vllm");
    fs::create_dir_all(&log)?;
    fs::copy(root().join("tests/fixtures/logs/four-ranks.log"), log.join("0.log"))?;
    let plain = node.agent()?;
    let mut agent = scene.command(plain.get_program());
    agent.args(plain.get_args()).env("SSL_CERT_FILE", folder.join("cert.pem"));
    agent.stdout(Stdio::null()).stderr(File::create(node.path("agent.err"))?);
    let agent = Running(agent.spawn()?);
    wait_for("the incident is archived", 60, || Ok(!rows(&node.path("archive"))?.is_empty()))?;
    wait_for("the collector has it", 10, || {
        let printed = collector.printed()?;
        Ok(printed.contains("LogRecord #") && printed.contains("-> Name: whyoom.gpu.dirty"))
    })?;
    let all = rows(&node.path("archive"))?;
    compare::records(&collector.printed()?, all.first().context("no incident")?)?;
    let mut differences = Vec::new();
    let compared = wait_for("the metrics are those that are scraped", 10, || {
        differences = compare::metrics(&http_get(scraped, "/metrics")?, &collector.printed()?);
        Ok(differences.is_empty())
    });
    compared.with_context(|| differences.join("; "))?;
    drop((agent, front));
    Ok("by TLS and a token, busy at first: a record as its incident, 11 metrics as scraped"
        .to_owned())
}

fn start_front(folder: &Path, receiver: u16) -> Result<(Running, u16)> {
    let file = |name: &str| text(&folder.join(name));
    certificate(folder)?;
    let port = free_ports(1)?[0];
    let mut front = Command::new("python3");
    front.arg(root().join("tests/suites/fleet/otlp/front.py")).arg(port.to_string());
    front.args([&file("cert.pem"), &file("key.pem"), TOKEN]);
    front.arg(format!("http://127.0.0.1:{receiver}"));
    front.stdin(Stdio::null()).stderr(File::create(folder.join("front.txt"))?);
    let front = Running(front.spawn()?);
    let is_there = || Ok(std::net::TcpStream::connect(("127.0.0.1", port)).is_ok());
    wait_for("the front answers", 10, is_there)?;
    Ok((front, port))
}

fn node(name: &str, settings: &str) -> Result<Node> {
    let archive = harness::scratch("fresh")?.join(name).join("archive");
    let whyoom = text(&Build::ready()?.whyoom());
    let base = format!(
        "archive = '{}'\nwhyoom = '{whyoom}'\nnode = 'gpu-017'\nupload-seconds = 1\npoll-seconds = 0.2\n",
        text(&archive)
    );
    Node::new(name, &(base + settings))
}
