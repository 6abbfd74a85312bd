//! Why a pickle was not read.

use thiserror::Error;

/// Why a pickle was not read. Every variant says at which byte.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum PickleError {
    /// It asks to run code.
    #[error(
        "byte {at}: opcode {opcode} would run code, and whyoom runs none. A snapshot made by \
         torch.cuda.memory._dump_snapshot holds no such opcode: make it anew, and do not unpickle \
         this file"
    )]
    RunsCode {
        /// The opcode's name.
        opcode: &'static str,
        /// Where it stands.
        at: u64,
    },
    /// It holds an opcode that no snapshot needs.
    #[error("byte {at}: opcode {opcode:#04x} is not one that a memory snapshot uses")]
    UnknownOpcode {
        /// The opcode.
        opcode: u8,
        /// Where it stands.
        at: u64,
    },
    /// It ends too early.
    #[error("the file ends at byte {at}, in the middle of the snapshot: was the copy cut short?")]
    Truncated {
        /// Where it ends.
        at: u64,
    },
    /// It contradicts itself.
    #[error("byte {at}: this is not a well-formed pickle ({what})")]
    Malformed {
        /// What is wrong.
        what: &'static str,
        /// Where.
        at: u64,
    },
    /// It claims more than it may.
    #[error("byte {at}: refused, because {what} exceeds the limit of {limit}")]
    TooLarge {
        /// What is too large.
        what: &'static str,
        /// The limit.
        limit: u64,
        /// Where.
        at: u64,
    },
    /// It could not be read.
    #[error("could not read the snapshot: {0}")]
    Io(#[from] std::io::Error),
}
