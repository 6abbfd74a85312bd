//! How much is said.

/// How much a verdict says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Detail {
    /// What fits a screen.
    Short,
    /// Every remedy and figure with its source, the chart, and all that was judged.
    Verbose,
}
