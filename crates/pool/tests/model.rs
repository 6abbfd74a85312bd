//! Random programs on a made-up device, whose work is done late: no two live blocks share memory, no
//! work meets memory that is not there, no page is lost, and nobody waits.

mod support;

use proptest::prelude::*;
use support::{Fake, PAGE, Work};
use whyoom_pool::{DevicePool, Options, PoolError, Stream};

#[derive(Clone, Debug)]
enum Step {
    Alloc {
        size: u64,
        stream: u64,
    },
    Free(usize),
    /// Another stream uses a block.
    Use(usize, u64),
    /// The device does some work.
    Advance(usize, usize),
    Trim(u64),
    /// A stream is destroyed.
    EndStream(u64),
    /// A stream is captured into a private pool until the same step comes again.
    Capture(u64),
    /// A captured graph runs.
    Replay(u64),
    /// The graph is dropped, and with it its pool.
    DropGraph,
}

fn size() -> impl Strategy<Value = u64> {
    prop_oneof![1_u64..2000, 1_u64..(1 << 20), (1_u64 << 20)..(9 << 20)]
}

fn step() -> impl Strategy<Value = Step> {
    let stream = 10_u64..14;
    prop_oneof![
        10 => (size(), stream.clone()).prop_map(|(size, stream)| Step::Alloc { size, stream }),
        8 => any::<usize>().prop_map(Step::Free),
        2 => (any::<usize>(), stream.clone()).prop_map(|(block, stream)| Step::Use(block, stream)),
        4 => (0_usize..6, any::<usize>()).prop_map(|(count, choice)| Step::Advance(count, choice)),
        1 => (0_u64..8).prop_map(|pages| Step::Trim(pages * PAGE)),
        1 => stream.clone().prop_map(Step::EndStream),
        1 => stream.clone().prop_map(Step::Capture),
        1 => stream.prop_map(Step::Replay),
        1 => Just(Step::DropGraph),
    ]
}

#[derive(Clone)]
struct Live {
    address: u64,
    size: u64,
    stream: u64,
    /// What its stream wrote into it; nothing where a graph writes it whenever it runs.
    tag: Option<u64>,
}

struct Program {
    device: Fake,
    pool: DevicePool,
    live: Vec<Live>,
    tags: u64,
    capture: Option<u64>,
    captures: u32,
    graph: Vec<Work>,
    /// Streams get another number once they were destroyed.
    lives: [u64; 4],
}

impl Program {
    fn new(pages: u64) -> Self {
        let device = Fake::new(pages * PAGE);
        let pool = DevicePool::new(0, Box::new(device.clone()), Options::default());
        let (live, graph) = (Vec::new(), Vec::new());
        Self { device, pool, live, tags: 0, capture: None, captures: 0, graph, lives: [0; 4] }
    }

    fn handle(&self, stream: u64) -> Stream {
        Stream(stream + 100 * self.lives[(stream - 10) as usize])
    }

    fn alloc(&mut self, size: u64, stream: u64) {
        let handle = self.handle(stream);
        match self.pool.alloc(size, handle) {
            Ok(address) => {
                self.tags += 1;
                let tag = self.tags;
                self.device.launch(handle, Work::Write { address, size, tag });
                let tag = (self.capture != Some(handle.0)).then_some(tag);
                self.live.push(Live { address, size, stream: handle.0, tag });
            }
            Err(error) => assert_eq!(error, PoolError::OutOfMemory { requested: size }),
        }
    }

    fn free(&mut self, index: usize) {
        let index = index % self.live.len().max(1);
        if index >= self.live.len() {
            return;
        }
        let Live { address, size, stream, tag } = self.live.swap_remove(index);
        if let Some(tag) = tag {
            self.device.launch(Stream(stream), Work::Find { address, size, tag });
        }
        self.pool.free(address, Some(Stream(stream))).expect("it is live");
        assert_eq!(
            self.pool.free(address, Some(Stream(stream))),
            Err(PoolError::NotLive { address })
        );
    }

    fn share(&mut self, index: usize, stream: u64) {
        let handle = self.handle(stream);
        let Some(block) = self.live.get(index % self.live.len().max(1)).cloned() else { return };
        // As programs do: the second stream first waits for the first. Not across a capture.
        if self.capture.is_some_and(|captured| captured == handle.0 || captured == block.stream) {
            return;
        }
        let (event, _) = (whyoom_pool::Driver::event(&self.device).expect("an event"), ());
        whyoom_pool::Driver::record(&self.device, event, Stream(block.stream)).expect("recorded");
        whyoom_pool::Driver::order(&self.device, handle, event).expect("ordered");
        self.pool.add_use(block.address, handle).expect("it is live");
        if let Live { address, size, tag: Some(tag), .. } = block {
            self.device.launch(handle, Work::Find { address, size, tag });
        }
    }

