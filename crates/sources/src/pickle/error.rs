//! Why a pickle was not read.

use thiserror::Error;

/// Why a pickle was not read. Every variant says at which byte.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum PickleError {
    /// It asks to run code.
    #[error(
        "byte {at}: opcode {opcode} {}would run code, and whyoom runs none. A snapshot made by \
         torch.cuda.memory._dump_snapshot holds no such opcode: this is {}",
        named(.asks_for), another(.asks_for)
    )]
    RunsCode {
        /// The opcode's name.
        opcode: &'static str,
        /// The class or function that it asks for, where it names one.
        asks_for: Option<String>,
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

fn named(asks_for: &Option<String>) -> String {
    asks_for.as_ref().map_or(String::new(), |name| format!("asks for {name}: it "))
}

/// What a pickle of such a class probably is.
fn another(asks_for: &Option<String>) -> &'static str {
    match asks_for.as_deref().unwrap_or_default() {
        name if name.starts_with("torch.") || name.starts_with("collections.OrderedDict") => {
            "a pickle of something else, such as a checkpoint"
        }
        name if name.starts_with("numpy.") => "a pickle of something else, such as arrays of numpy",
        name if name.starts_with("pandas.") => {
            "a pickle of something else, such as a table of pandas"
        }
        _ => "another file. Take the snapshot again, and do not unpickle this one",
    }
}
