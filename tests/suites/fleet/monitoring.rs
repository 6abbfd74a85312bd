//! Prometheus scrapes an agent, a rule of ours fires, and Alertmanager has the alert.

use std::{
    fs::{self, File},
    net::TcpStream,
    os::unix::fs::PermissionsExt as _,
    path::Path,
    process::{Command, Stdio},
};

use anyhow::{Context, Result, ensure};
use harness::{Build, Held, Scene, SceneStage, empty_folder, must_succeed, root, text};
use serde_json::Value;

use super::{
    place::{Node, Running, wait_for},
    servers::{certificate, free_ports, http_get},
};

const RULES: &str = "deploy/prometheus/alerts.yml";

/// The rules are right, by their own tests.
pub(super) fn rules() -> Result<Held> {
    let folder = root().join("deploy/prometheus");
    let promtool = |words: &[&str]| {
        must_succeed(
            Command::new("promtool").args(words).current_dir(&folder).stdout(Stdio::null()),
        )
    };
    promtool(&["check", "rules", "alerts.yml"]).context("apt-get install prometheus")?;
    promtool(&["test", "rules", "alerts.test.yml"])?;
    let text = fs::read_to_string(folder.join("alerts.yml"))?;
    let tests = fs::read_to_string(folder.join("alerts.test.yml"))?;
    let names: Vec<&str> = text.lines().filter_map(|line| line.split("- alert: ").nth(1)).collect();
    for name in &names {
        ensure!(tests.contains(name), "{name} has no test");
    }
    let dashboard: Value =
        serde_json::from_str(&fs::read_to_string(root().join("deploy/grafana/dashboard.json"))?)?;
    let panels = dashboard["panels"].as_array().map_or(0, Vec::len);
    Ok(Held::new(format!("{} rules with tests, a dashboard of {panels} panels", names.len())))
}

pub(super) fn prometheus() -> Result<Held> {
    let stage = SceneStage::ready()?;
    let mut scene = Scene::start(&stage, &["--gpus", "2"])?;
    let orphan = scene.hold(&["1=2048", "--orphan"])?;
    let ports = free_ports(4)?;
    let folder = empty_folder("fleet-prometheus")?;
    let node = Node::new(
        "fleet-monitored",
        &format!(
            "archive = '{}/archive'\nwhyoom = '{}'\nwho-seconds = 1\npoll-seconds = 0.2\nlisten = '127.0.0.1:{}'\n\
             textfile = '{0}/whyoom.prom'\n",
            text(&folder),
            text(&Build::ready()?.whyoom()),
            ports[0]
        ),
    )?;
    let plain = node.agent()?;
    let mut agent = scene.command(plain.get_program());
    agent.args(plain.get_args()).stdout(Stdio::null());
    agent.stderr(File::create(node.path("agent.err"))?);
    let _agent = Running(agent.spawn()?);
    let message = fs::read_to_string(root().join("tests/fixtures/logs/four-ranks.log"))?;
    let log = node.path("logs/pods/team-a_llama-6d4cf56db6-x7k2p_uid/vllm");
    fs::create_dir_all(&log)?;
    fs::write(log.join("0.log"), message)?;
    let _servers = start_servers(&folder, &ports)?;
    let series =
        "whyoom_oom_total{cause=\"working-set\",namespace=\"team-a\",workload=\"llama\"} 1";
    wait_for("the agent counts", 60, || {
        Ok(http_get(ports[0], "/metrics").is_ok_and(|text| text.contains(series)))
    })?;
    wait_for("Prometheus has it", 60, || {
        let answer =
            http_get(ports[1], "/api/v1/query?query=sum(whyoom_oom_total)").unwrap_or_default();
        Ok(answer.contains("\"1\"]"))
    })?;
    let mut alert = String::new();
    wait_for("Alertmanager has the alert", 60, || {
        alert = http_get(ports[2], "/api/v2/alerts").unwrap_or_default();
        Ok(alert.contains("WhyoomGpuDirty"))
    })?;
    ensure!(alert.contains("\"gpu\":\"1\""), "not of the GPU with the orphan {orphan}: {alert}");
    ensure!(!alert.contains("\"gpu\":\"0\""), "of a clean GPU, too: {alert}");
    let file = fs::read_to_string(folder.join("whyoom.prom"))?;
    ensure!(file.contains("whyoom_gpu_dirty{gpu=\"1\"} 1"), "the textfile: {file}");
    let exporter = [
        "--collector.disable-defaults".to_owned(),
        "--collector.textfile".to_owned(),
        format!("--collector.textfile.directory={}", text(&folder)),
        format!("--web.listen-address=127.0.0.1:{}", ports[3]),
    ];
    let _exporter = start_server(&folder, "prometheus-node-exporter", &exporter)?;
    let mut shown = String::new();
    wait_for("node-exporter answers", 30, || {
        shown = http_get(ports[3], "/metrics").unwrap_or_default();
        Ok(shown.starts_with("HTTP/1.1 200"))
    })?;
    ensure!(shown.contains("whyoom_gpu_dirty{gpu=\"1\"} 1"), "node-exporter: {shown}");
    let is_read = shown.contains("\nnode_textfile_scrape_error 0");
    ensure!(is_read, "node-exporter cannot read the textfile");
    let checked = Command::new("promtool")
        .args(["check", "metrics"])
        .stdin(File::open(folder.join("whyoom.prom"))?)
        .output()?;
    let said = String::from_utf8_lossy(&checked.stderr);
    ensure!(!said.contains("error while linting"), "promtool: {said}");
    Ok(Held::new(
        "an orphan on GPU 1 and an incident: scraped, counted, an alert in Alertmanager, and the same from node-exporter",
    ))
}

