//! Locks and atomics: the standard library's, or those of a model checker.

#[cfg(shuttle)]
pub(crate) use shuttle::sync::{
    Mutex, MutexGuard,
    atomic::{AtomicBool, AtomicI64, AtomicU32, AtomicU64, AtomicUsize},
};
#[cfg(not(shuttle))]
pub(crate) use std::sync::{
    Mutex, MutexGuard,
    atomic::{AtomicBool, AtomicI64, AtomicU32, AtomicU64, AtomicUsize},
};
use std::sync::{PoisonError, TryLockError};

/// A lock that a panic elsewhere does not close: what it guards is judged by its own checks.
#[derive(Debug, Default)]
pub(crate) struct Lock<T>(Mutex<T>);

impl<T> Lock<T> {
    pub(crate) fn new(value: T) -> Self {
        Self(Mutex::new(value))
    }

    #[inline]
    pub(crate) fn lock(&self) -> MutexGuard<'_, T> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The value, where nobody has it in hand.
    pub(crate) fn try_lock(&self) -> Option<MutexGuard<'_, T>> {
        match self.0.try_lock() {
            Ok(value) => Some(value),
            Err(TryLockError::Poisoned(error)) => Some(error.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        }
    }
}
