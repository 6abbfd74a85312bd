//! A child that is forked while other threads capture can capture too.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use whyoom_stacks::{
    Capturer, MAX_FRAMES, Raw, after_fork_in_child, after_fork_in_parent, before_fork,
};

const FORKS: usize = 200;

fn captures(capturer: &Capturer) -> bool {
    capturer.capture(&mut [Raw::Native(0); MAX_FRAMES]) > 0
}

/// Forks; the child captures, between the fork's handlers and after them, and ends.
fn fork(capturer: &Capturer) -> libc::pid_t {
    before_fork();
    assert!(captures(capturer), "the forking thread does not wait for itself");
    // SAFETY: the child does nothing that needs another thread, and ends at once.
    match unsafe { libc::fork() } {
        0 => {
            after_fork_in_child();
            let failed = i32::from(!captures(capturer));
            // SAFETY: ends the child without the parent's handlers.
            unsafe { libc::_exit(failed) }
        }
        child => {
            after_fork_in_parent();
            child
        }
    }
}

/// How a child ended; none if it hangs, and then it is killed.
fn ended(child: libc::pid_t) -> Option<i32> {
    let deadline = Instant::now() + Duration::from_secs(20);
    let mut status = 0;
    // SAFETY: a child of this process, and a place for its status.
    while unsafe { libc::waitpid(child, &raw mut status, libc::WNOHANG) } == 0 {
        if Instant::now() > deadline {
            // SAFETY: as above: it was not waited for yet, so the number is still its own.
            unsafe { libc::kill(child, libc::SIGKILL) };
            return None;
        }
        std::thread::sleep(Duration::from_micros(100));
    }
    Some(status)
}

#[test]
fn children_do_not_hang() {
    let capturer = Capturer::new();
    assert!(captures(&capturer));
    let done = AtomicBool::new(false);
    let results: Vec<_> = std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                while !done.load(Ordering::Relaxed) {
                    captures(&capturer);
                }
            });
        }
        let results = (0..FORKS).map(|_| ended(fork(&capturer)));
        let results = results.take_while(|result| result.is_some()).collect();
        done.store(true, Ordering::Relaxed);
        results
    });
    assert_eq!(results, vec![Some(0); FORKS]);
}
