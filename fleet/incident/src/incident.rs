//! What is known of one incident.

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

/// The schema's name, in a file's metadata under `whyoom.schema`.
pub const SCHEMA: &str = "whyoom.incidents";
/// Its version, under `whyoom.version`. A change that could break a reader raises it; a new column does not.
pub const SCHEMA_VERSION: &str = "1";

/// Where an incident was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Source {
    /// In what a program printed.
    Log,
    /// In a snapshot of PyTorch that a framework wrote when memory ran out.
    Snapshot,
    /// In a recording of `whyoom run`.
    Recording,
}

/// One time that a program ran out of GPU memory. Every text has passed the site's redaction.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Incident {
    /// What tells it from every other: the same incident found again has the same.
    pub id: String,
    /// When the agent saw it, in microseconds since 1970.
    pub time: i64,
    /// The name that the site gave the cluster.
    pub cluster: String,
    /// The node's name.
    pub node: String,
    /// Where it was found.
    pub source: Source,
    /// The file that it was found in.
    pub file: String,
    /// The cause: a name of `whyoom causes`.
    pub cause: String,
    /// How strongly the evidence speaks for it.
    pub strength: String,
    /// The verdict in a sentence.
    pub headline: String,
    /// The line of the program that failed or that holds the memory.
    pub call_site: Option<String>,
    /// The first line to paste against it.
    pub remedy: Option<String>,
    /// The GPU's index.
    pub device: Option<i64>,
    /// What was asked for, in bytes.
    pub requested_bytes: Option<i64>,
    /// What the GPU has.
    pub capacity_bytes: Option<i64>,
    /// What was free on it.
    pub free_bytes: Option<i64>,
    /// What the allocator had handed out.
    pub allocated_bytes: Option<i64>,
    /// What the allocator held.
    pub reserved_bytes: Option<i64>,
    /// What scheduled the program: `kubernetes`, `slurm`, `docker`.
    pub scheduler: Option<String>,
    /// Kubernetes' namespace, or Slurm's account or partition where the site names it so.
    pub namespace: Option<String>,
    /// What the program belongs to across restarts: a Deployment, a Job, the name of Slurm's job.
    pub workload: Option<String>,
    /// The pod.
    pub pod: Option<String>,
    /// The container.
    pub container: Option<String>,
    /// Slurm's job.
    pub job: Option<String>,
    /// The user.
    pub user: Option<String>,
    /// Seconds since the start of the job's first process that held memory: what the run may have cost, at most.
    pub run_seconds: Option<i64>,
    /// GPUs that the program used, as far as that is known.
    pub gpus: Option<i64>,
    /// Whether a history of allocations was there, so that settings could be tried by replay.
    pub has_history: bool,
    /// Allocators and settings that would have served the request that failed, by replay, separated by `;`.
    /// Empty where none would; `None` where none was tried.
    pub served_by: Option<String>,
    /// The version of whyoom.
    pub version: String,
    /// The verdict as `whyoom why --json` prints it.
    pub verdict: String,
    /// Who held memory at that moment, as `whyoom who --json` prints it.
    pub who: Option<String>,
}

impl Incident {
    /// Returns the memory that the incident takes, in bytes, without the overhead of the allocator.
    #[must_use]
    pub fn memory_bytes(&self) -> u64 {
        let required = [
            &self.id,
            &self.cluster,
            &self.node,
            &self.file,
            &self.cause,
            &self.strength,
            &self.headline,
            &self.version,
            &self.verdict,
        ];
        let optional = [
            &self.call_site,
            &self.remedy,
            &self.scheduler,
            &self.namespace,
            &self.workload,
            &self.pod,
            &self.container,
            &self.job,
            &self.user,
            &self.served_by,
            &self.who,
        ];
        let texts = required.into_iter().chain(optional.into_iter().flatten());
        (size_of::<Self>() + texts.map(String::len).sum::<usize>()) as u64
    }

    /// The name of an incident by what tells it from others.
    #[must_use]
    pub fn id_of(parts: &[&str]) -> String {
        let mut hash = Sha256::new();
        for part in parts {
            // The length keeps ("ab", "c") from ("a", "bc").
            hash.update((part.len() as u64).to_le_bytes());
            hash.update(part.as_bytes());
        }
        hash.finalize().iter().take(16).map(|byte| format!("{byte:02x}")).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_do_not_run_into_each_other() {
        assert_ne!(Incident::id_of(&["ab", "c"]), Incident::id_of(&["a", "bc"]));
        assert_eq!(Incident::id_of(&["ab", "c"]), Incident::id_of(&["ab", "c"]));
        assert_eq!(Incident::id_of(&[]).len(), 32);
    }
}
