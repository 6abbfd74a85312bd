//! `cargo xtask book`: the book under `docs`.
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
mod wish;

use anyhow::Result;

pub(crate) use self::{reference::helps, wish::Wish};
use crate::parts::{self, Part};

const PARTS: &[Part<Wish>] = &[
    ("reference", reference::run),
    ("sessions", sessions::run),
    ("scale", scale::run),
    ("rates", |_| scale::rates()),
    ("pictures", pictures::run),
    ("built", |_| built::run()),
];

pub(crate) fn run(wish: &Wish) -> Result<()> {
    parts::run("book", PARTS, &wish.parts, wish)
}
