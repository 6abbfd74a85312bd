//! Stream-ordered pools: what they gave out, what they keep, what waits for a stream.
//!
//! Events tell what a pool gave out and took back. What it holds is bounded by them: as much as it had
//! given out at once, less what a trim or a synchronize made it give up. Where the driver was asked
//! ([`PoolFigures`]), its answer counts.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use whyoom_trace::{Bytes, Counter, PoolId, StreamId, SyncScope};

/// A pool as the driver described it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PoolFigures {
    /// What it has given to the program, with what waits for a stream.
    pub used: Option<Bytes>,
    /// What it holds.
    pub reserved: Option<Bytes>,
    /// What it keeps when nothing uses it.
    pub threshold: Option<Bytes>,
}

impl PoolFigures {
    /// Takes a counter, if it is one of a pool.
    pub(crate) fn take(&mut self, counter: Counter, bytes: Bytes) -> bool {
        let figure = match counter {
            Counter::PoolUsed => &mut self.used,
            Counter::PoolReserved => &mut self.reserved,
            Counter::PoolThreshold => &mut self.threshold,
            _ => return false,
        };
        *figure = Some(bytes);
        true
    }
}

/// A stream-ordered pool at one instant.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct PoolState {
    /// Which.
    pub pool: PoolId,
    /// What the program holds of it.
    pub used: Bytes,
    /// What it holds.
    pub reserved: Bytes,
    /// Freed, but a stream may still use it.
    pub pending: Bytes,
    /// Freed, and its stream was not waited for since, as far as the calls tell.
    pub unwaited: Bytes,
    /// What it keeps when nothing uses it.
    pub threshold: Bytes,
    /// Whether the driver told this, or it follows from the calls.
    pub told: bool,
}

impl PoolState {
    /// What it keeps that nothing uses or waits for.
    #[must_use]
    pub fn idle(&self) -> Bytes {
        self.reserved.minus(self.used).minus(self.pending)
    }
}

#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct Pools {
    pools: BTreeMap<PoolId, Pool>,
    /// What all of them keep unused.
    idle: u128,
    /// Those that changed since the host last waited: for others waiting once more changes nothing.
    changed: BTreeSet<PoolId>,
    /// Those with something that waits for a stream.
    waiting: BTreeMap<StreamId, BTreeSet<PoolId>>,
    /// Those that have a threshold and never gave anything out.
    unserved: BTreeSet<PoolId>,
}

#[derive(Debug, Default, Serialize, Deserialize)]
struct Pool {
    used: Bytes,
    reserved: Bytes,
    threshold: Option<Bytes>,
    /// Whether it ever gave anything out.
    served: bool,
    /// Freed since the stream was last waited for.
    unsynchronized: BTreeMap<StreamId, Bytes>,
    /// The sum of these.
    unwaited: Bytes,
}

impl Pools {
    pub(crate) fn alloc(&mut self, pool: PoolId, size: Bytes) {
        let newly = self.change(pool, |pool| {
            pool.used = pool.used.plus(size);
            pool.reserved = pool.reserved.max(pool.used);
            !std::mem::replace(&mut pool.served, true)
        });
        if newly && self.unserved.remove(&pool) {
            self.changed.insert(PoolId(0));
        }
    }

    pub(crate) fn free(&mut self, pool: PoolId, size: Bytes, stream: StreamId) {
        self.change(pool, |pool| {
            pool.used = pool.used.minus(size);
            let waiting = pool.unsynchronized.entry(stream).or_default();
            *waiting = waiting.plus(size);
            pool.unwaited = pool.unwaited.plus(size);
        });
        self.waiting.entry(stream).or_default().insert(pool);
    }

    pub(crate) fn set_threshold(&mut self, pool: PoolId, value: Bytes) {
        let served = self.change(pool, |pool| {
            pool.threshold = Some(value);
            pool.served
        });
        if !served {
            self.unserved.insert(pool);
            self.changed.insert(PoolId(0));
        }
    }

    pub(crate) fn trim(&mut self, pool: PoolId, keep: Bytes) {
        let name = self.serving(pool);
        if self.pools.contains_key(&name) {
            self.change(name, |pool| pool.reserved = pool.reserved.min(keep.max(pool.used)));
        }
    }

    /// Changes a pool, which is there from then on.
    fn change<T>(&mut self, name: PoolId, by: impl FnOnce(&mut Pool) -> T) -> T {
        let pool = self.pools.entry(name).or_default();
        let before = pool.idle();
        let result = by(pool);
        self.idle = self.idle - u128::from(before.0) + u128::from(pool.idle().0);
        self.changed.insert(name);
        result
    }

    /// The host waited. Waiting for the default stream waits for the others too; what came before an event
    /// is not told, so waiting for one frees nothing for sure.
    pub(crate) fn synchronize(&mut self, scope: SyncScope, stream: StreamId) {
        let all = match scope {
            SyncScope::Device => true,
            SyncScope::Stream => stream == StreamId(0),
            _ => return,
        };
        let mut concerned = std::mem::take(&mut self.changed);
        if all {
            concerned.extend(std::mem::take(&mut self.waiting).into_values().flatten());
        } else {
            concerned.extend(self.waiting.remove(&stream).unwrap_or_default());
        }
        for name in concerned {
            if !self.pools.contains_key(&name) {
                continue;
            }
            let threshold = self.threshold(name);
            self.change(name, |pool| {
                pool.wait_for((!all).then_some(stream));
                let in_use = pool.used.plus(pool.pending());
                pool.reserved = pool.reserved.min(threshold.max(in_use));
            });
        }
        self.changed.clear();
    }

