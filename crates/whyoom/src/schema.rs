//! `whyoom schema`.

use std::io::Write;

use anyhow::Result;
use whyoom_redact::terminal::{Column, Table};
use whyoom_report::SCHEMAS;

use crate::{misuse::Misuse, nearest::did_you_mean, terminal::width};

/// What documents' names begin with.
const PREFIX: &str = "whyoom.";

/// Prints a schema, or the names of all.
pub(crate) fn run(name: Option<&str>) -> Result<()> {
    let mut out = anstream::stdout().lock();
    let Some(name) = name else {
        let mut table =
            Table::new([Column::words("schema"), Column::words("describes the output of")]);
        SCHEMAS.iter().for_each(|one| table.row([one.name, one.printed_by].map(str::to_owned)));
        for line in table.lines(width()) {
            writeln!(out, "{line}")?;
        }
        return Ok(());
    };
    let short = name.strip_prefix(PREFIX).unwrap_or(name);
    let schema = SCHEMAS.iter().find(|schema| schema.name == short).ok_or_else(|| {
        let known = SCHEMAS.iter().map(|schema| schema.name);
        Misuse(format!("unknown schema '{name}'{}", did_you_mean(short, known, "whyoom schema")))
    })?;
    Ok(out.write_all(schema.text.as_bytes())?)
}
