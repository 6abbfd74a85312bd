//! What real drivers do and a plain lab does not: each a fault of the lab, and what whyoom makes of it.
//!
//! The checks are named after the rows of docs/dev/hardware.md.

mod doctor;
mod libraries;
mod machine;
mod node;
mod pool;
mod recorder;

use anyhow::Result;
use harness::{Check, Held, Trial, python, root, text};

/// A row, and what must hold there.
type Row = (&'static str, fn() -> Result<Held>);

pub(crate) fn checks() -> Result<Vec<Check>> {
    let rows = [pool::ROWS, node::ROWS, recorder::ROWS, libraries::ROWS, machine::ROWS];
    let rows = rows.into_iter().flatten();
    let rows = rows.map(|(name, run)| Check::new(*name, run));
    Ok(rows.chain(doctor::checks()).collect())
}

/// A script of `tests/scenarios/hardware` on a lab with these flags.
fn script(name: &str, lab: &[&str]) -> Result<Trial> {
    let script = root().join("tests/scenarios/hardware").join(name);
    Ok(Trial::on(lab, &[python()?, text(&script)]))
}
