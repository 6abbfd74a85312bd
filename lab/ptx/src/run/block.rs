//! A block of threads: each runs until it has to wait for others, then they meet.

use super::launch::{Launch, Memory};
use crate::{
    error::Fault,
    kernel::Kernel,
    step::{Register, Source, Special},
};

/// Threads of a warp.
pub(super) const LANES: usize = 32;

/// What a thread does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    Ready,
    /// At a barrier of that number, for so many threads; for all of the block where none are named.
    AtBarrier(u64, Option<u64>),
    /// At an instruction that lanes do together.
    Meets,
    Ended,
}

pub(super) struct Block<'r> {
    pub(super) kernel: &'r Kernel,
    pub(super) launch: &'r Launch,
    pub(super) memory: &'r mut dyn Memory,
    pub(super) shared: Vec<u8>,
    pub(super) local: Vec<u8>,
    /// Of all threads, one after the other.
    pub(super) registers: Vec<u64>,
    /// The next instruction of each thread.
    pub(super) next: Vec<usize>,
    pub(super) states: Vec<State>,
    /// Instructions that are left of the launch.
    pub(super) budget: u64,
    place: [u32; 3],
}

impl<'r> Block<'r> {
    pub(super) fn new(
        kernel: &'r Kernel,
        launch: &'r Launch,
        memory: &'r mut dyn Memory,
        budget: u64,
    ) -> Self {
        let threads = launch.threads() as usize;
        let dynamic = kernel.shared.next_multiple_of(16) + launch.shared as usize;
        Self {
            kernel,
            launch,
            memory,
            shared: vec![0; dynamic],
            local: vec![0; kernel.local * threads],
            registers: vec![0; kernel.registers * threads],
            next: vec![0; threads],
            states: vec![State::Ready; threads],
            budget,
            place: [0; 3],
        }
    }

    /// Runs one block to its end.
    pub(super) fn run(&mut self, place: [u32; 3]) -> Result<(), Fault> {
        self.place = place;
        self.next.fill(0);
        self.states.fill(State::Ready);
        let threads = self.states.len();
        loop {
            for first in (0..threads).step_by(LANES) {
                self.run_warp(first..(first + LANES).min(threads))?;
            }
            if self.states.iter().all(|state| *state == State::Ended) {
                return Ok(());
            }
            self.pass_barrier()?;
        }
    }

    /// Lets threads pass a barrier that all of them have reached.
    fn pass_barrier(&mut self) -> Result<(), Fault> {
        let live = self.states.iter().filter(|state| **state != State::Ended).count() as u64;
        let mut numbers: Vec<(u64, Option<u64>)> = Vec::new();
        for state in &self.states {
            if let State::AtBarrier(number, count) = state
                && !numbers.iter().any(|(known, _)| known == number)
            {
                numbers.push((*number, *count));
            }
        }
        let mut passed = false;
        for (number, count) in numbers {
            let at = |state: &&mut State| matches!(state, State::AtBarrier(known, _) if *known == number);
            let arrived = self.states.iter_mut().filter(at).count() as u64;
            if arrived >= count.unwrap_or(live).min(live) {
                self.states.iter_mut().filter(at).for_each(|state| *state = State::Ready);
                passed = true;
            }
        }
        if passed { Ok(()) } else { Err(Fault::Deadlock) }
    }

    pub(super) fn read(&self, thread: usize, source: Source) -> u64 {
        match source {
            Source::Register(register) => {
                self.registers[thread * self.kernel.registers + register as usize]
            }
            Source::Constant(value) => value,
            Source::Special(special) => self.special(thread, special),
        }
    }

    pub(super) fn write(&mut self, thread: usize, register: Register, value: u64) {
        self.registers[thread * self.kernel.registers + register as usize] = value;
    }

    fn special(&self, thread: usize, special: Special) -> u64 {
        let [x, y, _] = self.launch.block.map(|side| side as usize);
        let lane = thread % LANES;
        let lanes = u64::from(u32::MAX);
        match special {
            Special::Thread(0) => (thread % x) as u64,
            Special::Thread(1) => (thread / x % y) as u64,
            Special::Thread(_) => (thread / x / y) as u64,
            Special::Threads(axis) => self.launch.block[axis].into(),
            Special::Block(axis) => self.place[axis].into(),
            Special::Blocks(axis) => self.launch.grid[axis].into(),
            Special::Lane => lane as u64,
            Special::Warp => (thread / LANES) as u64,
            Special::Warps => self.states.len().div_ceil(LANES) as u64,
            Special::LaneItself => 1 << lane,
            Special::LanesBefore => (1 << lane) - 1,
            Special::LanesUpTo => (2 << lane) - 1,
            Special::LanesFrom => lanes & !((1 << lane) - 1),
            Special::LanesAfter => lanes & !((2 << lane) - 1),
            Special::Clock => u64::MAX - self.budget,
            Special::DynamicShared => self.launch.shared.into(),
        }
    }
}
