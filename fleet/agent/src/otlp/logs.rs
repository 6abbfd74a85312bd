//! An incident as a log record.

use serde_json::Value as Json;
use whyoom_incident::{COLUMNS, Incident, Source};

use super::proto::{AnyValue, KeyValue, LogRecord, Value, attribute, text};

/// ERROR, as OpenTelemetry counts.
const SEVERITY: i32 = 17;
const EVENT: &str = "whyoom.incident";

/// The record. What an incident holds has passed redaction.
pub(super) fn record(incident: &Incident) -> LogRecord {
    let time = u64::try_from(incident.time).unwrap_or_default().saturating_mul(1000);
    let mut attributes = exception(incident);
    attributes.extend(of_node(incident));
    attributes.extend(columns(incident));
    LogRecord {
        time_unix_nano: time,
        observed_time_unix_nano: time,
        severity_number: SEVERITY,
        severity_text: "ERROR".to_owned(),
        body: Some(text(&incident.headline)),
        attributes,
        event_name: EVENT.to_owned(),
    }
}

/// Every column that is not told elsewhere.
fn columns(incident: &Incident) -> Vec<KeyValue> {
    // An incident is a map of plain values.
    let Ok(Json::Object(values)) = serde_json::to_value(incident) else { return Vec::new() };
    let attributes = COLUMNS.iter().filter_map(|column| {
        let value = match values.get(column.name)? {
            Json::String(words) => text(words),
            Json::Bool(flag) => AnyValue { value: Some(Value::Flag(*flag)) },
            Json::Number(number) => AnyValue { value: number.as_i64().map(Value::Number) },
            _ => return None,
        };
        Some(attribute(&name(column.name, incident)?, value))
    });
    attributes.collect()
}

/// The conventions' name where there is one, for what the column holds in this incident. Nothing where a column is told
/// elsewhere or is a document.
fn name(column: &str, incident: &Incident) -> Option<String> {
    let name = match (column, incident.scheduler.as_deref()) {
        ("time" | "cluster" | "node" | "headline" | "version" | "verdict" | "who", _) => {
            return None;
        }
        ("id", _) => "whyoom.incident.id",
        ("namespace", Some("kubernetes")) => "k8s.namespace.name",
        ("pod", Some("kubernetes")) => "k8s.pod.name",
        ("container", Some("kubernetes")) => "k8s.container.name",
        ("container", Some("docker")) => "container.id",
        ("user", _) => "user.name",
        ("file", _) if incident.source == Source::Log => "log.file.path",
        (ours, _) => return Some(format!("whyoom.{ours}")),
    };
    Some(name.to_owned())
}

/// The node of a pod. Of others, the resource has it.
fn of_node(incident: &Incident) -> Vec<KeyValue> {
    if incident.scheduler.as_deref() != Some("kubernetes") {
        return Vec::new();
    }
    let cluster = Some(&incident.cluster).filter(|cluster| !cluster.is_empty());
    let cluster = cluster.map(|cluster| attribute("k8s.cluster.name", text(cluster)));
    cluster.into_iter().chain([attribute("k8s.node.name", text(&incident.node))]).collect()
}

/// What the program said, from the verdict's document.
fn exception(incident: &Incident) -> Vec<KeyValue> {
    let document: Json = serde_json::from_str(&incident.verdict).unwrap_or_default();
    let Some(said) = document["incidents"][0]["message"].as_str() else { return Vec::new() };
    let (kind, message) = parts(said);
    let kind = kind.map(|kind| attribute("exception.type", text(kind)));
    kind.into_iter().chain([attribute("exception.message", text(message))]).collect()
}

/// The class of an exception, where one is named, and what follows it.
fn parts(said: &str) -> (Option<&str>, &str) {
    for (at, colon) in said.match_indices(": ") {
        let word = said[..at].rsplit(char::is_whitespace).next().unwrap_or_default();
        let is_name = |letter: char| letter.is_ascii_alphanumeric() || "_.".contains(letter);
        let is_class = word.ends_with("Error") || word.ends_with("Exception");
        if is_class && word.chars().all(is_name) {
            return (Some(word), &said[at + colon.len()..]);
        }
    }
    (None, said)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::journal::some_incident;

    fn told(record: &LogRecord, key: &str) -> Option<Value> {
        let found = record.attributes.iter().find(|one| one.key == key)?;
        found.value.as_ref()?.value.clone()
    }

    #[test]
    fn names_are_those_of_the_conventions() {
        let words = |text: &str| Some(Value::Text(text.to_owned()));
        let mut incident = some_incident();
        incident.scheduler = Some("kubernetes".into());
        incident.namespace = Some("team-a".into());
        incident.requested_bytes = Some(7);
        let message = "[rank2]: torch.OutOfMemoryError: CUDA out of memory. Tried";
        incident.verdict = serde_json::json!({"incidents": [{"message": message}]}).to_string();
        let pod = record(&incident);
        assert_eq!(told(&pod, "k8s.namespace.name"), words("team-a"));
        assert_eq!(told(&pod, "k8s.node.name"), words(&incident.node));
        assert_eq!(told(&pod, "exception.type"), words("torch.OutOfMemoryError"));
        assert_eq!(told(&pod, "exception.message"), words("CUDA out of memory. Tried"));
        assert_eq!(told(&pod, "whyoom.cause"), words(&incident.cause));
        assert_eq!(told(&pod, "whyoom.requested_bytes"), Some(Value::Number(7)));
        assert_eq!(told(&pod, "whyoom.has_history"), Some(Value::Flag(false)));
        assert_eq!(told(&pod, "whyoom.verdict"), None, "documents stay in the archive");
        incident.scheduler = Some("slurm".into());
        let job = record(&incident);
        assert_eq!(told(&job, "whyoom.namespace"), words("team-a"));
        assert_eq!(told(&job, "k8s.node.name"), None);
        assert_eq!((job.time_unix_nano, job.severity_number), (incident.time as u64 * 1000, 17));
    }

    #[test]
    fn an_exception_is_named_only_where_the_program_named_it() {
        let jax = "jaxlib.xla_extension.XlaRuntimeError: RESOURCE_EXHAUSTED: Out of memory";
        let kind = Some("jaxlib.xla_extension.XlaRuntimeError");
        assert_eq!(parts(jax), (kind, "RESOURCE_EXHAUSTED: Out of memory"));
        let plain = "CUDA error: out of memory";
        assert_eq!(parts(plain), (None, plain));
    }

    #[test]
    fn texts_have_an_end() {
        let mut incident = some_incident();
        incident.headline = "ä".repeat(1 << 20);
        let body = record(&incident).body.and_then(|body| body.value);
        assert!(matches!(body, Some(Value::Text(text)) if text.len() == 4 << 10));
    }
}
