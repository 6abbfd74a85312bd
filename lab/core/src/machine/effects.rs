//! Kernels that do something: the lab computes nothing, but what a kernel does to memory can be the
//! point of a test.

use std::sync::atomic::Ordering::Relaxed;

use super::layout::{EffectRecord, NAME_WORDS};

/// What a named kernel does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Effect {
    /// It asks the device heap for more than is there and uses the null pointer that it gets: an
    /// illegal address, found at the next synchronize.
    HeapExhausted,
    /// It fails while it runs, found at the next synchronize.
    Fail,
    /// It runs for so many nanoseconds.
    Busy(u64),
}

/// A kernel and what it does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KernelEffect {
    /// Its name, or a part of its mangled name.
    pub kernel: String,
    /// What it does.
    pub effect: Effect,
}

impl EffectRecord {
    /// Writes it, with the name cut to what there is room for.
    pub(super) fn write(&self, effect: &KernelEffect) {
        let (number, nanoseconds) = match effect.effect {
            Effect::HeapExhausted => (1, 0),
            Effect::Fail => (2, 0),
            Effect::Busy(nanoseconds) => (3, nanoseconds),
        };
        let mut bytes = [0; NAME_WORDS * 8];
        let kept = effect.kernel.len().min(bytes.len());
        bytes[..kept].copy_from_slice(&effect.kernel.as_bytes()[..kept]);
        for (word, eight) in self.name.iter().zip(bytes.as_chunks::<8>().0) {
            word.store(u64::from_ne_bytes(*eight), Relaxed);
        }
        self.nanoseconds.store(nanoseconds, Relaxed);
        self.effect.store(number, Relaxed);
    }

    /// What was written, if anything was.
    pub(super) fn read(&self) -> Option<KernelEffect> {
        let effect = match self.effect.load(Relaxed) {
            1 => Effect::HeapExhausted,
            2 => Effect::Fail,
            3 => Effect::Busy(self.nanoseconds.load(Relaxed)),
            _ => return None,
        };
        let bytes: Vec<u8> = self
            .name
            .iter()
            .flat_map(|word| word.load(Relaxed).to_ne_bytes())
            .take_while(|byte| *byte != 0)
            .collect();
        Some(KernelEffect { kernel: String::from_utf8_lossy(&bytes).into_owned(), effect })
    }
}
