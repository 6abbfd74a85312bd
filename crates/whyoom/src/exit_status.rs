//! How the commands exit; docs/commands.md lists them for people.

/// An answer was given.
pub(crate) const ANSWERED: u8 = 0;
/// The input could not be read, or the output not written.
pub(crate) const FAILED: u8 = 1;
/// The arguments are wrong: clap ends with the same.
pub(crate) const MISUSED: u8 = 2;
/// `who --gate` found something on a GPU.
pub(crate) const DIRTY: u8 = 1;
/// `who --gate` could not tell.
pub(crate) const UNKNOWN: u8 = 2;
/// What `who --alert` waited for holds.
pub(crate) const ALERT: u8 = 3;
/// A condition of `diff --fail-if` holds.
pub(crate) const FAILS_IF: u8 = 3;
/// `attach` found no PyTorch that uses a GPU.
pub(crate) const NOTHING_TO_SEE: u8 = 3;
/// Ctrl-C ended it.
pub(crate) const INTERRUPTED: u8 = 130;
