//! The driver of this process, behind one lock.

use std::{
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
    thread,
    time::Duration,
};

use whyoom_lab_core::{
    Error,
    driver::{ContextId, Driver},
};
use whyoom_trace::SyncScope;

use crate::{
    callbacks,
    status::{Failure, Result},
};

static DRIVER: Mutex<Option<Driver>> = Mutex::new(None);

/// Set in a child that was forked after its parent had initialized: documented, the child cannot
/// use the driver. Its copy of the lock may be held for ever, so this is looked at first.
static FORKED: AtomicBool = AtomicBool::new(false);

extern "C" fn note_fork() {
    FORKED.store(true, Relaxed);
}

/// Starts the driver; a second call does nothing.
pub(crate) fn initialize() -> Result<()> {
    let mut driver = lock()?;
    if driver.is_none() {
        *driver = Some(Driver::start()?);
        // SAFETY: the handler is async-signal-safe: it stores one word.
        unsafe { libc::pthread_atfork(None, None, Some(note_fork)) };
    }
    Ok(())
}

/// Whether the driver was started.
pub(crate) fn initialized() -> Result<()> {
    with(|_| Ok(()))
}

/// Calls the driver.
pub(crate) fn with<T>(call: impl FnOnce(&mut Driver) -> Result<T>) -> Result<T> {
    let mut guard = lock()?;
    let driver = guard.as_mut().ok_or(Error::NotInitialized)?;
    let answer = call(driver);
    // What the call ended of the program's own is ended by the thread that makes its calls.
    let due = driver.take_due();
    drop(guard);
    callbacks::submit_all(due);
    answer
}

/// Calls the driver with the thread's current context.
pub(crate) fn in_context<T>(call: impl FnOnce(&mut Driver, ContextId) -> Result<T>) -> Result<T> {
    with(|driver| {
        let context = driver.current()?;
        call(driver, context)
    })
}

/// Calls the driver with the thread's current context, unless a capture forbids what it cannot see.
pub(crate) fn unseen_by_captures<T>(
    call: impl FnOnce(&mut Driver, ContextId) -> Result<T>,
) -> Result<T> {
    in_context(|driver, context| {
        driver.forbid_in_capture()?;
        call(driver, context)
    })
}

/// Whether this process may use the driver at all.
pub(crate) fn usable() -> Result<()> {
    if FORKED.load(Relaxed) { Err(Failure(Error::NotInitialized)) } else { Ok(()) }
}

fn lock() -> Result<MutexGuard<'static, Option<Driver>>> {
    usable()?;
    // A panic of ours has been reported to its caller; the state is as good as it was.
    Ok(DRIVER.lock().unwrap_or_else(PoisonError::into_inner))
}

/// Waits without holding the lock, then lets the driver note it.
pub(crate) fn synchronize(
    scope: SyncScope,
    until: impl Fn(&mut Driver, ContextId) -> Result<(ContextId, Duration)>,
) -> Result<()> {
    callbacks::forbid_waiting()?;
    let (context, pause) = in_context(|driver, current| {
        let (context, left) = until(driver, current)?;
        Ok((context, left.max(driver.synchronize_delay())))
    })?;
    sleep(pause);
    callbacks::wait_for_all();
    with(|driver| Ok(driver.synchronized(context, scope)?))
}

/// Waits for all work of the current context, as calls do that must not overtake it. Captures do not
/// see such calls.
pub(crate) fn wait_for_context() -> Result<()> {
    let pause = unseen_by_captures(|driver, context| Ok(driver.until_context(context)))?;
    sleep(pause);
    in_context(|driver, context| Ok(driver.show_failure(context)?))
}

fn sleep(pause: Duration) {
    if !pause.is_zero() {
        thread::sleep(pause);
    }
}
