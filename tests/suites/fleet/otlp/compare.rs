//! What a collector printed, beside what the archive has and what is scraped.

use std::collections::BTreeMap;

use anyhow::{Context, Result, ensure};
use whyoom_incident::Incident;

/// What the collector prints of metrics: OpenTelemetry's name, its kind, and the line of `/metrics` that it is.
const METRICS: [(&str, &str, &str); 11] = [
    ("whyoom.oom", "Sum", "whyoom_oom_total{"),
    ("whyoom.gpu.orphaned", "Gauge", "whyoom_gpu_orphaned_bytes{gpu=\"1\"}"),
    ("whyoom.gpu.unaccounted", "Gauge", "whyoom_gpu_unaccounted_bytes{gpu=\"1\"}"),
    ("whyoom.gpu.dirty", "Gauge", "whyoom_gpu_dirty{gpu=\"1\"}"),
    ("whyoom.agent.archived_incidents", "Sum", "whyoom_agent_archived_incidents_total"),
    ("whyoom.agent.dismissed_messages", "Sum", "whyoom_agent_dismissed_messages_total"),
    ("whyoom.agent.log_bytes", "Sum", "whyoom_agent_log_bytes_total"),
    ("whyoom.agent.passed_over_files", "Gauge", "whyoom_agent_passed_over_files"),
    ("whyoom.agent.lost_messages", "Sum", "whyoom_agent_lost_messages_total"),
    ("whyoom.agent.log_files", "Gauge", "whyoom_agent_log_files"),
    ("whyoom.agent.journal", "Gauge", "whyoom_agent_journal_bytes"),
];

/// `-> NAME: Str(TEXT)`, as the collector prints it.
fn attributes(lines: &str) -> BTreeMap<&str, &str> {
    lines.lines().filter_map(attribute).collect()
}

fn attribute(line: &str) -> Option<(&str, &str)> {
    let (name, value) = line.trim().strip_prefix("-> ")?.split_once(": ")?;
    let (_, value) = value.split_once('(')?;
    Some((name, value.strip_suffix(')')?))
}

/// What an operator sees is what the archive has.
pub(super) fn records(printed: &str, incident: &Incident) -> Result<()> {
    ensure!(printed.matches("LogRecord #").count() == 1, "not one record: {printed}");
    ensure!(!printed.contains("secret-ops"), "the site's redaction is passed by: {printed}");
    let (before, after) = printed.split_once("LogRecord #0").context("no record")?;
    let record = after.split("Flags:").next().unwrap_or_default();
    let resource = &before[before.rfind("ResourceLog #").context("no resource")?..];
    let (told, by) = (attributes(record), attributes(resource));
    let number = |number: Option<i64>| number.map(|number| number.to_string()).unwrap_or_default();
    for (name, wanted) in [
        ("whyoom.incident.id", incident.id.clone()),
        ("whyoom.cause", "working-set".to_owned()),
        ("whyoom.strength", incident.strength.clone()),
        ("whyoom.requested_bytes", number(incident.requested_bytes)),
        ("whyoom.capacity_bytes", number(incident.capacity_bytes)),
        ("whyoom.device", number(incident.device)),
        ("whyoom.has_history", "false".to_owned()),
        ("whyoom.workload", "llama".to_owned()),
        ("log.file.path", incident.file.clone()),
        ("k8s.namespace.name", "somebody".to_owned()),
        ("k8s.pod.name", "llama-6d4cf56db6-x7k2p".to_owned()),
        ("k8s.container.name", "vllm".to_owned()),
        ("k8s.node.name", "gpu-017".to_owned()),
        ("exception.type", "torch.OutOfMemoryError".to_owned()),
    ] {
        ensure!(
            !wanted.is_empty() && told.get(name) == Some(&&*wanted),
            "{name}: {wanted}: {record}"
        );
    }
    let said = told.get("exception.message").copied().unwrap_or_default();
    ensure!(said.starts_with("CUDA out of memory. Tried to allocate"), "{record}");
    for line in [
        format!("Body: Str({})", incident.headline),
        format!("\nTimestamp: {}", incident.time * 1000),
        "SEVERITY_NUMBER_ERROR(17)".to_owned(),
    ] {
        ensure!(record.contains(&line), "no {line}: {record}");
    }
    ensure!(by.get("service.name") == Some(&"whyoom-fleet"), "{resource}");
    ensure!(by.get("host.name") == Some(&"gpu-017"), "{resource}");
    ensure!(
        by.contains_key("service.version") && by.contains_key("service.instance.id"),
        "{resource}"
    );
    Ok(())
}

/// Each family of `/metrics` that has a value, with its value there.
pub(super) fn metrics(scraped: &str, printed: &str) -> Vec<String> {
    let last = printed.rfind("ResourceMetrics #").unwrap_or_default();
    let printed = &printed[last..];
    let values = scraped.lines().filter(|line| line.starts_with("whyoom_"));
    let named = |line: &str| METRICS.iter().any(|(_, _, series)| line.starts_with(family(series)));
    let unknown =
        values.clone().filter(|line| !named(line)).map(|line| format!("only scraped: {line}"));
    let mut wrong: Vec<String> = unknown.collect();
    for (name, kind, series) in METRICS {
        let value = values.clone().find_map(|line| line.strip_prefix(series)?.rsplit(' ').next());
        let told = told_value(printed, name, kind, series.contains("gpu=\"1\""));
        if value.is_none() || value.and_then(|value| value.parse::<f64>().ok()) != told {
            wrong.push(format!("{name}: {value:?} is scraped, {told:?} is told"));
        }
    }
    let oom = printed.split("-> Name: whyoom.oom\n").nth(1).unwrap_or_default();
    let oom = attributes(oom.split("Metric #").next().unwrap_or_default());
    let wanted = [("cause", "working-set"), ("namespace", "somebody"), ("workload", "llama")];
    if oom != BTreeMap::from(wanted) {
        wrong.push(format!("whyoom.oom has {oom:?}"));
    }
    wrong
}

/// The name of a series without its labels.
fn family(series: &str) -> &str {
    series.split('{').next().unwrap_or(series)
}

fn told_value(printed: &str, name: &str, kind: &str, of_gpu: bool) -> Option<f64> {
    let metric = printed.split(&format!("-> Name: {name}\n")).nth(1)?.split("Metric #").next()?;
    let (described, points) = metric.split_once("NumberDataPoints #")?;
    let is_counted = described.contains("IsMonotonic: true")
        && described.contains("AGGREGATION_TEMPORALITY_CUMULATIVE")
        && !points.contains("StartTimestamp: 0\n");
    let is_right =
        described.contains(&format!("DataType: {kind}\n")) && is_counted == (kind == "Sum");
    let mut points = points.split("NumberDataPoints #");
    let point = points.find(|point| !of_gpu || attributes(point).get("gpu") == Some(&"1"))?;
    let value = point.lines().find_map(|line| line.strip_prefix("Value: "))?;
    value.parse().ok().filter(|_| is_right)
}
