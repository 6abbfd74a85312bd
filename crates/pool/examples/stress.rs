//! Random operations on the pool of a device, by many threads on many streams, with blocks that go
//! from thread to thread, are used by other streams, and come from captures:
//!
//!     stress OPERATIONS [THREADS] [SEED]
//!
//! In the debug mode (WHYOOM_POOL_DEBUG=1) every block is checked against all others and has a guard.
//! At the end everything is given back, and nothing may be missing.

use std::{
    ffi::c_void,
    process::ExitCode,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    thread,
    time::Instant,
};

use whyoom_gpu::driver::Driver;
use whyoom_pool::{DevicePool, PoolError, Stream, process};

/// Blocks that a thread holds at most.
const MOST_HELD: usize = 128;
/// One operation in so many begins a capture, which one in so many ends: it is short, as captures are.
const CAPTURE_EVERY: u64 = 20_000;
const CAPTURE_LASTS: u64 = 100;
/// Sizes that come again, as in a training loop.
const USUAL: [u64; 8] = [512, 4096, 65_536, 1 << 18, 1 << 20, 3 << 20, 700_000, 1_300_000];

type Begin = unsafe extern "C" fn(*mut c_void, u32) -> u32;
type End = unsafe extern "C" fn(*mut c_void, *mut *mut c_void) -> u32;

#[derive(Clone, Copy)]
struct Block {
    address: u64,
    stream: Stream,
}

/// What all threads share.
struct Shared<'a> {
    pool: &'a DevicePool,
    streams: Vec<Stream>,
    /// Blocks on their way from one thread to another.
    handed_over: Mutex<Vec<Block>>,
    refused: AtomicU64,
    captures: AtomicU64,
    begin: Begin,
    end: End,
}

struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound.max(1) as u64) as usize
    }

    fn size(&mut self) -> u64 {
        match self.next() % 16 {
            0 => 1 + self.next() % (6 << 20),
            1..4 => 1 + self.next() % 20_000,
            _ => USUAL[self.below(USUAL.len())],
        }
    }
}

/// One thread's work.
struct Worker<'a> {
    shared: &'a Shared<'a>,
    random: Random,
    stream: Stream,
    held: Vec<Block>,
    capture: Option<u64>,
    captures: u64,
}

impl Worker<'_> {
    fn run(&mut self, operations: u64) {
        let mut done = 0;
        while done < operations {
            match self.random.next() % 64 {
                _ if self.is_time_for_capture() => self.toggle_capture(),
                0 => self.hand_over(),
                1 => self.take_over(),
                2 => self.share(),
                3..33 if self.held.len() < MOST_HELD => self.alloc(),
                _ => self.free(),
            }
            done += 1;
        }
        if self.capture.is_some() {
            self.toggle_capture();
        }
        while !self.held.is_empty() {
            self.free();
        }
    }

    fn is_time_for_capture(&mut self) -> bool {
        let every = if self.capture.is_some() { CAPTURE_LASTS } else { CAPTURE_EVERY };
        self.random.next().is_multiple_of(every)
    }

    fn alloc(&mut self) {
        match self.shared.pool.alloc(self.random.size(), self.stream) {
            Ok(address) => self.held.push(Block { address, stream: self.stream }),
            Err(error) => {
                assert!(matches!(error, PoolError::OutOfMemory { .. }), "{error}");
                self.shared.refused.fetch_add(1, Relaxed);
                self.free();
            }
        }
    }

    fn free(&mut self) {
        if !self.held.is_empty() {
            let block = self.held.swap_remove(self.random.below(self.held.len()));
            // By the thread's own stream, which may be another than the block's.
            let by = if self.capture.is_some() { block.stream } else { self.stream };
            self.shared.pool.free(block.address, Some(by)).expect("it is live");
        }
    }

    fn share(&mut self) {
        let other = self.shared.streams[self.random.below(self.shared.streams.len())];
        if let Some(block) = self.held.last() {
            self.shared.pool.add_use(block.address, other).expect("it is live");
        }
    }

    fn hand_over(&mut self) {
        let block = if self.capture.is_none() { self.held.pop() } else { None };
        self.handed_over().extend(block);
    }

    fn take_over(&mut self) {
        let block = self.handed_over().pop();
        self.held.extend(block);
    }

    fn handed_over(&self) -> std::sync::MutexGuard<'_, Vec<Block>> {
        self.shared.handed_over.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Begins to capture the thread's stream into a private pool, or ends that.
    fn toggle_capture(&mut self) {
        const RELAXED: u32 = 2;
        let stream = self.stream.0 as *mut c_void;
        let name = (u64::from(self.stream.0 as u32), self.captures);
        if self.capture.take().is_none() {
            self.shared.pool.begin_private(name);
            // SAFETY: the driver's function of that name has this signature, and the stream lives.
            let begun = unsafe { (self.shared.begin)(stream, RELAXED) };
            assert_eq!(begun, 0, "the capture does not begin");
            self.capture = Some(self.captures);
            self.shared.captures.fetch_add(1, Relaxed);
            return;
        }
        let mut graph = std::ptr::null_mut();
        // SAFETY: as above; the graph is empty and is left to the end of the process.
        let ended = unsafe { (self.shared.end)(stream, &raw mut graph) };
        assert_eq!(ended, 0, "the capture does not end");
        self.shared.pool.end_private(name);
        self.shared.pool.release_private(name);
        self.captures += 1;
    }
}

