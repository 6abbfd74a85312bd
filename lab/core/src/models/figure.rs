//! A number, and where it comes from.

/// One number about a GPU, with its origin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Figure<T> {
    /// The number itself.
    pub value: T,
    /// Where the number comes from.
    pub source: Source,
}

/// Where a figure comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source {
    /// A vendor document or public registry says so; the text names it.
    Documented(&'static str),
    /// A real GPU reported it in published output; `owner/repository#number` is a GitHub thread.
    Observed(&'static str),
    /// `whyoom doctor` measured it on the machine that it is computed for.
    Measured,
    /// Nobody is known to have published it: a guess, or a rule fitted to observations.
    Assumed,
}
