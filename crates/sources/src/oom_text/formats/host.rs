//! The kernel and whatever watches processes: host memory (format K).

use std::sync::LazyLock;

use regex::Regex;
use whyoom_trace::{Bytes, Counter, Software, Symptom};

use super::Format;
use crate::oom_text::{
    amount::{AmountAfter, amount, amount_between, regex, whole},
    message::Message,
    window::Window,
};

pub(super) const FORMAT: Format = Format {
    anchors: &[
        "Killed",
        "zsh: killed",
        "oom-kill event",
        "oom_kill event",
        "OOMKilled",
        "oom_kill ",
        "exit status 137",
        "exit code 137",
        "exit code (137)",
        "Exit Code:    137",
        "exitcode: -9",
        "exitcode  : -9",
        "exits with return code = -9",
        "insufficient shared memory (shm)",
        "No space left on device: '/dev/shm",
    ],
    parse,
};

amount_between!(ANONYMOUS, "anon-rss:", "");
amount_between!(SHARED, "shmem-rss:", "");
/// `docker inspect` prints the field whether or not it happened.
static NOT_KILLED: LazyLock<Regex> =
    LazyLock::new(|| regex(r#"^OOMKilled["']?\s*[:=]\s*["']?[Ff]alse"#));
/// What shells say when signal 9 ends what they wait for: the word alone, in a script with the command behind it.
static SHELLS_WORD: LazyLock<Regex> =
    LazyLock::new(|| regex(r"^(?:Killed\s*$|Killed {6,}\S|zsh: killed +\S)"));
/// What stands right before Kubernetes' exit code.
static OTHER_REASON: LazyLock<Regex> =
    LazyLock::new(|| regex(r"Reason:\s+(?:Error|Evicted|DeadlineExceeded)\s*$"));
static EVENTS_LIMIT: LazyLock<Regex> = LazyLock::new(|| regex(r"memory\.max\s+(\d+)"));
/// What the kernel logs of a cgroup before it names the process that it kills.
static KERNELS_LIMIT: LazyLock<Regex> =
    LazyLock::new(|| regex(r"memory: usage \d+kB, limit (\d+)kB"));
/// What `kubectl describe pod` prints behind the reason.
static PODS_LIMIT: LazyLock<Regex> =
    LazyLock::new(|| regex(r"Limits:(?:\s+\S+:\s+\S+){0,4}?\s+memory:\s+(\d+)([KMGT]i?)?\s"));

fn parse(window: &Window<'_>) -> Option<Message> {
    let text = window.text();
    let (software, symptom) =
        if text.starts_with("insufficient shared") || text.starts_with("No space") {
            (Software::PyTorch, Symptom::HostOutOfMemory)
        } else if text.starts_with("Killed process") {
            // Without the sizes it is some program's word, not the kernel's.
            ANONYMOUS.find(text)?;
            (Software::Kernel, Symptom::HostKilled)
        } else if text.starts_with("Killed") || text.starts_with("zsh: killed") {
            let alone = !window.prefix().ends_with(char::is_alphanumeric);
            (alone && SHELLS_WORD.is_match(window.line())).then_some(())?;
            (Software::Supervisor, Symptom::Killed)
        } else if text.starts_with("OOMKilled") {
            if NOT_KILLED.is_match(text) {
                return None;
            }
            (Software::Supervisor, Symptom::HostKilled)
        } else if text.starts_with("oom-kill event") || text.starts_with("oom_kill event") {
            (Software::Supervisor, Symptom::HostKilled)
        } else if let Some(count) = text.strip_prefix("oom_kill ") {
            let count: u64 = count.split_whitespace().next()?.parse().ok()?;
            (count > 0 && window.prefix().trim().is_empty()).then_some(())?;
            (Software::Kernel, Symptom::HostKilled)
        } else {
            // Kubernetes says so where memory was the reason, and names the other ones.
            if OTHER_REASON.is_match(window.before()) || window.text().contains("liveness probe") {
                return None;
            }
            (Software::Supervisor, Symptom::Killed)
        };
    // Pages of files can be dropped, and do not count as held.
    let held = ANONYMOUS.find(text).map(|bytes| bytes.plus(SHARED.find(text).unwrap_or_default()));
    let message = Message::new("K", software, symptom);
    Some(message.with(Counter::HostResident, held).with(Counter::HostLimit, limit(window)))
}

/// The limit of the cgroup, container or pod, if it was printed nearby.
fn limit(window: &Window<'_>) -> Option<Bytes> {
    let before = window.before();
    let of_pod = || {
        let found = PODS_LIMIT.captures(window.text().strip_prefix("OOMKilled")?)?;
        amount(&found[1], found.get(2).map_or("B", |unit| unit.as_str()))
    };
    // Of several, the last belongs to this one.
    let of_kernel = || amount(&KERNELS_LIMIT.captures_iter(before).last()?[1], "kB");
    EVENTS_LIMIT
        .captures(before)
        .and_then(|found| whole(&found[1]))
        .or_else(|| of_kernel().filter(|_| window.line().contains("anon-rss:")))
        .or_else(of_pod)
}
