//! Kernels that do something: the lab computes nothing, but what a kernel does to memory can be the
//! point of a test.

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
    /// It runs for so many nanoseconds and uses memory at its first argument until then: an illegal address where that
    /// memory goes before.
    Touch(u64),
}

/// A kernel and what it does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KernelEffect {
    /// Its name, or a part of its mangled name.
    pub kernel: String,
    /// What it does.
    pub effect: Effect,
}