    /// What all of them keep unused, as far as the calls tell.
    pub(crate) fn idle(&self) -> Bytes {
        Bytes(u64::try_from(self.idle).unwrap_or(u64::MAX))
    }

    /// Every pool that gave anything out, or that the driver told of.
    pub(crate) fn states(&self, told: &BTreeMap<PoolId, PoolFigures>) -> Vec<PoolState> {
        let mut states: Vec<PoolState> =
            told.iter().map(|(&pool, figures)| self.told(pool, figures)).collect();
        let covered: BTreeSet<PoolId> = told.keys().map(|&pool| self.serving(pool)).collect();
        let served =
            self.pools.iter().filter(|(name, pool)| pool.served && !covered.contains(name));
        states.extend(served.map(|(&name, pool)| PoolState {
            pool: name,
            used: pool.used,
            reserved: pool.reserved,
            pending: pool.pending(),
            unwaited: pool.pending(),
            threshold: self.threshold(name),
            told: false,
        }));
        states
    }

    fn told(&self, pool: PoolId, figures: &PoolFigures) -> PoolState {
        let serving = self.serving(pool);
        let seen = self.pools.get(&serving);
        let held = seen.map_or(Bytes::ZERO, |pool| pool.used);
        let used = figures.used.unwrap_or(held);
        // The driver counts what waits for a stream as used; the calls tell that it was freed.
        let pending = used.minus(held).min(seen.map_or(Bytes::ZERO, Pool::pending));
        PoolState {
            pool,
            used: used.minus(pending),
            reserved: figures.reserved.or(seen.map(|pool| pool.reserved)).unwrap_or_default(),
            pending,
            // How much of it a later request got again, the calls do not tell; what the driver holds does.
            unwaited: seen.map_or(Bytes::ZERO, |pool| pool.unwaited),
            threshold: figures.threshold.unwrap_or_else(|| self.threshold(serving)),
            told: true,
        }
    }

    /// The name under which a pool gives out: what a program takes from the default pool names none.
    fn serving(&self, pool: PoolId) -> PoolId {
        let served = |pool| self.pools.get(&pool).is_some_and(|pool| pool.served);
        if served(pool) || !served(PoolId(0)) { pool } else { PoolId(0) }
    }

    /// The threshold of a pool; what was set under a name that never gave anything out was set for the
    /// default pool.
    fn threshold(&self, name: PoolId) -> Bytes {
        let own = self.pools.get(&name).and_then(|pool| pool.threshold);
        let unserved = || {
            let first = self.unserved.first().filter(|_| name == PoolId(0))?;
            self.pools.get(first)?.threshold
        };
        own.or_else(unserved).unwrap_or_default()
    }
}

impl Pool {
    /// What it keeps that it did not give out.
    fn idle(&self) -> Bytes {
        self.reserved.minus(self.used)
    }

    fn pending(&self) -> Bytes {
        self.unwaited.min(self.idle())
    }

    /// A stream was waited for, or all of them.
    fn wait_for(&mut self, stream: Option<StreamId>) {
        match stream {
            Some(stream) => {
                let waited = self.unsynchronized.remove(&stream).unwrap_or_default();
                self.unwaited = self.unwaited.minus(waited);
            }
            None => {
                self.unsynchronized.clear();
                self.unwaited = Bytes::ZERO;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STREAM: StreamId = StreamId(7);

    fn freed(threshold: u64) -> Pools {
        let mut pools = Pools::default();
        pools.set_threshold(PoolId(9), Bytes(threshold));
        pools.alloc(PoolId(0), Bytes(100));
        pools.free(PoolId(0), Bytes(100), STREAM);
        pools
    }

    fn only(pools: &Pools) -> PoolState {
        let states = pools.states(&BTreeMap::new());
        assert_eq!(states.len(), 1, "{states:?}");
        states[0]
    }

    #[test]
    fn what_is_freed_waits_for_its_stream_and_then_goes_or_stays() {
        let mut pools = freed(0);
        assert_eq!(only(&pools).pending, Bytes(100));
        pools.synchronize(SyncScope::Stream, StreamId(8));
        assert_eq!(only(&pools).pending, Bytes(100), "another stream was waited for");
        pools.synchronize(SyncScope::Event, StreamId(0));
        assert_eq!(only(&pools).pending, Bytes(100), "an event may come before the free");
        pools.synchronize(SyncScope::Stream, STREAM);
        assert_eq!((only(&pools).pending, only(&pools).reserved), (Bytes(0), Bytes(0)));

        let mut keeping = freed(60);
        keeping.synchronize(SyncScope::Device, StreamId(0));
        assert_eq!(only(&keeping).idle(), Bytes(60), "the threshold is the default pool's");
        keeping.trim(PoolId(9), Bytes(10));
        assert_eq!(only(&keeping).idle(), Bytes(10));
    }

    #[test]
    fn the_drivers_word_counts() {
        let pools = freed(1000);
        let mut figures = PoolFigures::default();
        for (counter, bytes) in [(Counter::PoolUsed, 30), (Counter::PoolReserved, 128)] {
            assert!(figures.take(counter, Bytes(bytes)));
        }
        let states = pools.states(&BTreeMap::from([(PoolId(9), figures)]));
        assert_eq!(states.len(), 1);
        let state = states[0];
        assert_eq!((state.reserved, state.pending), (Bytes(128), Bytes(30)));
        assert_eq!((state.used, state.idle()), (Bytes(0), Bytes(98)));
    }
}