    fn end_stream(&mut self, stream: u64) {
        let handle = self.handle(stream);
        // Blocks of the stream are freed first, as whoever destroys a stream does. Those that it only
        // uses live on.
        while let Some(index) = self.live.iter().position(|block| block.stream == handle.0) {
            self.free(index);
        }
        if self.capture != Some(handle.0) {
            self.pool.end_stream(handle);
            self.lives[(stream - 10) as usize] += 1;
        }
    }

    fn capture(&mut self, stream: u64) {
        match self.capture.take() {
            Some(captured) => {
                // Blocks of the capture are dropped at its end: the graph keeps using them.
                self.device.state().capturing.remove(&captured);
                self.pool.end_private((0, 1));
                let kept: Vec<Work> = self.device.state().captured.drain(..).collect();
                self.graph
                    .extend(kept.into_iter().filter(|work| matches!(work, Work::Write { .. })));
            }
            None => {
                let handle = self.handle(stream).0;
                self.pool.begin_private((0, 1));
                self.captures += 1;
                // What was allocated before the capture is not freed in it: that is a program's error.
                self.device.state().capturing.insert(handle);
                self.capture = Some(handle);
            }
        }
    }

    fn replay(&mut self, stream: u64) {
        let handle = self.handle(stream);
        // Outputs that still live are written by the graph as they were: their tags stay.
        if self.capture.is_none() {
            for work in self.graph.clone() {
                self.device.launch(handle, work);
            }
        }
    }

    /// What was launched of it may run still.
    fn drop_graph(&mut self) {
        self.graph.clear();
        for _ in 0..self.captures {
            self.pool.release_private((0, 1));
        }
        self.captures = 0;
    }

    fn run(&mut self, step: Step) {
        match step {
            Step::Alloc { size, stream } => self.alloc(size, stream),
            Step::Free(index) => {
                let captured = self.capture;
                let index = index % self.live.len().max(1);
                let of_capture = self.live.get(index).map(|block| Some(block.stream) == captured);
                if of_capture == Some(false) {
                    self.free(index);
                }
            }
            Step::Use(index, stream) => self.share(index, stream),
            Step::Advance(count, choice) => {
                for _ in 0..count {
                    self.device.advance(choice);
                }
            }
            Step::Trim(keep) => self.pool.trim(keep),
            Step::EndStream(stream) if self.capture.is_none() => self.end_stream(stream),
            Step::EndStream(_) => {}
            Step::Capture(stream) => self.capture(stream),
            Step::Replay(stream) => self.replay(stream),
            Step::DropGraph if self.capture.is_none() => self.drop_graph(),
            Step::DropGraph => {}
        }
        self.check();
    }

    fn check(&self) {
        let statistics = self.pool.statistics();
        assert!(statistics.reserved <= statistics.device_total);
        assert_eq!(statistics.blocks, self.live.len() as u64);
        let blocks = self.pool.blocks();
        let mapped: u64 = blocks.iter().map(|block| block.size).sum();
        assert_eq!(mapped + statistics.spare, statistics.reserved, "a page is lost");
        for pair in blocks.windows(2) {
            assert!(pair[0].address + pair[0].size <= pair[1].address, "{pair:?} overlap");
        }
    }

    /// Everything is freed and given back.
    fn end(mut self) {
        if self.capture.is_some() {
            self.capture(10);
        }
        while !self.live.is_empty() {
            self.free(0);
        }
        self.drop_graph();
        self.pool.trim(0);
        let statistics = self.pool.statistics();
        assert_eq!((statistics.allocated, statistics.pending), (0, 0));
        assert_eq!(statistics.reserved, 0, "everything was given back");
        assert_eq!(self.device.in_use(), 0, "the device has everything back");
        assert_eq!(self.device.state().relaxed, 0);
    }
}

proptest! {
    // Miri takes minutes for one.
    #![proptest_config(ProptestConfig {
        cases: if cfg!(miri) { 1 } else { 400 },
        ..ProptestConfig::default()
    })]

    #[test]
    fn no_program_breaks_it(pages in 6_u64..24, steps in prop::collection::vec(step(), 1..120)) {
        let mut program = Program::new(pages);
        for step in steps {
            program.run(step);
        }
        program.end();
    }
}
