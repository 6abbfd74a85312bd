//! The kinds of input that can be read.

/// What an input was taken for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InputKind {
    /// A PyTorch memory snapshot.
    TorchSnapshot,
    /// A log or a message.
    Text,
    /// A recording of `whyoom run`.
    Recording,
    /// A log of RAPIDS Memory Manager.
    RmmLog,
    /// An SQLite export of Nsight Systems.
    NsightSystems,
}

impl InputKind {
    /// The word for it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::TorchSnapshot => "pytorch-snapshot",
            Self::Text => "text",
            Self::Recording => "recording",
            Self::RmmLog => "rmm-log",
            Self::NsightSystems => "nsight-systems",
        }
    }
}
