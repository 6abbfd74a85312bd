//! Prometheus scrapes an agent, a rule of ours fires, and Alertmanager has the alert.

use std::{
    fs::{self, File},
    path::Path,
    process::{Command, Stdio},
};

use anyhow::{Context, Result, ensure};
use harness::{Build, Held, Scene, SceneStage, empty_folder, must_succeed, root, text};
use serde_json::Value;

use super::{
    place::{Node, Running, wait_for},
    servers::{free_ports, http_get},
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
    let ports = free_ports(3)?;
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
    let checked = Command::new("promtool")
        .args(["check", "metrics"])
        .stdin(File::open(folder.join("whyoom.prom"))?)
        .output()?;
    let said = String::from_utf8_lossy(&checked.stderr);
    ensure!(!said.contains("error while linting"), "promtool: {said}");
    Ok(Held::new(
        "an orphan on GPU 1 and an incident: scraped, counted, and an alert in Alertmanager",
    ))
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
    let start = |name: &str, words: &[String]| -> Result<Running> {
        let mut server = Command::new(name);
        server.args(words).current_dir(folder).stdin(Stdio::null()).stdout(Stdio::null());
        let log = File::create(folder.join(format!("{name}.log")))?;
        let server =
            server.stderr(log).spawn().with_context(|| format!("apt-get install {name}"))?;
        Ok(Running(server))
    };
    Ok([
        start(
            "prometheus",
            &[
                "--config.file=prometheus.yml".into(),
                "--storage.tsdb.path=data".into(),
                format!("--web.listen-address=127.0.0.1:{}", ports[1]),
            ],
        )?,
        start(
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
