//! Private pools that are open: graphs are captured into them.

use std::{
    sync::atomic::Ordering::Relaxed,
    thread::{self, ThreadId},
};

use crate::{
    driver::Stream,
    sync::{AtomicU32, Lock},
};

/// Private pools of one device.
#[derive(Default)]
pub(crate) struct Captures {
    /// How many are open: nobody looks further where none is.
    open: AtomicU32,
    pools: Lock<Pools>,
}

#[derive(Default)]
struct Pools {
    known: Vec<Private>,
    /// How many there were: numbers are not used again.
    numbered: u64,
}

struct Private {
    /// As its user names it.
    name: (u64, u64),
    /// As the lanes name it; never 0.
    number: u64,
    users: u32,
    is_open: bool,
    /// The thread that opened it last, and streams that were served from it since.
    opened_by: ThreadId,
    streams: Vec<Stream>,
}

impl Captures {
    /// Whether allocations may belong to a private pool.
    #[inline]
    pub(crate) fn are_open(&self) -> bool {
        self.open.load(Relaxed) > 0
    }

    /// Opens a pool; it has one user more.
    pub(crate) fn begin(&self, name: (u64, u64)) {
        let mut pools = self.pools.lock();
        let place = pools.known.iter().position(|pool| pool.name == name);
        // The one that was opened last comes last.
        let mut pool = match place {
            Some(place) => pools.known.remove(place),
            None => {
                pools.numbered += 1;
                let number = pools.numbered;
                let (opened_by, streams) = (thread::current().id(), Vec::new());
                Private { name, number, users: 0, is_open: false, opened_by, streams }
            }
        };
        pool.opened_by = thread::current().id();
        pool.streams.clear();
        pool.users += 1;
        if !pool.is_open {
            pool.is_open = true;
            self.open.fetch_add(1, Relaxed);
        }
        pools.known.push(pool);
    }

    /// Closes a pool: what it has stays.
    pub(crate) fn end(&self, name: (u64, u64)) {
        let mut pools = self.pools.lock();
        let mut named = pools.known.iter_mut().filter(|pool| pool.name == name && pool.is_open);
        if let Some(pool) = named.next() {
            pool.is_open = false;
            self.open.fetch_sub(1, Relaxed);
        }
    }

    /// A pool has one user less; its number, where that was the last.
    pub(crate) fn release(&self, name: (u64, u64)) -> Option<u64> {
        let pools = &mut self.pools.lock().known;
        let place = pools.iter().position(|pool| pool.name == name)?;
        pools[place].users = pools[place].users.saturating_sub(1);
        if pools[place].users > 0 {
            return None;
        }
        let pool = pools.remove(place);
        if pool.is_open {
            self.open.fetch_sub(1, Relaxed);
        }
        Some(pool.number)
    }

    /// What `mark` answers, where no pool is open, and none is opened meanwhile. Pools are opened before
    /// a capture begins: what is marked here is marked on no stream that is captured.
    pub(crate) fn if_none_open<T>(&self, mark: impl FnOnce() -> T) -> Option<T> {
        let pools = self.pools.lock();
        let is_open = pools.known.iter().any(|pool| pool.is_open);
        (!is_open).then(mark)
    }

    /// What its user calls the pool of that number.
    pub(crate) fn name_of(&self, number: u64) -> Option<(u64, u64)> {
        let pools = self.pools.lock();
        pools.known.iter().find(|pool| pool.number == number).map(|pool| pool.name)
    }

    /// The pool that a captured stream is served from. Several threads may capture at once: it is that
    /// which this thread opened; for other threads that work for a capture, that which served the
    /// stream before, or was opened last.
    pub(crate) fn serving(&self, stream: Stream) -> Option<u64> {
        let pools = &mut self.pools.lock().known;
        let thread = thread::current().id();
        let last = |chosen: &dyn Fn(&Private) -> bool| {
            pools.iter().rposition(|pool| pool.is_open && chosen(pool))
        };
        let place = last(&|pool| pool.opened_by == thread)
            .or_else(|| last(&|pool| pool.streams.contains(&stream)))
            .or_else(|| last(&|_| true))?;
        let pool = &mut pools[place];
        if !pool.streams.contains(&stream) {
            pool.streams.push(stream);
        }
        Some(pool.number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STREAM: Stream = Stream(5);

    #[test]
    fn a_pool_lives_as_long_as_its_users() {
        let captures = Captures::default();
        let serving = || captures.serving(STREAM);
        captures.begin((0, 7));
        assert_eq!((captures.are_open(), serving()), (true, Some(1)));
        captures.end((0, 7));
        assert_eq!((captures.are_open(), serving()), (false, None));
        captures.begin((0, 9));
        captures.begin((0, 7));
        assert_eq!(serving(), Some(1), "the one that was opened last");
        captures.end((0, 7));
        assert_eq!(serving(), Some(2));
        assert_eq!(captures.release((0, 7)), None, "it has another user");
        assert_eq!(captures.release((0, 7)), Some(1));
        assert_eq!(captures.release((0, 7)), None, "it is unknown");
        captures.begin((0, 7));
        assert_eq!(serving(), Some(3), "another pool of the same name");
        assert_eq!(captures.name_of(3), Some((0, 7)));
    }

    #[test]
    fn each_thread_is_served_from_the_pool_that_it_opened() {
        let captures = Captures::default();
        captures.begin((0, 1));
        let other = thread::scope(|scope| {
            let capture = || {
                captures.begin((0, 2));
                captures.serving(Stream(6))
            };
            scope.spawn(capture).join().ok().flatten()
        });
        assert_eq!((other, captures.serving(STREAM)), (Some(2), Some(1)));
        let helper = |stream| {
            thread::scope(|scope| scope.spawn(|| captures.serving(stream)).join().ok().flatten())
        };
        assert_eq!((helper(STREAM), helper(Stream(6))), (Some(1), Some(2)), "by the stream");
    }
}
