//! Whose log a file is, by its path. Below the folders of a container runtime the runtime makes the paths, and a
//! program cannot choose them; elsewhere a path says only which job of Slurm it may be.

use std::path::Path;

/// The folder of the logs that are made of the journal of systemd.
pub(crate) const JOURNALD: &str = "journald";

/// Whose log it is, as far as its path tells.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Origin {
    /// `kubernetes`, `docker`, `slurm` or `systemd`.
    pub scheduler: Option<&'static str>,
    /// The pod's namespace.
    pub namespace: Option<String>,
    /// What the pod belongs to across restarts.
    pub workload: Option<String>,
    /// The pod.
    pub pod: Option<String>,
    /// The pod's uid.
    pub uid: Option<String>,
    /// The container, by its name or number.
    pub container: Option<String>,
    /// Slurm's job, with the task of an array.
    pub job: Option<String>,
    /// The file's owner.
    pub owner: Option<u32>,
}

impl Origin {
    /// Reads it from the folder that the site named and the path below it. What looks like a runtime's folder
    /// deeper down was made by somebody else.
    #[must_use]
    pub fn of(folder: &Path, below: &Path) -> Self {
        let name = folder.file_name().and_then(|name| name.to_str());
        let found = match name {
            Some("pods") => kubernetes(below),
            Some("containers") => docker(below),
            Some(JOURNALD) => systemd(below),
            _ => slurm(below),
        };
        found.unwrap_or_default()
    }
}

/// `NAMESPACE_POD_UID/CONTAINER/0.log`
fn kubernetes(below: &Path) -> Option<Origin> {
    let mut parts = below.iter().map(|part| part.to_str());
    let (folder, container) = (parts.next()??, parts.next()??);
    let mut names = folder.splitn(3, '_');
    let (namespace, pod, uid) = (names.next()?, names.next()?, names.next()?);
    let is_it = parts.count() == 1 && !uid.is_empty();
    is_it.then(|| Origin {
        scheduler: Some("kubernetes"),
        namespace: Some(namespace.to_owned()),
        workload: Some(workload_of(pod).to_owned()),
        pod: Some(pod.to_owned()),
        uid: Some(uid.to_owned()),
        container: Some(container.to_owned()),
        ..Origin::default()
    })
}

/// The name of a pod without what its controller added: `-x7k2p` of a Job or DaemonSet, `-6d4cf56db6-x7k2p` of a
/// Deployment, `-0` of a StatefulSet or an Indexed Job.
fn workload_of(pod: &str) -> &str {
    // Letters and digits that Kubernetes makes names of: no vowels, nor 0, 1 and 3.
    let is_made =
        |part: &str| part.bytes().all(|byte| b"bcdfghjklmnpqrstvwxz2456789".contains(&byte));
    let is_hash = |part: &str| part.len() <= 10 && part.len() >= 8 && is_made(part);
    let Some((rest, last)) = pod.rsplit_once('-') else { return pod };
    if !last.is_empty() && last.bytes().all(|byte| byte.is_ascii_digit()) {
        return rest;
    }
    if last.len() != 5 || !is_made(last) {
        return pod;
    }
    match rest.rsplit_once('-') {
        Some((name, hash)) if is_hash(hash) => name,
        // The pods of an Indexed Job: `NAME-INDEX-x7k2p`.
        Some((name, index))
            if !index.is_empty() && index.bytes().all(|byte| byte.is_ascii_digit()) =>
        {
            name
        }
        _ => rest,
    }
}

/// `ID/ID-json.log`
fn docker(path: &Path) -> Option<Origin> {
    let id = path.parent()?.file_name()?.to_str()?;
    let is_id = id.len() == 64 && id.bytes().all(|byte| byte.is_ascii_hexdigit());
    let is_it = is_id && path.file_name()?.to_str()?.starts_with(id);
    is_it.then(|| Origin {
        scheduler: Some("docker"),
        container: Some(id[..12].to_owned()),
        ..Origin::default()
    })
}

