//! `/proc/PID/cgroup`: the container, pod or job that a process belongs to.

use crate::report::Workload;

/// How much of a container's id people write.
const SHORT_ID: usize = 12;
/// The length of a container's id.
const LONG_ID: usize = 64;

/// Where the process runs. The most particular answer wins: a pod's container is a container too.
#[must_use]
pub fn workload(text: &str) -> Option<Workload> {
    let paths = || text.lines().filter_map(|line| line.splitn(3, ':').nth(2));
    let parts = || paths().flat_map(|path| path.split('/'));
    if let Some(job) = paths().find_map(slurm_job) {
        return Some(Workload::Slurm { job: job.to_owned() });
    }
    let container = parts().find_map(container_id);
    if let Some(uid) = parts().find_map(pod_uid) {
        return Some(Workload::Pod { uid, container });
    }
    container.map(|id| Workload::Container { id })
}

/// The unit of the service manager that the process is in: `train.service`, `session-3.scope`.
#[must_use]
pub fn unit(text: &str) -> Option<&str> {
    text.lines()
        .filter_map(|line| line.splitn(3, ':').nth(2))
        .flat_map(|path| path.rsplit('/'))
        .find(|part| part.ends_with(".service") || part.ends_with(".scope"))
}

/// `/slurm/uid_1000/job_123/step_0`, `/system.slice/slurmstepd.scope/job_123/step_0`.
fn slurm_job(path: &str) -> Option<&str> {
    if !path.contains("slurm") {
        return None;
    }
    let job = path.split('/').find_map(|part| part.strip_prefix("job_"))?;
    (!job.is_empty() && job.bytes().all(|byte| byte.is_ascii_digit())).then_some(job)
}

/// `<id>`, `docker-<id>.scope`, `cri-containerd-<id>.scope`, `libpod-<id>`.
fn container_id(part: &str) -> Option<String> {
    let part = part.strip_suffix(".scope").unwrap_or(part);
    let id = part.rsplit('-').next()?;
    let is_id = id.len() == LONG_ID && id.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_id.then(|| id.chars().take(SHORT_ID).collect())
}

/// `pod1234-…`, `kubepods-burstable-pod1234_….slice`: the service manager forbids dashes in a name.
fn pod_uid(part: &str) -> Option<String> {
    let part = part.strip_suffix(".slice").unwrap_or(part);
    let uid = part.rsplit_once("-pod").map(|(_, uid)| uid).or_else(|| part.strip_prefix("pod"))?;
    let uid = uid.replace('_', "-");
    // A uid has 36 characters; static pods of the node itself have 32 without dashes.
    let is_uid = matches!(uid.len(), 32 | 36)
        && uid.bytes().all(|byte| byte.is_ascii_hexdigit() || byte == b'-');
    is_uid.then_some(uid)
}

#[cfg(test)]
mod tests {
    use super::*;

    const ID: &str = "3f4e5d6c7b8a99887766554433221100ffeeddccbbaa00112233445566778899";
    const UID: &str = "0a1b2c3d-1111-2222-3333-444455556666";

    #[test]
    fn containers_pods_and_jobs() {
        let container = || Workload::Container { id: "3f4e5d6c7b8a".to_owned() };
        let pod = |container: bool| Workload::Pod {
            uid: UID.to_owned(),
            container: container.then(|| "3f4e5d6c7b8a".to_owned()),
        };
        let under = UID.replace('-', "_");
        for (text, expected) in [
            (format!("0::/system.slice/docker-{ID}.scope"), container()),
            (format!("5:devices:/docker/{ID}\n0::/"), container()),
            (format!("0::/machine.slice/libpod-{ID}.scope/container"), container()),
            (format!("4:memory:/kubepods/burstable/pod{UID}/{ID}"), pod(true)),
            (
                format!("0::/kubepods.slice/kubepods-pod{under}.slice/cri-containerd-{ID}.scope"),
                pod(true),
            ),
            (format!("0::/kubepods.slice/kubepods-pod{under}.slice"), pod(false)),
            (
                "0::/system.slice/slurmstepd.scope/job_77/step_0/user/task_0".to_owned(),
                Workload::Slurm { job: "77".to_owned() },
            ),
        ] {
            assert_eq!(workload(&text), Some(expected), "{text}");
        }
    }

    #[test]
    fn ordinary_groups_are_none() {
        for text in ["", "0::/", "0::/user.slice/user-1000.slice/session-3.scope", "x", "::job_1"] {
            assert_eq!(workload(text), None, "{text}");
        }
        assert_eq!(unit("0::/user.slice/session-3.scope"), Some("session-3.scope"));
        assert_eq!(unit("0::/system.slice/train.service/sub"), Some("train.service"));
        assert_eq!(unit("0::/"), None);
    }
}
