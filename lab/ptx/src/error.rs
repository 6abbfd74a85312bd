//! Why text is no module, why a kernel is not run, and how a launch ends early.

/// The text is no PTX, or more broken than this parser can follow.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("this is not PTX: {0}")]
#[non_exhaustive]
pub struct NotPtx(pub String);

/// A kernel uses what is not implemented.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0} is not implemented")]
#[non_exhaustive]
pub struct Refused(pub String);

impl Refused {
    pub(crate) fn new(what: impl Into<String>) -> Self {
        Self(what.into())
    }
}

/// How a launch ended before its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Fault {
    /// More work than the limit: nothing ran.
    #[error("the launch is more work than the limit")]
    TooLarge,
    /// A loop went on beyond the limit: what was written stays.
    #[error("the launch ran beyond the limit")]
    Endless,
    /// An access outside of what exists.
    #[error("illegal address {0:#x}")]
    IllegalAddress(u64),
    /// Threads wait for each other for ever.
    #[error("threads wait for each other for ever")]
    Deadlock,
    /// The parameters are shorter than the kernel declares.
    #[error("the parameters do not match the kernel's")]
    Parameters,
}
