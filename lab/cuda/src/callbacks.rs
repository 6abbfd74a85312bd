//! Host functions that a stream calls. One thread runs them, in the order they were submitted.

use std::{
    cell::Cell,
    ffi::c_void,
    sync::{
        Condvar, Mutex, OnceLock, PoisonError,
        mpsc::{Sender, channel},
    },
    thread,
    time::{Duration, Instant},
};

use whyoom_lab_core::{Error, driver::HostCall};

/// A host function with its data.
pub(crate) enum Callback {
    /// Of `cuLaunchHostFunc`.
    Plain(extern "C" fn(*mut c_void), *mut c_void),
    /// Of `cuStreamAddCallback`, which is told the stream and a status.
    WithStatus(extern "C" fn(u64, u32, *mut c_void), u64, *mut c_void),
}

impl Callback {
    /// A function that the driver keeps as a number; none where the number is zero.
    pub(crate) fn plain(function: u64, data: u64) -> Option<Self> {
        // SAFETY: the number is the function pointer that the program gave for such a call; zero is
        // what `None` looks like.
        let function = unsafe {
            std::mem::transmute::<*const c_void, Option<extern "C" fn(*mut c_void)>>(
                function as *const c_void,
            )
        };
        Some(Self::Plain(function?, data as *mut c_void))
    }
}

// SAFETY: the API hands the pointer to another thread by contract; we only pass it on.
unsafe impl Send for Callback {}

static QUEUE: OnceLock<Sender<Submitted>> = OnceLock::new();
static PENDING: Mutex<usize> = Mutex::new(0);
static DONE: Condvar = Condvar::new();

thread_local! {
    /// Whether this is the thread that runs the functions.
    static RUNS_THEM: Cell<bool> = const { Cell::new(false) };
}

/// A host function that waits for the work before it.
struct Submitted {
    at: Instant,
    after: Duration,
    callback: Callback,
}

/// Submits a function that is to run once the work before it is finished.
pub(crate) fn submit(after: Duration, callback: Callback) {
    *PENDING.lock().unwrap_or_else(PoisonError::into_inner) += 1;
    let queue = QUEUE.get_or_init(start);
    if queue.send(Submitted { at: Instant::now(), after, callback }).is_err() {
        finished();
    }
}

/// Submits calls that the driver kept, to run at once.
pub(crate) fn submit_all(calls: Vec<HostCall>) {
    for HostCall { function, data } in calls {
        if let Some(callback) = Callback::plain(function, data) {
            submit(Duration::ZERO, callback);
        }
    }
}

/// Documented: such a function must not call the driver. One that waits would wait for itself.
pub(crate) fn forbid_waiting() -> Result<(), Error> {
    if RUNS_THEM.get() { Err(Error::NotPermitted) } else { Ok(()) }
}

/// Waits until all submitted functions have run.
pub(crate) fn wait_for_all() {
    let pending = PENDING.lock().unwrap_or_else(PoisonError::into_inner);
    drop(DONE.wait_while(pending, |pending| *pending > 0));
}

fn start() -> Sender<Submitted> {
    let (sender, receiver) = channel::<Submitted>();
    thread::spawn(move || {
        RUNS_THEM.set(true);
        for Submitted { at, after, callback } in receiver {
            thread::sleep(after.saturating_sub(at.elapsed()));
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
