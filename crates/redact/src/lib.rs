//! What may be written down and what may be shown: which variables of the environment are recorded, how secrets
//! are masked, what is kept of other users' command lines, which folders are left out of paths, and how text that strangers wrote reaches a terminal.
//! Pure: the recorder, the importers and everything that renders use the same rules.

#![forbid(unsafe_code)]

mod addresses;
mod assignments;
#[cfg(feature = "html")]
pub mod html;
mod json;
mod names;
mod paths;
mod program;
mod programs;
mod secrets;
mod shapes;
mod shell_word;
#[cfg(feature = "terminal")]
pub mod terminal;
mod variables;
mod visible;

pub use self::{
    json::{escaped_json, shown_json},
    paths::Paths,
    program::program_name,
    secrets::{MASK, mask, mask_arguments, mask_words},
    shell_word::{
        file_argument, file_for_shell, for_shell, is_plain_word, is_shown_as_is,
        within_single_quotes,
    },
    variables::is_recorded,
    visible::{is_steering, visible, visible_lines},
};
