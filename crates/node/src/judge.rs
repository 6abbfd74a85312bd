//! From what was seen to what is said: pure, so that any capture can be judged again.

use crate::{
    capture::Capture,
    checks,
    report::{DeviceReport, NodeReport},
    scene::Scene,
};

/// Judges what was seen.
#[must_use]
pub fn judge(capture: &Capture) -> NodeReport {
    let device = |(place, device)| {
        let scene = Scene::new(capture, place, device);
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
    let (observer, unread) = (&capture.observer, capture.unread);
    let mut notes = Vec::new();
    if observer.in_first_namespace() == Some(false) {
        notes.push(
            "This is a container with process numbers of its own: processes outside it are not \
             listed. docker run --pid=host shows all."
                .to_owned(),
        );
    }
    // Whoever looks finds itself, where there is anything to look at.
    if observer.pid == 0 {
        notes.push(
            "There is no /proc here: no process can be looked at, and memory that none accounts for may \
             be anybody's. mount -t proc proc /proc"
                .to_owned(),
        );
    }
    if observer.foreign_proc {
        notes.push(
            "/proc is that of another namespace of process numbers: names, users and states above may \
             be those of others. In the container: mount -t proc proc /proc"
                .to_owned(),
        );
    }
    if observer.processes_hidden {
        notes.push(
            "/proc is mounted with hidepid: other users' processes are invisible to this user. \
             sudo whyoom who sees them."
                .to_owned(),
        );
    }
    if unread.files_denied > 0 {
        notes.push(format!(
            "The open files of {} of {} processes may not be read by this user: a process that has a \
             GPU open and is not listed would not be seen. {}",
            unread.files_denied,
            unread.seen,
            if observer.uid == Some(0) {
                "Not even root may here: the capability SYS_PTRACE is missing."
            } else {
                "sudo whyoom who looks at all."
            }
        ));
    }
    if unread.threads_skipped > 0 {
        notes.push(format!(
            "{} threads were not looked at, because there are very many.",
            unread.threads_skipped
        ));
    }
    if observer.under_windows {
        notes.push("Programs of Windows use the GPU too and cannot be seen from here.".to_owned());
    }
    notes.extend(unreadable_processes(capture));
    notes.extend(failures(capture));
    notes
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
        "The kernel log has {} failures of the driver (Xid {}): sudo dmesg | grep Xid.",
        xids.len(),
        numbers.join(", ")
    ))
}
