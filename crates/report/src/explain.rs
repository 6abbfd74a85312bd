//! The causes in general, as `rustc --explain` does it.

use std::io::{self, Write};

use whyoom_causes::{CATALOGUE, Cause, GLOSSARY, Term};

use crate::style::{self, styled};

/// Writes what a cause is in general.
///
/// # Errors
/// When `out` cannot be written to.
pub fn write_cause(cause: &Cause, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "{}: {}\n", styled(style::HEADLINE, cause.id), cause.title)?;
    writeln!(out, "{}", cause.explanation)
}

/// Writes every cause in a line, and the glossary.
///
/// # Errors
/// When `out` cannot be written to.
pub fn write_catalogue(out: &mut dyn Write) -> io::Result<()> {
    writeln!(
        out,
        "{}",
        styled(style::HEADING, "Causes (whyoom causes ID tells more; also whyoom causes COUNTER)")
    )?;
    for cause in CATALOGUE {
        writeln!(out, "  {:<19}{}", cause.id, cause.title)?;
    }
    writeln!(out, "\n{}", styled(style::HEADING, "The counters that people meet"))?;
    for term in GLOSSARY {
        writeln!(out, "  {}", styled(style::HEADLINE, term.word))?;
        writeln!(out, "      {}", term.meaning)?;
    }
    Ok(())
}

/// Writes what counters mean, and what else each is called.
///
/// # Errors
/// When `out` cannot be written to.
pub fn write_terms(terms: &[&Term], out: &mut dyn Write) -> io::Result<()> {
    for term in terms {
        writeln!(out, "{}: {}", styled(style::HEADLINE, term.word), term.meaning)?;
        if !term.aliases.is_empty() {
            writeln!(out, "  also: {}", term.aliases.join(", "))?;
        }
    }
    Ok(())
}
