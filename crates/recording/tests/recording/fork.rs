//! A forked child and its parent's recording.

use whyoom_recording::{ForkGuard, Options, Part, Recording, Stop};
use whyoom_trace::ThreadId;

use crate::common::{alloc, part, read};

/// Runs a function in a forked child; whether it said yes. Other threads are not there: it may
/// wait for none.
fn in_child(question: impl FnOnce() -> bool) -> bool {
    // SAFETY: the child calls nothing but the function and `_exit`.
    unsafe {
        match libc::fork() {
            0 => libc::_exit(i32::from(!question())),
            child => {
                let mut status = -1;
                assert_eq!(libc::waitpid(child, &raw mut status, 0), child);
                status == 0
            }
        }
    }
}

#[test]
fn a_child_cannot_write_to_its_parents_part() {
    let folder = tempfile::tempdir().unwrap();
    let part = part(folder.path(), None);
    let mut lease = part.lease(ThreadId(1)).unwrap();
    lease.event(&part, &alloc(1, 0)).unwrap();
    let refused = in_child(|| {
        let event = lease.event(&part, &alloc(1, 1)) == Err(Stop::Forked);
        let another = matches!(part.lease(ThreadId(2)), Err(Stop::Forked));
        part.failed();
        part.end();
        event && another && !part.is_same_process()
    });
    assert!(refused);
    lease.event(&part, &alloc(1, 1)).unwrap();
    assert_eq!(part.live().failures.load(std::sync::atomic::Ordering::Relaxed), 0);
    drop((lease, part));
    assert_eq!(read(folder.path()).0.len(), 2);
}

#[test]
fn a_limit_on_files_stops_recording_and_not_the_program() {
    let folder = tempfile::tempdir().unwrap();
    let part = part(folder.path(), None);
    let stopped = in_child(|| {
        let limit = libc::rlimit { rlim_cur: 20_000, rlim_max: 20_000 };
        // SAFETY: the limit is this child's own.
        assert_eq!(unsafe { libc::setrlimit(libc::RLIMIT_FSIZE, &raw const limit) }, 0);
        let part = Part::create(folder.path(), Options::default()).unwrap();
        let mut lease = part.lease(ThreadId(1)).unwrap();
        lease.event(&part, &alloc(1, 0)) == Err(Stop::FileTooLarge)
    });
    assert!(stopped);
    drop(part);
    let recording = Recording::open(folder.path()).unwrap();
    let why: Vec<_> = recording.parts().iter().map(|info| info.stopped.as_str()).collect();
    assert!(why[0].is_empty() && why[1].contains("ulimit -f"), "{why:?}");
}

#[test]
fn a_guard_knows_its_process() {
    let guard = ForkGuard::new().unwrap();
    assert!(guard.is_same_process());
    assert!(in_child(|| !guard.is_same_process()));
    assert!(guard.is_same_process());
}
