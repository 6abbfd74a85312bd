//! What text is written for.

/// How wide a terminal is, and what it can show.
#[derive(Debug, Clone, Copy)]
pub struct Screen {
    /// Lines are wrapped to it.
    pub width: usize,
    /// Whether charts may be drawn with more than ASCII.
    pub unicode: bool,
}
