//! One thread, instruction by instruction.

use super::{
    access::{LOCAL_WINDOW, SHARED_WINDOW},
    block::{Block, State},
};
use crate::{
    error::Fault,
    kernel::Kernel,
    step::{Atomic, Compare, Guarded, Join, Place, Source, Space, Step, Update},
    value::{Kind, float::Manner},
};

/// The most bytes of one access.
const WIDEST: usize = 64;

impl Block<'_> {
    /// Runs a thread until it ends or waits.
    pub(super) fn run_thread(&mut self, thread: usize) -> Result<(), Fault> {
        let kernel: &Kernel = self.kernel;
        while self.states[thread] == State::Ready {
            self.budget = self.budget.checked_sub(1).ok_or(Fault::Endless)?;
            let at = self.next[thread];
            let Some(Guarded { guard, step }) = kernel.code.get(at) else {
                return Err(Fault::Deadlock);
            };
            self.next[thread] = at + 1;
            if let Some((register, wanted)) = guard
                && (self.read(thread, Source::Register(*register)) & 1 == 1) != *wanted
            {
                continue;
            }
            self.perform(thread, step)?;
        }
        Ok(())
    }

    fn perform(&mut self, thread: usize, step: &Step) -> Result<(), Fault> {
        match step {
            Step::Nothing => {}
            Step::Move { to, from, mask } => {
                let value = self.read(thread, *from) & mask;
                self.write(thread, *to, value);
            }
            Step::Integer { what, kind, to, from } => {
                let values = from.map(|source| self.read(thread, source));
                self.write(thread, *to, what.apply(*kind, values));
            }
            Step::Float { what, kind, manner, to, from } => {
                let values = from.map(|source| self.read(thread, source));
                self.write(thread, *to, what.apply(*kind, *manner, values));
            }
            Step::Compare(compare) => self.compare(thread, compare),
            Step::Select { mask, to, from: [a, b], by } => {
                let chosen = if self.read(thread, *by) & 1 == 1 { *a } else { *b };
                let value = self.read(thread, chosen) & mask;
                self.write(thread, *to, value);
            }
            Step::Convert { how, to, mask, from } => {
                let converted = how.apply(self.read(thread, *from));
                let wide = if how.to.is_signed() {
                    how.to.signed(converted).cast_unsigned()
                } else {
                    converted
                };
                self.write(thread, *to, wide & mask);
            }
            Step::Load { place, kind, to, mask } => {
                self.load_all(thread, place, *kind, to, *mask)?;
            }
            Step::Store { place, kind, from } => self.store_all(thread, place, *kind, from)?,
            Step::Branch(target) => self.next[thread] = *target,
            Step::Exit => self.states[thread] = State::Ended,
            Step::Barrier { number, count } => {
                let count = count.map(|count| self.read(thread, count));
                self.states[thread] = State::AtBarrier(self.read(thread, *number), count);
            }
            Step::Meet { .. } => {
                self.next[thread] -= 1;
                self.states[thread] = State::Meets;
            }
            other => self.perform_rare(thread, other)?,
        }
        Ok(())
    }

    fn perform_rare(&mut self, thread: usize, step: &Step) -> Result<(), Fault> {
        match step {
            Step::Pack { to, parts, bytes } => {
                let mut value = 0;
                for part in parts.iter().rev() {
                    let part = self.read(thread, *part) & crate::value::mask(*bytes);
                    value = value << (8 * bytes) | part;
                }
                self.write(thread, *to, value);
            }
            Step::Unpack { parts, from, bytes } => {
                let mut value = self.read(thread, *from);
                for part in parts {
                    if let Some(to) = part {
                        self.write(thread, *to, value & crate::value::mask(*bytes));
                    }
                    value >>= 8 * bytes;
                }
            }
            Step::Logic { table, to, from } => {
                let [a, b, c] = from.map(|source| self.read(thread, source));
                let chosen = |index: u8| {
                    let side = |value: u64, bit: u8| if index & bit == 0 { !value } else { value };
                    side(a, 4) & side(b, 2) & side(c, 1)
                };
                let ones = (0..8).filter(|index| table >> index & 1 == 1).map(chosen);
                let value = ones.fold(0, |all, one| all | one) & 0xffff_ffff;
                self.write(thread, *to, value);
            }
            Step::ConvertPair { how, to, high, low } => {
                let (high, low) = (self.read(thread, *high), self.read(thread, *low));
                let value = how.apply(high) << how.to.bits() | how.apply(low);
                self.write(thread, *to, value);
            }
            Step::Address { to, from, space, into } => {
                let window = match space {
                    Space::Shared => SHARED_WINDOW,
                    Space::Local => LOCAL_WINDOW,
                    _ => 0,
                };
                let from = self.read(thread, *from);
                let value =
                    if *into { from.wrapping_add(window) } else { from.wrapping_sub(window) };
                self.write(thread, *to, value);
            }
            Step::Atomic(atomic) => self.atomic(thread, atomic)?,
            Step::Copy { to, from, bytes, read } => {
                let mut data = [0; 16];
                let length = (*bytes as usize).min(data.len());
                let read = (self.read(thread, *read) as usize).min(length);
                if read > 0 {
                    self.load(thread, from, &mut data[..read])?;
                }
                self.store(thread, to, &data[..length])?;
            }
            _ => {}
        }
        Ok(())
    }

    fn compare(&mut self, thread: usize, compare: &Compare) {
        let Compare { how, kind, to, opposite, from: [a, b], join, holds } = compare;
        let answer = how.holds(*kind, self.read(thread, *a), self.read(thread, *b));
        let joined = |answer: bool| match join {
            None => answer,
            Some((join, with)) => {
                let with = self.read(thread, *with) & 1 == 1;
                match join {
                    Join::And => answer && with,
                    Join::Or => answer || with,
                    Join::Xor => answer != with,
                }
            }
        };
        let values = [(to, joined(answer)), (opposite, joined(!answer))];
        for (register, value) in values {
            if let Some(register) = register {
                self.write(thread, *register, if value { *holds } else { 0 });
            }
        }
    }

    fn load_all(
        &mut self,
        thread: usize,
        place: &Place,
        kind: Kind,
        to: &[Option<u32>],
        mask: u64,
    ) -> Result<(), Fault> {
        let (mut data, size) = ([0; WIDEST], kind.size());
        let length = size * to.len();
        self.load(thread, place, &mut data[..length])?;
        for (bytes, register) in data[..length].chunks_exact(size).zip(to) {
            let Some(register) = register else { continue };
            let value = number(bytes);
            let value = if kind.is_signed() { kind.signed(value).cast_unsigned() } else { value };
            self.write(thread, *register, value & mask);
        }
        Ok(())
    }

    fn store_all(
        &mut self,
        thread: usize,
        place: &Place,
        kind: Kind,
        from: &[Source],
    ) -> Result<(), Fault> {
        let (mut data, size) = ([0; WIDEST], kind.size());
        let length = size * from.len();
        for (bytes, source) in data.chunks_exact_mut(size).zip(from) {
            bytes.copy_from_slice(&self.read(thread, *source).to_le_bytes()[..size]);
        }
        self.store(thread, place, &data[..length])
    }

    fn atomic(&mut self, thread: usize, atomic: &Atomic) -> Result<(), Fault> {
        let Atomic { how, kind, manner, to, place, from } = atomic;
        let mut data = [0; 8];
        let size = kind.size();
        self.load(thread, place, &mut data[..size])?;
        let old = u64::from_le_bytes(data);
        let [a, b] = from.map(|source| self.read(thread, source));
        let new = updated(*how, *kind, *manner, old, [a, b]);
        self.store(thread, place, &new.to_le_bytes()[..size])?;
        if let Some(to) = to {
            self.write(thread, *to, old);
        }
        Ok(())
    }
}

/// The value that an atomic instruction or a reduction leaves.
pub(super) fn updated(how: Update, kind: Kind, manner: Manner, old: u64, [a, b]: [u64; 2]) -> u64 {
    match how {
        Update::Integer(what) => what.apply(kind, [old, a, 0, 0]),
        Update::Float(what) => what.apply(kind, manner, [old, a, 0]),
        Update::Exchange => a,
        Update::CompareAndSwap if old == a & crate::value::mask(kind.size()) => b,
        Update::CompareAndSwap => old,
        Update::Increment if old >= a => 0,
        Update::Increment => old + 1,
        Update::Decrement if old == 0 || old > a => a,
        Update::Decrement => old - 1,
    }
}

fn number(bytes: &[u8]) -> u64 {
    let mut all = [0; 8];
    all[..bytes.len()].copy_from_slice(bytes);
    u64::from_le_bytes(all)
}
