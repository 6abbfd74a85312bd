//! Host functions that a stream calls. One thread runs them, in the order they were submitted.

use std::{
    ffi::c_void,
    sync::{
        Condvar, Mutex, OnceLock, PoisonError,
        mpsc::{Sender, channel},
    },
    thread,
    time::Duration,
};

/// A host function with its data.
pub(crate) enum Callback {
    /// Of `cuLaunchHostFunc`.
    Plain(extern "C" fn(*mut c_void), *mut c_void),
    /// Of `cuStreamAddCallback`, which is told the stream and a status.
    WithStatus(extern "C" fn(u64, u32, *mut c_void), u64, *mut c_void),
}

// SAFETY: the API hands the pointer to another thread by contract; we only pass it on.
unsafe impl Send for Callback {}

static QUEUE: OnceLock<Sender<(Duration, Callback)>> = OnceLock::new();
static PENDING: Mutex<usize> = Mutex::new(0);
static DONE: Condvar = Condvar::new();

/// Submits a function that is to run once the work before it is finished.
pub(crate) fn submit(after: Duration, callback: Callback) {
    *PENDING.lock().unwrap_or_else(PoisonError::into_inner) += 1;
    let queue = QUEUE.get_or_init(start);
    if queue.send((after, callback)).is_err() {
        finished();
    }
}

/// Waits until all submitted functions have run.
pub(crate) fn wait_for_all() {
    let pending = PENDING.lock().unwrap_or_else(PoisonError::into_inner);
    drop(DONE.wait_while(pending, |pending| *pending > 0));
}

fn start() -> Sender<(Duration, Callback)> {
    let (sender, receiver) = channel::<(Duration, Callback)>();
    thread::spawn(move || {
        for (after, callback) in receiver {
            thread::sleep(after);
            match callback {
                Callback::Plain(function, data) => function(data),
                Callback::WithStatus(function, stream, data) => function(stream, 0, data),
            }
            finished();
        }
    });
    sender
}

fn finished() {
    *PENDING.lock().unwrap_or_else(PoisonError::into_inner) -= 1;
    DONE.notify_all();
}
