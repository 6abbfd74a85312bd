//! Python programs in the lab: operators on small integers are computed, because programs decide by them.

use std::process::Command;

use whyoom_lab_core::session::Session;

use crate::{sitecustomize, terminal::say};

/// What Python runs before the program.
const STARTUP: &str = include_str!("startup.py");
/// Its folder in the lab's.
const FOLDER: &str = "small-values";

/// Makes the Python processes of a command compute them.
pub(crate) fn compute(command: &mut Command, session: &Session) {
    let equipped = sitecustomize::equip(command, &session.folder().join(FOLDER), STARTUP);
    if let Err(error) = equipped {
        say(&format!("generation may not end, because small values are not computed: {error:#}"));
    }
}
