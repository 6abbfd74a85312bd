//! The page in a real Chromium: what it answers to a file is what the command prints, to the byte.

mod answers;
mod hostile;
mod inputs;
mod network;
mod page;
mod times;

use anyhow::{Result, ensure};
use harness::{Held, must_succeed};
use whyoom_trace::Bytes;

pub(super) use self::{
    answers::run as answers, hostile::run as hostile, page::Page, times::run as times,
};

/// What the page may weigh.
const MOST_BYTES: u64 = 3 << 20;

/// The page is built, and small.
pub(super) fn page(page: &Page) -> Result<Held> {
    let file = page.file()?;
    let bytes = file.metadata()?.len();
    ensure!(bytes <= MOST_BYTES, "the page has {}, and may have 3.00 MiB", Bytes(bytes));
    Ok(Held::new(format!("{} in {}", Bytes(bytes), file.display())))
}

/// A worker that hangs is ended, and the page says so and reads the next file.
pub(super) fn hung(page: &Page) -> Result<Held> {
    must_succeed(page.script("hung.js")?.arg(page.file()?))?;
    Ok(Held::new(
        "a worker that hangs is ended after 30 s and the page says so; then it reads the next file",
    ))
}
