//! Whether a thread waits in the kernel: then it holds none of the C library's locks, and a function can be called on
//! its stack.

use whyoom_files::kernel;

/// The numbers of system calls that wait for something else: time, a lock, input, a child.
#[cfg(target_arch = "x86_64")]
const WAITS: &[u64] =
    &[0, 7, 23, 34, 35, 43, 45, 47, 61, 128, 130, 202, 230, 232, 247, 270, 271, 281, 288, 441, 449];
#[cfg(target_arch = "aarch64")]
const WAITS: &[u64] =
    &[22, 63, 72, 73, 95, 98, 101, 115, 133, 137, 202, 207, 212, 242, 260, 441, 449];
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
const WAITS: &[u64] = &[];

/// Whether a thread that is stopped was waiting.
pub(crate) fn is_waiting(pid: u32, thread: u32) -> bool {
    let call = kernel::text(format!("/proc/{pid}/task/{thread}/syscall")).unwrap_or_default();
    is_wait(&call)
}

/// `NUMBER ARGUMENTS…`, `running`, or `-1 …` where it is in no call.
fn is_wait(call: &str) -> bool {
    let number = call.split_whitespace().next().and_then(|number| number.parse().ok());
    number.is_some_and(|number| WAITS.contains(&number))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg(target_arch = "x86_64")]
    fn only_what_waits_for_something_else() {
        assert!(is_wait("230 0x1 0x1 0x7ffd9742a8b0 0x0 0x0 0x0 0x7ffd 0x7fbe"));
        assert!(is_wait("202 0x1"));
        for other in ["9 0x0", "-1 0x7ffd 0x7fbe", "running", ""] {
            assert!(!is_wait(other), "{other}");
        }
    }
}
