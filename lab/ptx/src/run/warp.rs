//! A warp: 32 threads, and what they do together.

use std::ops::Range;

use super::{
    block::{Block, LANES, State},
    thread::updated,
};
use crate::{
    error::Fault,
    kernel::Kernel,
    step::{Meeting, Shuffle, Source, Step, Vote},
};

impl Block<'_> {
    /// Runs the threads of a warp until all of them have ended or wait at a barrier.
    pub(super) fn run_warp(&mut self, threads: Range<usize>) -> Result<(), Fault> {
        loop {
            for thread in threads.clone() {
                self.run_thread(thread)?;
            }
            if !threads.clone().any(|thread| self.states[thread] == State::Meets) {
                return Ok(());
            }
            if !self.meet(&threads)? {
                return Err(Fault::Deadlock);
            }
        }
    }

    /// Lets lanes that have all reached the same instruction carry it out; false where none have.
    fn meet(&mut self, threads: &Range<usize>) -> Result<bool, Fault> {
        let kernel: &Kernel = self.kernel;
        let mut any = false;
        for thread in threads.clone() {
            if self.states[thread] != State::Meets {
                continue;
            }
            let at = self.next[thread];
            let Some(Step::Meet { members, what }) = kernel.code.get(at).map(|one| &one.step)
            else {
                return Err(Fault::Deadlock);
            };
            let named = self.read(thread, *members);
            let is_member = |other: &usize| named >> (other % LANES) & 1 == 1;
            let live = |other: &usize| self.states[*other] != State::Ended;
            let lanes: Vec<usize> = threads.clone().filter(is_member).filter(live).collect();
            let waits =
                |other: &usize| self.states[*other] == State::Meets && self.next[*other] == at;
            if lanes.contains(&thread) && lanes.iter().all(waits) {
                self.carry_out(what, &lanes)?;
                for lane in lanes {
                    self.states[lane] = State::Ready;
                    self.next[lane] = at + 1;
                }
                any = true;
            }
        }
        Ok(any)
    }

    fn carry_out(&mut self, what: &Meeting, lanes: &[usize]) -> Result<(), Fault> {
        match what {
            Meeting::Matrices { place, registers, transposed, loads } => {
                self.move_matrices(place, registers, (*transposed, *loads), lanes)?;
            }
            Meeting::Wait => {}
            Meeting::Shuffle { .. } => self.shuffle(what, lanes),
            Meeting::Vote { how, to, value, negated } => {
                let holds = |lane: &&usize| (self.read(**lane, *value) & 1 == 1) != *negated;
                let yes: Vec<usize> = lanes.iter().filter(holds).copied().collect();
                let all = yes.len() == lanes.len();
                let result = match how {
                    Vote::All => all.into(),
                    Vote::Any => (!yes.is_empty()).into(),
                    Vote::Same => (all || yes.is_empty()).into(),
                    Vote::Ballot => yes.iter().map(|lane| 1 << (lane % LANES)).sum(),
                };
                lanes.iter().for_each(|lane| self.write(*lane, *to, result));
            }
            Meeting::Reduce { how, kind, manner, to, value } => {
                let values = lanes.iter().map(|lane| self.read(*lane, *value));
                let joined = values.reduce(|all, one| updated(*how, *kind, *manner, all, [one, 0]));
                let result = joined.unwrap_or(0);
                lanes.iter().for_each(|lane| self.write(*lane, *to, result));
            }
            Meeting::Elect { lane: leader, chosen } => {
                let first = lanes.first().copied().unwrap_or(0);
                for lane in lanes {
                    self.write(*lane, *chosen, (*lane == first).into());
                    if let Some(leader) = leader {
                        self.write(*lane, *leader, (first % LANES) as u64);
                    }
                }
            }
        }
        Ok(())
    }

    fn shuffle(&mut self, what: &Meeting, lanes: &[usize]) {
        let Meeting::Shuffle { how, to, found, value, lane: distance, bounds } = what else {
            return;
        };
        let mut results = Vec::with_capacity(lanes.len());
        for thread in lanes {
            let lane = (thread % LANES) as u64;
            let read = |source: &Source| self.read(*thread, *source);
            let (distance, bounds) = (read(distance) & 0x1f, read(bounds));
            // Documented: the bounds hold a clamp, and above it which bits of the lane name its segment.
            let (clamp, segment) = (bounds & 0x1f, bounds >> 8 & 0x1f);
            let last = lane & segment | clamp & !segment;
            let first = lane & segment;
            let (source, within) = match how {
                Shuffle::Up => {
                    (lane.wrapping_sub(distance), lane >= distance && lane - distance >= last)
                }
                Shuffle::Down => (lane + distance, lane + distance <= last),
                Shuffle::Butterfly => (lane ^ distance, (lane ^ distance) <= last),
                Shuffle::Index => {
                    let source = first | distance & !segment;
                    (source, source <= last)
                }
            };
            let source = if within { source } else { lane };
            let other = thread - thread % LANES + source as usize;
            // The value of a lane that is not there is not defined: its own stays.
            let other = if lanes.contains(&other) { other } else { *thread };
            results.push((*thread, self.read(other, *value) & 0xffff_ffff, within));
        }
        for (thread, value, within) in results {
            self.write(thread, *to, value);
            if let Some(found) = found {
                self.write(thread, *found, within.into());
            }
        }
    }
}
