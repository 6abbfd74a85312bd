//! `cargo xtask book [PART…] [--bless] [--only=PAGE]`: the book under `docs`.
//!
//! What a command can write is written by one: the reference pages from the code and the help texts,
//! the sessions of the question pages by typing their commands on a simulated GPU. Without `--bless`
//! all of it is compared with what the pages have.

mod built;
mod format;
mod html;
mod page;
mod pictures;
mod reference;
mod replaced;
mod scale;
mod session;
mod sessions;
mod steady;
mod summary;

use anyhow::Result;

use crate::parts::{self, Part};

/// What the parts need.
struct Desk {
    /// Pages are written, not compared.
    bless: bool,
    /// The only page whose sessions are run, by its name.
    only: Option<String>,
}

const PARTS: &[Part<Desk>] = &[
    ("reference", reference::run),
    ("sessions", sessions::run),
    ("scale", scale::run),
    ("pictures", pictures::run),
    ("built", |_| built::run()),
];

pub(crate) fn run(arguments: &[String]) -> Result<()> {
    let (flags, wanted): (Vec<String>, Vec<String>) =
        arguments.iter().cloned().partition(|word| word.starts_with("--"));
    let only = flags.iter().find_map(|flag| flag.strip_prefix("--only=")).map(str::to_owned);
    let desk = || Ok(Desk { bless: flags.contains(&"--bless".to_owned()), only });
    parts::run("book", PARTS, &wanted, desk)
}