/// Off the loopback: over TLS, with a token, or not at all.
pub(super) fn guarded() -> Result<Held> {
    let ports = free_ports(2)?;
    let folder = empty_folder("fleet-guarded-servers")?;
    certificate(&folder)?;
    let token = "0123456789abcdef-0123456789abcdef";
    fs::write(folder.join("token"), token)?;
    fs::set_permissions(folder.join("token"), fs::Permissions::from_mode(0o600))?;
    let node = Node::new(
        "fleet-guarded",
        &format!(
            "archive = '{0}/archive'\nwho-seconds = 0\nlisten = '0.0.0.0:{1}'\ntls-certificate = '{0}/cert.pem'\n\
             tls-key = '{0}/key.pem'\ntoken-file = '{0}/token'\n",
            text(&folder),
            ports[0]
        ),
    )?;
    let _agent = node.start()?;
    wait_for("it listens", 30, || Ok(TcpStream::connect(("127.0.0.1", ports[0])).is_ok()))?;
    let ask = |scheme: &str, header: &str| -> Result<String> {
        let mut curl = Command::new("curl");
        curl.args(["--silent", "--max-time", "10", "--output", "/dev/null"]);
        curl.args(["--write-out", "%{http_code}", "--header", header, "--cacert"]);
        curl.arg(folder.join("cert.pem"));
        curl.arg(format!("{scheme}://127.0.0.1:{}/metrics", ports[0]));
        Ok(String::from_utf8_lossy(&curl.output().context("apt-get install curl")?.stdout).into())
    };
    let bearer = |token: &str| format!("Authorization: Bearer {token}");
    for (scheme, header, wanted) in [
        ("http", bearer(token), "000"),
        ("https", "X-None: 1".to_owned(), "401"),
        ("https", bearer(""), "401"),
        ("https", bearer(&token[1..]), "401"),
        ("https", bearer(&token.replace('f', "e")), "401"),
        ("https", bearer(token), "200"),
    ] {
        let status = ask(scheme, &header)?;
        ensure!(status == wanted, "{scheme} with {header:?}: {status} and not {wanted}");
    }
    let config = format!(
        "scrape_configs: [{{job_name: guarded, scrape_interval: 1s, scheme: https, tls_config: {{ca_file: cert.pem}}, \
         authorization: {{credentials_file: token}}, static_configs: [{{targets: ['127.0.0.1:{}']}}]}}]\n",
        ports[0]
    );
    fs::write(folder.join("prometheus.yml"), config)?;
    let _prometheus = start_prometheus(&folder, ports[1])?;
    wait_for("Prometheus scrapes it", 60, || {
        let answer = http_get(ports[1], "/api/v1/query?query=up").unwrap_or_default();
        Ok(answer.contains("\"1\"]"))
    })?;
    Ok(Held::new(
        "off the loopback: nothing without TLS, 401 without the token; Prometheus scrapes with both",
    ))
}

fn start_prometheus(folder: &Path, port: u16) -> Result<Running> {
    let words = [
        "--config.file=prometheus.yml".to_owned(),
        "--storage.tsdb.path=data".to_owned(),
        format!("--web.listen-address=127.0.0.1:{port}"),
    ];
    start_server(folder, "prometheus", &words)
}

fn start_server(folder: &Path, name: &str, words: &[String]) -> Result<Running> {
    let mut server = Command::new(name);
    server.args(words).current_dir(folder).stdin(Stdio::null()).stdout(Stdio::null());
    let log = File::create(folder.join(format!("{name}.log")))?;
    let server = server.stderr(log).spawn().with_context(|| format!("apt-get install {name}"))?;
    Ok(Running(server))
}

/// Our rules, without the minutes that they wait.
fn start_servers(folder: &Path, ports: &[u16]) -> Result<[Running; 2]> {
    let rules = fs::read_to_string(root().join(RULES))?;
    let at_once: Vec<&str> =
        rules.lines().filter(|line| !line.trim_start().starts_with("for:")).collect();
    ensure!(at_once.len() < rules.lines().count(), "no rule waits");
    fs::write(folder.join("alerts.yml"), at_once.join("\n"))?;
    let config = format!(
        "global: {{scrape_interval: 1s, evaluation_interval: 1s}}\nrule_files: [alerts.yml]\n\
         alerting: {{alertmanagers: [{{static_configs: [{{targets: ['127.0.0.1:{}']}}]}}]}}\n\
         scrape_configs: [{{job_name: whyoom-fleet, honor_labels: true, static_configs: [{{targets: ['127.0.0.1:{}']}}]}}]\n",
        ports[2], ports[0]
    );
    fs::write(folder.join("prometheus.yml"), config)?;
    let receiver = "route: {receiver: none, group_wait: 0s}\nreceivers: [{name: none}]\n";
    fs::write(folder.join("alertmanager.yml"), receiver)?;
    Ok([
        start_prometheus(folder, ports[1])?,
        start_server(
            folder,
            "prometheus-alertmanager",
            &[
                "--config.file=alertmanager.yml".into(),
                "--storage.path=alerts".into(),
                "--cluster.listen-address=".into(),
                format!("--web.listen-address=127.0.0.1:{}", ports[2]),
            ],
        )?,
    ])
}
