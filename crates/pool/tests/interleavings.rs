//! Threads on one pool, in orders that a scheduler chooses: `RUSTFLAGS="--cfg shuttle" cargo test -p
//! whyoom-pool --test interleavings`. No two threads ever have the same memory, and none waits for
//! another that waits for it.
#![cfg(shuttle)]

mod support;

use std::{collections::BTreeMap, sync::Arc};

use shuttle::{sync::Mutex, thread};
use support::{Fake, PAGE};
use whyoom_pool::{DevicePool, Options, Stream};

/// Orders that are tried of each program.
const ORDERS: usize = 1000;
/// Scheduling decisions that may be taken against the usual order.
const DEPTH: usize = 4;

#[derive(Clone)]
struct Program {
    pool: Arc<DevicePool>,
    live: Arc<Mutex<BTreeMap<u64, u64>>>,
}

impl Program {
    fn new(pages: u64) -> Self {
        let device = Fake::new(pages * PAGE);
        let pool = Arc::new(DevicePool::new(0, Box::new(device), Options::default()));
        Self { pool, live: Arc::default() }
    }

    fn alloc(&self, size: u64, stream: u64) -> Option<u64> {
        let address = self.pool.alloc(size, Stream(stream)).ok()?;
        let mut live = self.live.lock().expect("no thread has failed");
        let before = live.range(..address + size).next_back();
        assert!(before.is_none_or(|(other, size)| other + size <= address), "shared memory");
        live.insert(address, size);
        Some(address)
    }

    fn free(&self, address: Option<u64>, stream: u64) {
        let Some(address) = address else { return };
        self.live.lock().expect("no thread has failed").remove(&address);
        self.pool.free(address, Some(Stream(stream))).expect("it is live");
    }

    /// A thread's life: blocks of several sizes, one of which another stream uses.
    fn work(&self, stream: u64) {
        let first = self.alloc(3 << 20, stream);
        let second = self.alloc(700, stream);
        if let Some(second) = second {
            self.pool.add_use(second, Stream(stream + 1)).expect("it is live");
        }
        self.free(first, stream);
        let third = self.alloc(5 << 20, stream);
        self.free(second, stream);
        self.free(third, stream);
    }
}

fn explore(program: impl Fn() + Send + Sync + 'static) {
    let program = Arc::new(program);
    let again = Arc::clone(&program);
    shuttle::check_random(move || program(), ORDERS);
    shuttle::check_pct(move || again(), ORDERS, DEPTH);
}

fn at_once(threads: Vec<Box<dyn FnOnce() + Send>>) {
    let threads: Vec<_> = threads.into_iter().map(thread::spawn).collect();
    for thread in threads {
        thread.join().expect("no thread has failed");
    }
}

#[test]
fn streams_side_by_side_on_a_small_device() {
    explore(|| {
        let program = Program::new(6);
        let work = |stream| {
            let program = program.clone();
            Box::new(move || program.work(stream)) as Box<dyn FnOnce() + Send>
        };
        at_once(vec![work(10), work(20), work(10)]);
        program.pool.trim(0);
        let end = program.pool.statistics();
        assert_eq!((end.reserved, end.allocated, end.pending), (0, 0, 0));
    });
}

#[test]
fn a_stream_that_ends_and_one_that_trims() {
    explore(|| {
        let program = Program::new(6);
        let (worker, ender, trimmer) = (program.clone(), program.clone(), program.clone());
        at_once(vec![
            Box::new(move || worker.work(10)),
            Box::new(move || {
                ender.work(20);
                ender.pool.end_stream(Stream(20));
                ender.work(20);
            }),
            Box::new(move || {
                trimmer.pool.trim(0);
                let _ = trimmer.pool.statistics();
                let _ = trimmer.pool.blocks();
            }),
        ]);
        program.pool.trim(0);
        assert_eq!(program.pool.statistics().reserved, 0);
    });
}

#[test]
fn private_pools_come_and_go() {
    explore(|| {
        let program = Program::new(8);
        let (worker, capturer) = (program.clone(), program.clone());
        at_once(vec![
            Box::new(move || worker.work(10)),
            Box::new(move || {
                for name in 0..2 {
                    capturer.pool.begin_private((0, name));
                    capturer.work(20);
                    capturer.pool.end_private((0, name));
                    capturer.pool.release_private((0, name));
                }
            }),
        ]);
        program.pool.trim(0);
        assert_eq!(program.pool.statistics().reserved, 0);
    });
}
