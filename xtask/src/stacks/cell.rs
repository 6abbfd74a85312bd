//! How one program went in one way.

use std::fmt;

use serde::{Deserialize, Serialize};

/// How a program went in one way.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) enum Cell {
    /// As the table says.
    Green {
        seconds: f64,
        /// The answer.
        said: String,
    },
    /// Otherwise.
    Red { seconds: f64, why: String },
}

impl Cell {
    pub(super) fn is_green(&self) -> bool {
        matches!(self, Self::Green { .. })
    }

    /// What was said, or what is wrong.
    pub(super) fn words(&self) -> &str {
        match self {
            Self::Green { said: words, .. } | Self::Red { why: words, .. } => words,
        }
    }
}

impl fmt::Display for Cell {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.pad(&match self {
            Self::Green { seconds, .. } => format!("{seconds:.0} s"),
            Self::Red { seconds, .. } => format!("RED {seconds:.0} s"),
        })
    }
}
