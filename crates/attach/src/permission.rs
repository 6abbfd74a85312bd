//! Which permission is missing, and what an operator can do. Nothing is changed to get it.

use std::{fs, os::unix::fs::MetadataExt};

use rustix::process::geteuid;
use whyoom_files::kernel;

use crate::status::field;

const SCOPE: &str = "/proc/sys/kernel/yama/ptrace_scope";
/// The bit of `CAP_SYS_PTRACE`.
const TRACE: u64 = 1 << 19;

/// Why the kernel refuses, for a process of the same user.
pub(crate) fn missing(pid: u32, status: &str) -> String {
    let own = kernel::text("/proc/self/status").unwrap_or_default();
    let scope = kernel::text(SCOPE).ok().and_then(|scope| scope.trim().parse().ok());
    // The kernel gives the files of a process that must not be read to root.
    let owner = fs::metadata(format!("/proc/{pid}/mem")).map(|found| found.uid()).ok();
    let hidden = owner.is_some_and(|owner| owner != geteuid().as_raw());
    words(Circumstances { hidden, scope, own: capabilities(&own), others: capabilities(status) })
}

/// What the kernel asks for.
#[derive(Debug, Clone, Copy)]
struct Circumstances {
    /// Whether the process is marked as not to be read.
    hidden: bool,
    /// The setting of Yama; nothing where the kernel has none.
    scope: Option<u32>,
    own: u64,
    others: u64,
}

fn words(found: Circumstances) -> String {
    let Circumstances { hidden, scope, own, others } = found;
    let root = "run whyoom as root (with CAP_SYS_PTRACE)";
    if hidden {
        return format!(
            "it is marked as not dumpable (prctl PR_SET_DUMPABLE, a change of its user, or a \
             program file that cannot be read): {root}"
        );
    }
    match scope {
        Some(3) => "the kernel permits nobody to trace a process until it restarts \
                    (kernel.yama.ptrace_scope is 3)"
            .to_owned(),
        Some(scope @ 1..) if own & TRACE == 0 => format!(
            "kernel.yama.ptrace_scope is {scope}: {root}, or the operator permits it for all \
             processes of one user (sysctl kernel.yama.ptrace_scope=0){}",
            if scope == 1 { ", or the program for itself (prctl PR_SET_PTRACER)" } else { "" }
        ),
        _ if others & !own != 0 => format!(
            "it has capabilities that this shell lacks ({:#x}): {root}, or in its container",
            others & !own
        ),
        _ => format!(
            "the kernel or a security module (seccomp, SELinux, AppArmor) refuses it: {root}; in a \
             container it must be started with --cap-add SYS_PTRACE"
        ),
    }
}

fn capabilities(status: &str) -> u64 {
    field(status, "CapPrm").and_then(|bits| u64::from_str_radix(bits, 16).ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_missing_permission_is_named() {
        let plain = Circumstances { hidden: false, scope: Some(0), own: 0, others: 0 };
        for (found, word) in [
            (Circumstances { hidden: true, ..plain }, "not dumpable"),
            (Circumstances { scope: Some(1), ..plain }, "ptrace_scope is 1"),
            (Circumstances { scope: Some(1), ..plain }, "PR_SET_PTRACER"),
            (Circumstances { scope: Some(2), ..plain }, "ptrace_scope is 2"),
            (Circumstances { scope: Some(3), own: TRACE, ..plain }, "until it restarts"),
            (Circumstances { others: 0x20, ..plain }, "0x20"),
            (plain, "--cap-add SYS_PTRACE"),
            (Circumstances { scope: None, ..plain }, "--cap-add SYS_PTRACE"),
        ] {
            assert!(words(found).contains(word), "{found:?}: {}", words(found));
        }
        assert_eq!(capabilities("CapPrm:\t0000000000080000\n"), TRACE);
    }
}