/// `UNIT/CONTAINER.log`, where `-` is none. Any program can name a container in what it sends to the journal; only
/// what runs containers is believed.
fn systemd(path: &Path) -> Option<Origin> {
    let unit = path.parent()?.file_name()?.to_str()?;
    let container = path.file_name()?.to_str()?.strip_suffix(".log")?;
    let is_named = |name: &&str| *name != "-";
    let unit_name = unit.rsplit_once('.').map_or(unit, |(name, _)| name);
    let is_runtime = unit_name == "docker" || unit_name.starts_with("libpod-");
    let container = Some(container).filter(|name| is_named(name) && is_runtime);
    Some(Origin {
        scheduler: Some("systemd"),
        workload: container.or(Some(unit_name).filter(is_named)).map(str::to_owned),
        container: container.map(str::to_owned),
        ..Origin::default()
    })
}

/// `slurm-JOB.out`, `slurm-JOB_TASK.out`, as Slurm names what a script prints where the script does not.
fn slurm(path: &Path) -> Option<Origin> {
    let stem = path.file_name()?.to_str()?.strip_prefix("slurm-")?;
    let job = stem.strip_suffix(".out").or_else(|| stem.strip_suffix(".err"))?;
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let is_job = match job.split_once('_') {
        Some((array, task)) => is_number(array) && is_number(task),
        None => is_number(job),
    };
    is_job.then(|| Origin {
        scheduler: Some("slurm"),
        job: Some(job.to_owned()),
        ..Origin::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_unit_or_a_container_of_the_journal() {
        let origin = |below: &str| Origin::of(Path::new("/state/journald"), Path::new(below));
        assert_eq!(origin("train.service/-.log").workload.as_deref(), Some("train"));
        assert_eq!(origin("docker.service/vllm.log").workload.as_deref(), Some("vllm"));
        assert_eq!(origin("train.service/vllm.log").workload.as_deref(), Some("train"));
        assert_eq!(origin("-/-.log").workload, None);
    }

    #[test]
    fn a_pod_by_its_folder() {
        let below = Path::new("team-a_llama-6d4cf56db6-x7k2p_0f-1/vllm/3.log");
        let origin = Origin::of(Path::new("/var/log/pods"), below);
        assert_eq!(origin.namespace.as_deref(), Some("team-a"));
        assert_eq!(origin.workload.as_deref(), Some("llama"));
        assert_eq!(origin.pod.as_deref(), Some("llama-6d4cf56db6-x7k2p"));
        assert_eq!(origin.uid.as_deref(), Some("0f-1"));
        assert_eq!(origin.container.as_deref(), Some("vllm"));
        let made = Path::new("ann/pods/team-a_llama_0f-1/vllm/3.log");
        assert_eq!(Origin::of(Path::new("/home"), made), Origin::default());
    }

    #[test]
    fn workloads_of_pods() {
        for (pod, workload) in [
            ("train-x7k2p", "train"),
            ("train-3-x7k2p", "train"),
            ("web-6d4cf56db6-x7k2p", "web"),
            ("db-0", "db"),
            ("my-notebook", "my-notebook"),
            ("alone", "alone"),
            ("a-b-c", "a-b-c"),
        ] {
            assert_eq!(workload_of(pod), workload, "{pod}");
        }
    }

    #[test]
    fn containers_and_jobs() {
        let id = "0123456789abcdef".repeat(4);
        let below = format!("{id}/{id}-json.log");
        let origin = Origin::of(Path::new("/var/lib/docker/containers"), Path::new(&below));
        assert_eq!(origin.container.as_deref(), Some("0123456789ab"));
        let job = |name: &str| Origin::of(Path::new("/home"), Path::new(name)).job;
        assert_eq!(job("a/slurm-12.out").as_deref(), Some("12"));
        assert_eq!(job("a/slurm-12_3.out").as_deref(), Some("12_3"));
        assert_eq!(job("a/slurm-.out"), None);
        assert_eq!(job("a/slurm-x.out"), None);
        assert_eq!(job("a/train.log"), None);
    }
}