fn function(name: &std::ffi::CStr) -> *mut c_void {
    // SAFETY: the names end with zeros; the driver is loaded by then.
    unsafe {
        let library = libc::dlopen(c"libcuda.so.1".as_ptr(), libc::RTLD_NOW);
        libc::dlsym(library, name.as_ptr())
    }
}

fn main() -> ExitCode {
    let arguments: Vec<u64> =
        std::env::args().skip(1).map(|word| word.parse().expect("a number")).collect();
    let operations = arguments.first().copied().unwrap_or(1_000_000);
    let threads = arguments.get(1).copied().unwrap_or(8);
    let seed = arguments.get(2).copied().unwrap_or(1);
    let driver = Driver::load().expect("a driver");
    driver.init().expect("a driver that starts");
    let context = driver.retain_primary(0).expect("a device");
    let pool = process::device(0).expect("a pool");
    let streams = driver.with_context(context, || {
        (0..threads).map(|_| Stream(driver.stream_create().expect("a stream").0)).collect()
    });
    // SAFETY: the driver's documented functions of these names have these signatures.
    let (begin, end) = unsafe {
        (
            std::mem::transmute::<*mut c_void, Begin>(function(c"cuStreamBeginCapture_v2")),
            std::mem::transmute::<*mut c_void, End>(function(c"cuStreamEndCapture")),
        )
    };
    let shared = Shared {
        pool,
        streams: streams.expect("a context"),
        handed_over: Mutex::default(),
        refused: AtomicU64::new(0),
        captures: AtomicU64::new(0),
        begin,
        end,
    };
    let started = Instant::now();
    thread::scope(|scope| {
        for index in 0..threads {
            let (shared, driver) = (&shared, &driver);
            scope.spawn(move || {
                let random = Random(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ (index + 1));
                let stream = shared.streams[index as usize];
                let held = Vec::with_capacity(MOST_HELD);
                let mut worker =
                    Worker { shared, random, stream, held, capture: None, captures: 0 };
                driver
                    .with_context(context, || worker.run(operations / threads))
                    .expect("a context");
            });
        }
    });
    let seconds = started.elapsed().as_secs_f64();
    let left: Vec<Block> =
        std::mem::take(&mut *shared.handed_over.lock().unwrap_or_else(PoisonError::into_inner));
    for block in left {
        pool.free(block.address, Some(block.stream)).expect("it is live");
    }
    let busiest = pool.statistics();
    pool.trim(0);
    let end = pool.statistics();
    println!(
        "stress: {operations} operations by {threads} threads in {seconds:.1} s: peak {} in use, {} \
         reserved, {} refused, {} captures, {} driver calls, {} waits, {} damaged, {} lost",
        whyoom_trace::Bytes(busiest.peak_allocated),
        whyoom_trace::Bytes(busiest.peak_reserved),
        shared.refused.load(Relaxed),
        shared.captures.load(Relaxed),
        end.driver_calls,
        end.waits,
        end.damaged,
        whyoom_trace::Bytes(end.reserved + end.allocated + end.pending),
    );
    let clean = end.damaged == 0 && end.reserved + end.allocated + end.pending == 0;
    if clean { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
