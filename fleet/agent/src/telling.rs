//! An incident, from what was found and what `whyoom` says of it.

use std::{collections::BTreeSet, io};

use serde_json::Value;
use whyoom_incident::{Incident, Source};
use whyoom_judge::{Judged, Matter, Request};
use whyoom_logs::{Found, Origin};

use crate::{drops::Dropped, redaction::Redaction};

/// A longer document is cut down to its verdict.
const LONGEST_DOCUMENT: usize = 64 << 10;

/// What all incidents of an agent have.
#[derive(Debug)]
pub(crate) struct Teller {
    pub(crate) cluster: String,
    pub(crate) node: String,
    pub(crate) agent: String,
    pub(crate) redaction: Redaction,
}

/// What was found: in a log, or left by a framework.
#[derive(Debug)]
pub(crate) enum Finding {
    Log(Box<Found>),
    Dropped(Dropped),
}

impl Finding {
    /// What tells it from others, also when it is found again.
    fn name(&self) -> String {
        match self {
            Self::Log(found) => format!("log:{}", found.name),
            Self::Dropped(dropped) => format!("drop:{}", dropped.id.name()),
        }
    }

    fn path(&self) -> String {
        match self {
            Self::Log(found) => found.path.display().to_string(),
            Self::Dropped(dropped) => dropped.path().display().to_string(),
        }
    }

    /// What is judged.
    pub(crate) fn matter(&self) -> io::Result<Matter> {
        Ok(match self {
            Self::Log(found) => Matter::Text(found.text.clone()),
            Self::Dropped(dropped) if dropped.source == Source::Recording => {
                Matter::Recording(dropped.open_folder()?)
            }
            Self::Dropped(dropped) => Matter::Snapshot(dropped.open()?),
        })
    }

    fn source(&self) -> Source {
        match self {
            Self::Log(_) => Source::Log,
            Self::Dropped(dropped) => dropped.source,
        }
    }
}

impl Teller {
    /// The incident; `time` is in microseconds since 1970.
    pub(crate) fn incident(
        &self,
        finding: &Finding,
        judged: Judged,
        served_by: Option<Vec<String>>,
        who: Option<Value>,
        time: i64,
    ) -> Incident {
        let Judged { verdict, request, document } = judged;
        let origin = match finding {
            Finding::Log(found) => found.origin.clone(),
            Finding::Dropped(_) => Origin::default(),
        };
        let holders = Holders::of(who.as_ref(), &origin, time);
        let line = |text: &str| self.redaction.line(text);
        let bytes = |figure: fn(&Request) -> Option<i64>| request.as_ref().and_then(figure);
        Incident {
            id: Incident::id_of(&[&self.agent, &finding.name()]),
            time,
            cluster: self.cluster.clone(),
            node: self.node.clone(),
            source: finding.source(),
            file: line(&finding.path()),
            cause: verdict.cause,
            strength: verdict.strength,
            headline: line(&verdict.headline),
            call_site: verdict.call_sites.first().map(|one| line(&one.call_site)),
            remedy: verdict.remedies.iter().find_map(|one| one.paste.as_deref()).map(line),
            device: verdict.device,
            requested_bytes: bytes(|request| request.requested_bytes),
            capacity_bytes: bytes(|request| request.capacity_bytes),
            free_bytes: bytes(|request| request.free_bytes),
            allocated_bytes: bytes(|request| request.allocated_bytes),
            reserved_bytes: bytes(|request| request.reserved_bytes),
            scheduler: origin.scheduler.map(str::to_owned),
            namespace: origin.namespace.as_deref().map(line),
            workload: origin.workload.as_deref().map(line),
            pod: origin.pod.as_deref().map(line),
            container: origin.container.as_deref().map(line),
            job: origin.job.as_deref().map(line),
            user: holders.user.as_deref().map(line),
            run_seconds: holders.seconds,
            gpus: holders.gpus,
            has_history: served_by.is_some(),
            served_by: served_by.map(|names| names.join(";")),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            verdict: self.document(document),
            who: who.map(|who| self.document(who)),
        }
    }

