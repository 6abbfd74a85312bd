//! A fault on demand, for tests: the hook that `WHYOOM_RECORDER_FAULT` names fails in the recorder.

use std::{
    ptr,
    sync::atomic::{AtomicPtr, Ordering::Relaxed},
};

use crate::hook::Hook;

static FAULT: AtomicPtr<Hook> = AtomicPtr::new(ptr::null_mut());

/// Reads which one is to fail.
pub(super) fn prepare(hook_named: fn(&str) -> Option<&'static Hook>) {
    if let Ok(fault) = std::env::var("WHYOOM_RECORDER_FAULT")
        && let Some(hook) = hook_named(&fault)
    {
        FAULT.store(ptr::from_ref(hook).cast_mut(), Relaxed);
    }
}

/// Fails where a test asked for it.
#[inline]
pub(super) fn fault_of(hook: &'static Hook) {
    if ptr::eq(FAULT.load(Relaxed), hook) {
        fail_on_demand();
    }
}

#[cold]
#[allow(clippy::panic, reason = "the fault requested by a test")]
fn fail_on_demand() {
    panic!("requested by WHYOOM_RECORDER_FAULT");
}
