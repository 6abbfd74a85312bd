//! What came of the line that an answer printed.

use serde::{Deserialize, Serialize};

/// What came of the first line to paste, applied by a machine as it stands.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Printed {
    /// There is none, or none that a machine can apply.
    None,
    /// The program ran with it, and was not judged the same again.
    Worked {
        /// The line.
        line: String,
    },
    /// It did not.
    Failed {
        /// The line.
        line: String,
        /// What happened.
        how: String,
    },
}
