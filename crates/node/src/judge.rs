//! From what was seen to what is said: pure, so that any capture can be judged again.

use crate::{
    capture::Capture,
    checks,
    report::{DeviceReport, NodeReport},
    scene::{CheckContext, counted},
};

/// Judges what was seen.
#[must_use]
pub fn judge(capture: &Capture) -> NodeReport {
    let device = |(place, device)| {
        let scene = CheckContext::new(capture, place, device);
        let suspicions = checks::run(&scene);
        DeviceReport {
            device: device.clone(),
            residual: scene.residual,
            holders: scene.holders,
            suspicions,
        }
    };
    NodeReport {
        time: capture.time,
        devices: capture.devices.iter().enumerate().map(device).collect(),
        notes: notes(capture),
    }
}

/// What concerns no single device.
fn notes(capture: &Capture) -> Vec<String> {
    let (viewer, unread) = (&capture.viewer, capture.unread);
    let mut notes: Vec<String> = capture.silent.iter().map(|silent| silent.why.clone()).collect();
    notes.extend(on_unified_memory(capture));
    if viewer.in_first_namespace() == Some(false) {
        notes.push(
            "This is a container with its own PID namespace: processes outside it are not listed. \
             docker run --pid=host shows all."
                .to_owned(),
        );
    }
    // Whoever looks finds itself, where there is anything to look at.
    if viewer.pid == 0 {
        notes.push(
            "There is no /proc here: processes cannot be inspected, and memory that none accounts \
             for may belong to any process. mount -t proc proc /proc"
                .to_owned(),
        );
    }
    if viewer.foreign_proc {
        notes.push(
            "/proc belongs to another PID namespace: names, users and states above may be those of \
             other processes. In the container: mount -t proc proc /proc"
                .to_owned(),
        );
    }
    if viewer.processes_hidden {
        notes.push(
            "/proc is mounted with hidepid: other users' processes are invisible to this user. \
             sudo whyoom who sees them."
                .to_owned(),
        );
    }
    if unread.files_denied > 0 {
        notes.push(format!(
            "This user may not read the open files of {} of {} processes: a process that has a GPU \
             open but is not listed would be missed. {}",
            unread.files_denied,
            unread.seen,
            if viewer.uid == Some(0) {
                "Not even root may do this here: the capability SYS_PTRACE is missing."
            } else {
                "sudo whyoom who inspects all of them."
            }
        ));
    }
    if unread.threads_skipped > 0 {
        notes.push(format!(
            "{} not inspected, because there are very many.",
            match unread.threads_skipped {
                1 => "1 thread was".to_owned(),
                several => format!("{several} threads were"),
            }
        ));
    }
    if viewer.under_windows {
        notes.push("Windows programs use the GPU too and are not visible from here.".to_owned());
    }
    notes.extend(unreadable_processes(capture));
    notes.extend(failures(capture));
    notes
}

fn on_unified_memory(capture: &Capture) -> Option<String> {
    let devices = capture.devices.iter().filter(|device| device.unified_memory);
    let indices: Vec<String> = devices.map(|device| device.index.to_string()).collect();
    (!indices.is_empty()).then(|| {
        format!(
            "NVML does not report the memory of GPU {}, as where it uses the host's: the sizes are those of \
             /proc/meminfo.",
            indices.join(", ")
        )
    })
}

fn unreadable_processes(capture: &Capture) -> Option<String> {
    let listless: Vec<String> = capture
        .devices
        .iter()
        .filter(|device| device.processes.is_none())
        .map(|device| device.index.to_string())
        .collect();
    (!listless.is_empty())
        .then(|| format!("The driver lists no processes for GPU {}.", listless.join(", ")))
}

/// Failures of the driver, from the kernel's log.
fn failures(capture: &Capture) -> Option<String> {
    let xids = capture.xids.as_ref().filter(|xids| !xids.is_empty())?;
    let mut numbers: Vec<u32> = xids.iter().map(|xid| xid.number).collect();
    numbers.sort_unstable();
    numbers.dedup();
    let numbers: Vec<String> = numbers.iter().map(u32::to_string).collect();
    Some(format!(
        "The kernel log has {} of the driver (Xid {}): sudo dmesg | grep Xid.",
        counted(xids.len(), "failure"),
        numbers.join(", ")
    ))
}
