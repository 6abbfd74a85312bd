//! Runs of programs, two at a time.

use std::{
    collections::BTreeMap,
    sync::{
        Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
};

/// So many run at a time: each takes one core, and up to 2.3 GiB of the host's memory.
const AT_A_TIME: usize = 2;

/// Does the work of all items, two at a time; the results in the order of the items.
///
/// # Panics
/// Where the work panics.
pub fn two_at_a_time<T: Sync, R: Send>(items: &[T], work: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let (next, done) = (AtomicUsize::new(0), Mutex::new(BTreeMap::new()));
    let worker = || {
        while let Some((index, item)) = {
            let index = next.fetch_add(1, Ordering::Relaxed);
            items.get(index).map(|item| (index, item))
        } {
            let result = work(item);
            if let Ok(mut done) = done.lock() {
                done.insert(index, result);
            }
        }
    };
    thread::scope(|scope| {
        for _ in 0..AT_A_TIME {
            scope.spawn(worker);
        }
    });
    let done = done.into_inner().unwrap_or_default();
    assert_eq!(done.len(), items.len(), "not all of the work was done");
    done.into_values().collect()
}