    fn document(&self, document: Value) -> String {
        let document = self.redaction.document(document);
        let text = document.to_string();
        match document {
            Value::Object(mut all) if text.len() > LONGEST_DOCUMENT => {
                all.retain(|key, _| matches!(key.as_str(), "schema" | "version" | "verdict"));
                Value::Object(all).to_string()
            }
            _ => text,
        }
    }
}

/// What the GPUs tell of a job.
#[derive(Debug, Default)]
struct Holders {
    user: Option<String>,
    gpus: Option<i64>,
    /// Since its first process that holds memory was started.
    seconds: Option<i64>,
}

impl Holders {
    fn of(who: Option<&Value>, origin: &Origin, now: i64) -> Self {
        let owner = origin.owner.and_then(uzers::get_user_by_uid);
        let owner = owner.as_ref().and_then(|owner| owner.name().to_str());
        let mut users = BTreeSet::new();
        let mut gpus = 0;
        let mut started: Option<u64> = None;
        for device in array(who.map(|who| &who["devices"])) {
            let is_its = |holder: &&Value| belongs(holder, origin, owner);
            let own: Vec<&Value> = array(Some(&device["holders"])).filter(is_its).collect();
            gpus += i64::from(!own.is_empty());
            users.extend(own.iter().filter_map(|holder| holder["user"].as_str()));
            let first = own.iter().filter_map(|holder| holder["started"].as_u64()).min();
            started = started.into_iter().chain(first).min();
        }
        // Of several users none is the job's.
        let user = if users.len() == 1 { users.pop_first().map(str::to_owned) } else { None };
        let started = started.and_then(|started| i64::try_from(started / 1000).ok());
        let seconds = started.map(|started| (now - started).max(0) / 1_000_000);
        Self { user, gpus: (gpus > 0).then_some(gpus), seconds }
    }
}

fn array(value: Option<&Value>) -> impl Iterator<Item = &Value> {
    value.and_then(Value::as_array).into_iter().flatten()
}

/// Whether a holder of memory runs in the job that a log is of.
fn belongs(holder: &Value, origin: &Origin, owner: Option<&str>) -> bool {
    let workload = &holder["workload"];
    let same =
        |key: &str, wanted: Option<&str>| wanted.is_some() && workload[key].as_str() == wanted;
    match origin.scheduler {
        // Anybody may call a file as Slurm calls a job's: only its own user's counts. The number of an array's task
        // is another than the one in the name.
        Some("slurm") => {
            let job = origin.job.as_deref().filter(|job| !job.contains('_'));
            same("job", job) && owner.is_some() && holder["user"].as_str() == owner
        }
        Some("kubernetes") => same("uid", origin.uid.as_deref()),
        _ => same("id", origin.container.as_deref()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_holds_memory_in_the_job_tells_its_user_and_gpus() {
        let holder = |job: &str, user: &str| {
            let workload = serde_json::json!({"kind": "slurm", "job": job});
            serde_json::json!({"user": user, "started": 4_000_000_000_u64, "workload": workload})
        };
        let who = serde_json::json!({"devices": [
            {"holders": [holder("7", "root"), holder("8", "bob")]},
            {"holders": [holder("7", "root")]},
            {"holders": []},
        ]});
        let of = |job: &str, owner: u32| {
            let scheduler = Some("slurm");
            let origin = Origin {
                job: Some(job.into()),
                owner: Some(owner),
                scheduler,
                ..Origin::default()
            };
            let found = Holders::of(Some(&who), &origin, 10_000_000);
            (found.user, found.gpus, found.seconds)
        };
        assert_eq!(of("7", 0), (Some("root".into()), Some(2), Some(6)));
        assert_eq!(of("8", 0), (None, None, None), "a log that calls itself another user's");
        assert_eq!(of("9", 0), (None, None, None));
        assert_eq!(Holders::of(None, &Origin::default(), 0).gpus, None);
    }

    #[test]
    fn a_pod_is_known_by_its_uid() {
        let pod = |uid: &str| serde_json::json!({"workload": {"kind": "pod", "uid": uid, "container": "c"}});
        let origin = Origin {
            scheduler: Some("kubernetes"),
            uid: Some("u1".into()),
            container: Some("c".into()),
            ..Origin::default()
        };
        assert!(belongs(&pod("u1"), &origin, None));
        assert!(!belongs(&pod("u2"), &origin, None));
    }
}
