//! Several programs at a time.

use std::{
    num::NonZeroUsize,
    sync::{Mutex, PoisonError},
    thread,
};

use anyhow::Result;

/// Does something with each of many, several at a time; the results are in their order.
pub(super) fn at_a_time<T: Sync, R: Send>(
    jobs: NonZeroUsize,
    all: &[T],
    each: impl Fn(&T) -> Result<R> + Sync,
) -> Result<Vec<R>> {
    let next = Mutex::new(all.iter().enumerate());
    let work = || {
        let mut done = Vec::new();
        loop {
            let taken = next.lock().unwrap_or_else(PoisonError::into_inner).next();
            let Some((index, one)) = taken else { return Ok(done) };
            done.push((index, each(one)?));
        }
    };
    let mut done: Vec<(usize, R)> = thread::scope(|scope| {
        let workers: Vec<_> = (0..jobs.get()).map(|_| scope.spawn(work)).collect();
        let ended = workers.into_iter().map(|worker| match worker.join() {
            Ok(done) => done,
            Err(panic) => std::panic::resume_unwind(panic),
        });
        ended.collect::<Result<Vec<Vec<_>>>>().map(|parts| parts.into_iter().flatten().collect())
    })?;
    done.sort_by_key(|(index, _)| *index);
    Ok(done.into_iter().map(|(_, result)| result).collect())
}

#[cfg(test)]
mod tests {
    use anyhow::ensure;

    use super::*;

    #[test]
    fn results_are_in_order_and_an_error_is_one() {
        let jobs = NonZeroUsize::new(3).unwrap();
        let all: Vec<u32> = (0..20).collect();
        assert_eq!(at_a_time(jobs, &all, |one| Ok(one * 2)).unwrap()[7..9], [14, 16]);
        assert!(
            at_a_time(jobs, &all, |one| {
                ensure!(*one != 5, "five");
                Ok(())
            })
            .is_err()
        );
    }
}
