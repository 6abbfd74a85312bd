//! The figures of a report. `queries` asks the same of the same objects in SQL.

use std::collections::{BTreeMap, BTreeSet};

use jiff::{
    Timestamp,
    civil::{Date, Weekday},
    tz::TimeZone,
};
use serde::Serialize;
use whyoom_incident::Incident;

use crate::passed_over::Damaged;

/// A workload that fails so often repeats itself.
const REPEATS: u64 = 3;

/// The figures, the most frequent first.
#[derive(Debug, Serialize)]
pub(crate) struct Figures {
    schema: &'static str,
    version: u32,
    /// All incidents.
    pub(crate) incidents: u64,
    /// Nodes that had one.
    pub(crate) nodes: u64,
    pub(crate) causes: Vec<Share>,
    pub(crate) weeks: Vec<Week>,
    pub(crate) workloads: Vec<Workload>,
    pub(crate) users: Vec<Share>,
    /// GPU-hours of the runs that ended so, at most: since the start of their first process, on the GPUs that
    /// they were seen on.
    pub(crate) gpu_hours_at_most: f64,
    /// Incidents whose run and GPUs are known, which those hours are of.
    pub(crate) gpu_hours_known_of: u64,
    /// Workloads that failed for the same cause again and again.
    pub(crate) repeating: Vec<Workload>,
    /// Incidents for which something else held memory that it should not have.
    pub(crate) dirty: u64,
    /// Incidents with a history, which settings were tried on.
    pub(crate) with_history: u64,
    /// What would have served the requests that failed, of those.
    pub(crate) served_by: Vec<Share>,
    pub(crate) remedies: Vec<Share>,
    /// Objects that could not be read: their incidents are in none of the figures.
    pub(crate) damaged_objects: Damaged,
}

/// A name and how often.
#[derive(Debug, Serialize, PartialEq)]
pub(crate) struct Share {
    pub(crate) name: String,
    pub(crate) incidents: u64,
    /// Of all that this table is of.
    pub(crate) share: f64,
}

/// A week and its causes.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Week {
    /// Its Monday.
    pub(crate) monday: String,
    pub(crate) incidents: u64,
    pub(crate) causes: BTreeMap<String, u64>,
}

/// A workload.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Workload {
    pub(crate) namespace: String,
    pub(crate) workload: String,
    pub(crate) cause: String,
    pub(crate) incidents: u64,
}

/// PyTorch's expandable segments.
const EASIEST: &str = "expandable";

/// What is left of earlier work, so that the next meets it.
const DIRTY: [&str; 3] = ["orphan", "unseen-holder", "stray-context"];

impl Figures {
    pub(crate) fn of(incidents: &[Incident]) -> Self {
        let all = incidents.len() as u64;
        let with_history: Vec<&Incident> = incidents.iter().filter(|one| one.has_history).collect();
        let served = with_history.iter().flat_map(|one| {
            let names = one.served_by.as_deref().unwrap_or_default().split(';');
            names.filter(|name| !name.is_empty()).map(str::to_owned).collect::<BTreeSet<_>>()
        });
        let workloads = workloads(incidents);
        let known: Vec<f64> = incidents.iter().filter_map(gpu_hours).collect();
        Self {
            schema: "whyoom.fleet-report",
            version: 1,
            incidents: all,
            nodes: incidents.iter().map(|one| &one.node).collect::<BTreeSet<_>>().len() as u64,
            causes: shares(incidents.iter().map(|one| one.cause.clone()), all),
            weeks: weeks(incidents),
            users: shares(incidents.iter().filter_map(|one| one.user.clone()), all),
            gpu_hours_at_most: known.iter().fold(0.0, |sum, hours| sum + hours),
            gpu_hours_known_of: known.len() as u64,
            repeating: repeating(&workloads),
            dirty: incidents.iter().filter(|one| DIRTY.contains(&one.cause.as_str())).count()
                as u64,
            with_history: with_history.len() as u64,
            served_by: easiest_first(shares(served, with_history.len() as u64)),
            remedies: shares(incidents.iter().filter_map(|one| one.remedy.clone()), all),
            workloads,
            damaged_objects: Damaged::default(),
        }
    }
}

fn gpu_hours(incident: &Incident) -> Option<f64> {
    Some(incident.run_seconds? as f64 * incident.gpus? as f64 / 3600.0)
}

pub(crate) fn shares(names: impl Iterator<Item = String>, all: u64) -> Vec<Share> {
    let mut counts: BTreeMap<String, u64> = BTreeMap::new();
    for name in names {
        *counts.entry(name).or_default() += 1;
    }
    let share = |count: u64| if all == 0 { 0.0 } else { count as f64 / all as f64 };
    let mut shares: Vec<Share> = counts
        .into_iter()
        .map(|(name, incidents)| Share { name, incidents, share: share(incidents) })
        .collect();
    shares
        .sort_by(|one, other| other.incidents.cmp(&one.incidents).then(one.name.cmp(&other.name)));
    shares
}

/// Of those that would have served as many, the one that is a variable comes first: a site can set it for all.
pub(crate) fn easiest_first(mut shares: Vec<Share>) -> Vec<Share> {
    shares.sort_by_key(|share| (std::cmp::Reverse(share.incidents), share.name != EASIEST));
    shares
}

fn weeks(incidents: &[Incident]) -> Vec<Week> {
    let mut weeks: BTreeMap<String, Week> = BTreeMap::new();
    for incident in incidents {
        let monday = monday_of(incident.time);
        let week = weeks.entry(monday.clone()).or_insert_with(|| Week {
            monday,
            incidents: 0,
            causes: BTreeMap::new(),
        });
        week.incidents += 1;
        *week.causes.entry(incident.cause.clone()).or_default() += 1;
    }
    weeks.into_values().collect()
}

/// The day of a moment, in UTC.
pub(super) fn day_of(time: i64) -> Date {
    let time = Timestamp::from_microsecond(time).unwrap_or(Timestamp::UNIX_EPOCH);
    time.to_zoned(TimeZone::UTC).date()
}

fn monday_of(time: i64) -> String {
    let day = day_of(time);
    let back = i64::from(day.weekday().since(Weekday::Monday));
    day.saturating_sub(jiff::Span::new().days(back)).to_string()
}

fn workloads(incidents: &[Incident]) -> Vec<Workload> {
    let mut counts: BTreeMap<(String, String, String), u64> = BTreeMap::new();
    let named = incidents.iter().filter(|one| one.workload.is_some());
    for one in named {
        let name = |name: &Option<String>| name.clone().unwrap_or_default();
        let key = (name(&one.namespace), name(&one.workload), one.cause.clone());
        *counts.entry(key).or_default() += 1;
    }
    let mut all: Vec<Workload> = counts
        .into_iter()
        .map(|((namespace, workload, cause), incidents)| Workload {
            namespace,
            workload,
            cause,
            incidents,
        })
        .collect();
    all.sort_by_key(|one| std::cmp::Reverse(one.incidents));
    all
}

fn repeating(workloads: &[Workload]) -> Vec<Workload> {
    workloads.iter().filter(|one| one.incidents >= REPEATS).cloned().collect()
}
