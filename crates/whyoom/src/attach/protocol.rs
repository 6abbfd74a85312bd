//! What whyoom asks the helper that keeps the folder, and what the helper answers: a line of JSON each.

use serde::{Deserialize, Serialize};

/// The name under which whyoom starts itself as the helper.
pub(super) const HELPER_NAME: &str = "whyoom-attach-helper";
/// Longest line of an answer, in bytes: a message with a path and an error of the system. Chosen, not measured.
pub(super) const MAX_REPLY_BYTES: usize = 8192;

/// A request to the helper.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum Request {
    /// Makes the folder in the process's `/tmp`, with the two scripts and the pipe.
    Make {
        /// Name of the folder.
        name: String,
        /// Text of `start.py`.
        start: String,
        /// Text of `look.py`.
        look: String,
    },
    /// Asks what stands under a name in the folder.
    Find { name: String },
    /// Reads a regular file of at most this many bytes.
    Read { name: String, most_bytes: u64 },
    /// Closes the pipe.
    Release,
    /// Removes the folder. The helper ends when its input is closed.
    Remove,
}

/// The helper's answer.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum Reply {
    Done,
    Found(Entry),
    /// So many bytes follow the line.
    Bytes(u64),
    Failed(String),
}

/// Kind of an entry of the folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Entry {
    File,
    Folder,
    Nothing,
}
