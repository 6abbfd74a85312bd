//! `cargo xtask anywhere [PART ...]`: whyoom where it is not at home gives the same answers as on Linux.

mod browser;
mod wheels;
mod windows;

use anyhow::Result;

use self::browser::Page;
use crate::parts::{self, Part};

const PARTS: &[Part<Page>] = &[
    ("page", browser::page),
    ("answers", browser::answers),
    ("hostile", browser::hostile),
    ("hung", browser::hung),
    ("times", browser::times),
    ("windows", windows::run),
    ("wheels", wheels::run),
];

pub(crate) fn run(wanted: &[String]) -> Result<()> {
    parts::run("anywhere", PARTS, wanted, &Page::default())
}
