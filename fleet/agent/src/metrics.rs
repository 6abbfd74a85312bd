//! What Prometheus scrapes. Names have few values: causes are a fixed list, of workloads the first are told and
//! the rest are together, and no PID is a label.

use std::{
    collections::HashSet,
    sync::{Mutex, PoisonError, atomic::AtomicU64},
};

use prometheus_client::{
    encoding::{EncodeLabelSet, text::encode},
    metrics::{counter::Counter, family::Family, gauge::Gauge},
    registry::{Registry, Unit},
};
use serde_json::Value;
use whyoom_incident::Incident;

/// Pairs of a namespace and a workload that are told apart.
const MOST_WORKLOADS: usize = 200;
/// The name of all others.
const OTHER: &str = "(other)";

type Figure = Gauge<f64, AtomicU64>;

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct OomLabels {
    cause: String,
    namespace: String,
    workload: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct GpuLabels {
    gpu: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct FailureLabels {
    what: &'static str,
}

/// The figures.
#[derive(Debug)]
pub(crate) struct Metrics {
    registry: Registry,
    oom: Family<OomLabels, Counter>,
    told: Mutex<HashSet<(String, String)>>,
    orphaned: Family<GpuLabels, Figure>,
    unaccounted: Family<GpuLabels, Figure>,
    dirty: Family<GpuLabels, Gauge>,
    failures: Family<FailureLabels, Counter>,
    pub(crate) archived: Counter,
    pub(crate) dismissed: Counter,
    pub(crate) log_bytes: Counter,
    pub(crate) log_files: Gauge,
    pub(crate) passed_over: Gauge,
    pub(crate) lost: Counter,
    pub(crate) journal: Gauge,
}

impl Metrics {
    pub(crate) fn new() -> Self {
        let mut registry = Registry::with_prefix("whyoom");
        let oom = Family::<OomLabels, Counter>::default();
        registry.register("oom", "Programs that ran out of GPU memory, by cause", oom.clone());
        let orphaned = Family::<GpuLabels, Figure>::default();
        let gpu = "gpu_orphaned";
        let help = "Memory of processes whose parents have gone";
        registry.register_with_unit(gpu, help, Unit::Bytes, orphaned.clone());
        let unaccounted = Family::<GpuLabels, Figure>::default();
        let help = "Memory in use that no process accounts for";
        registry.register_with_unit("gpu_unaccounted", help, Unit::Bytes, unaccounted.clone());
        let dirty = Family::<GpuLabels, Gauge>::default();
        let help = "Whether something is left on the GPU that a next job would meet";
        registry.register("gpu_dirty", help, dirty.clone());
        let failures = Family::<FailureLabels, Counter>::default();
        registry.register("agent_failures", "What the agent could not do", failures.clone());
        let (archived, dismissed, log_bytes) =
            (Counter::default(), Counter::default(), Counter::default());
        let help = "Incidents that are in the archive";
        registry.register("agent_archived_incidents", help, archived.clone());
        let help = "Messages that turned out to be no failure";
        registry.register("agent_dismissed_messages", help, dismissed.clone());
        registry.register("agent_log_bytes", "Bytes of logs that were read", log_bytes.clone());
        let (log_files, journal, passed_over) =
            (Gauge::default(), Gauge::default(), Gauge::default());
        let help = "Logs that could not be followed: too many, or not to be opened";
        registry.register("agent_passed_over_files", help, passed_over.clone());
        let lost = Counter::default();
        let help = "Messages whose log was gone before they were read";
        registry.register("agent_lost_messages", help, lost.clone());
        registry.register("agent_log_files", "Logs that are followed", log_files.clone());
        let help = "Incidents that wait for the archive, on disk";
        registry.register_with_unit("agent_journal", help, Unit::Bytes, journal.clone());
        Self {
            registry,
            oom,
            told: Mutex::default(),
            orphaned,
            unaccounted,
            dirty,
            failures,
            archived,
            dismissed,
            log_bytes,
            log_files,
            passed_over,
            lost,
            journal,
        }
    }

    /// Counts an incident.
    pub(crate) fn count(&self, incident: &Incident) {
        let (namespace, workload) = self.names(incident);
        let cause = incident.cause.clone();
        self.oom.get_or_create(&OomLabels { cause, namespace, workload }).inc();
    }

    /// The names that an incident counts under.
    fn names(&self, incident: &Incident) -> (String, String) {
        let name = |name: &Option<String>| name.clone().unwrap_or_default();
        let names = (name(&incident.namespace), name(&incident.workload));
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        if told.len() >= MOST_WORKLOADS && !told.contains(&names) {
            return (OTHER.to_owned(), OTHER.to_owned());
        }
        told.insert(names.clone());
        names
    }

    /// Counts a failure of the agent.
    pub(crate) fn failed(&self, what: &'static str) {
        self.failures.get_or_create(&FailureLabels { what }).inc();
    }

    /// What `whyoom who --json` says of the GPUs.
    pub(crate) fn look_at(&self, who: &Value) {
        for device in who["devices"].as_array().into_iter().flatten() {
            let label = GpuLabels { gpu: device["index"].to_string() };
            let holders = || device["holders"].as_array().into_iter().flatten();
            let orphans = || holders().filter(|holder| holder["orphan"] == true);
            let bytes: u64 = orphans().filter_map(|holder| holder["bytes"].as_u64()).sum();
            let residual = device["residual_bytes"].as_u64().unwrap_or_default();
            self.orphaned.get_or_create(&label).set(bytes as f64);
            self.unaccounted.get_or_create(&label).set(residual as f64);
            self.dirty.get_or_create(&label).set(i64::from(orphans().next().is_some()));
        }
    }

    /// All of it, as OpenMetrics.
    pub(crate) fn text(&self) -> String {
        let mut text = String::new();
        match encode(&mut text, &self.registry) {
            Ok(()) => text,
            // Writing into a string does not fail.
            Err(_) => String::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_stay_few() {
        let metrics = Metrics::new();
        for number in 0..3 * MOST_WORKLOADS {
            let mut incident = crate::journal::some_incident();
            incident.workload = Some(format!("w{number}"));
            metrics.count(&incident);
        }
        let text = metrics.text();
        assert_eq!(text.matches("whyoom_oom_total{").count(), MOST_WORKLOADS + 1, "{text}");
        assert!(text.contains(&format!("workload=\"{OTHER}\"}} {}", 2 * MOST_WORKLOADS)), "{text}");
    }

    #[test]
    fn orphans_and_what_nobody_accounts_for() {
        let metrics = Metrics::new();
        metrics.look_at(&serde_json::json!({"devices": [
            {"index": 0, "residual_bytes": 5, "holders": [{"orphan": true, "bytes": 7}]},
            {"index": 1, "residual_bytes": 0, "holders": [{"orphan": false, "bytes": 7}]},
        ]}));
        let text = metrics.text();
        for line in [
            "whyoom_gpu_orphaned_bytes{gpu=\"0\"} 7.0",
            "whyoom_gpu_orphaned_bytes{gpu=\"1\"} 0.0",
            "whyoom_gpu_unaccounted_bytes{gpu=\"0\"} 5.0",
            "whyoom_gpu_dirty{gpu=\"0\"} 1",
            "whyoom_gpu_dirty{gpu=\"1\"} 0",
        ] {
            assert!(text.contains(line), "{line}\n{text}");
        }
    }
}
