//! Checks of a device's memory.

use whyoom_gpu::{Ecc, ProcessKind, ProcessUse};

use super::{GIB, capture, device, judged, only, process, says};
use crate::{capture::Xid, report::SuspicionKind};

#[test]
fn hidden_by_a_namespace() {
    let mut full = device(&[]);
    full.memory.used += 20 * GIB;
    full.memory.free -= 20 * GIB;
    let mut seen = capture(full, vec![]);
    seen.viewer.pid_namespace = Some(4_026_532_000);
    let found = only(&seen, SuspicionKind::Hidden);
    assert_eq!(found.bytes, Some(20 * GIB));
    says(&found, &["20.00 GiB", "--pid=host", "no process is listed"]);
}

#[test]
fn a_residual_names_who_may_have_it() {
    let mut full = device(&[(50, GIB)]);
    full.memory.used += 2 * GIB;
    full.memory.free -= 2 * GIB;
    let mut seen = capture(full, vec![process(50)]);
    seen.library_users = vec![60, 61];
    let found = only(&seen, SuspicionKind::Residual);
    assert_eq!((found.bytes, found.pids.as_slice()), (Some(2 * GIB), &[60, 61][..]));
    says(
        &found,
        &["2.00 GiB", "1 listed process holds 1.00 GiB", "PIDs 60 and 61 have", "is normal"],
    );

    seen.library_users = vec![60];
    says(&only(&seen, SuspicionKind::Residual), &["PID 60 has the driver's library"]);

    seen.devices[0].memory.used -= 2 * GIB - (200 << 20);
    assert_eq!(judged(&seen).suspicions, [], "a few hundred MiB are normal");
    assert_eq!(judged(&seen).residual, 200 << 20);
}

#[test]
fn what_is_not_told_is_no_residual() {
    let mut untold = device(&[(50, GIB)]);
    untold.memory.used += 9 * GIB;
    untold.processes = Some(vec![ProcessUse { pid: 50, bytes: None, kind: ProcessKind::Compute }]);
    assert_eq!(judged(&capture(untold, vec![process(50)])).suspicions, []);
}

#[test]
fn capacity_lost_to_error_correction_and_to_errors() {
    let mut less = device(&[]);
    less.memory.total -= less.memory.total / 16;
    let found = only(&capture(less.clone(), vec![]), SuspicionKind::LostCapacity);
    assert_eq!((found.bytes, found.command.as_deref()), (Some(5 * GIB), None));
    less.ecc = Some(Ecc { enabled: true, pending: true });
    let found = only(&capture(less.clone(), vec![]), SuspicionKind::LostCapacity);
    assert_eq!(found.command.as_deref(), Some("sudo nvidia-smi -i 0 --ecc-config=0"));
    says(&found, &["5.00 GiB less", "80.00 GiB", "ECC"]);

    less.memory.total = 20 * GIB;
    assert_eq!(
        judged(&capture(less, vec![])).suspicions,
        [],
        "a part of a product is another thing"
    );

    let mut worn = device(&[]);
    (worn.retired_pages, worn.remapped_rows) = (Some(12), Some(3));
    let mut seen = capture(worn, vec![]);
    seen.xids = Some(vec![Xid { bus: "0000:3b:00".to_owned(), number: 63 }]);
    let found = only(&seen, SuspicionKind::LostCapacity);
    says(&found, &["12 pages", "768.00 KiB", "3 rows", "1 memory error for"]);
    (seen.devices[0].retired_pages, seen.devices[0].remapped_rows) = (Some(1), None);
    let found = only(&seen, SuspicionKind::LostCapacity);
    assert!(found.headline.ends_with("to errors: 1 page"), "{}", found.headline);
    says(&found, &["1 page was retired"]);
}
