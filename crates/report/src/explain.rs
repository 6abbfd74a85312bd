//! The causes in general, as `rustc --explain` does it.

use std::io::{self, Write};

use whyoom_causes::{CATALOGUE, Cause, GLOSSARY, Term};

use whyoom_redact::terminal::wrap;

use crate::style::{self, styled};

/// On a narrower terminal what stands beside an id stands below it.
const BESIDE: usize = 60;

/// Writes what a cause is in general.
///
/// # Errors
/// When `out` cannot be written to.
pub fn write_cause(cause: &Cause, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "{}: {}\n", styled(style::HEADLINE, cause.id), cause.title)?;
    writeln!(out, "{}", cause.explanation)
}

/// Writes every cause, and the glossary, in lines of at most `width`.
///
/// # Errors
/// When `out` cannot be written to.
pub fn write_catalogue(width: usize, out: &mut dyn Write) -> io::Result<()> {
    let heading = "Causes (details: whyoom causes ID; also whyoom causes COUNTER)";
    writeln!(out, "{}", styled(style::HEADING, wrap(heading, width, "")))?;
    for cause in CATALOGUE {
        if width < BESIDE {
            writeln!(out, "  {}", styled(style::HEADLINE, cause.id))?;
            writeln!(out, "{}", wrap(cause.title, width, "      "))?;
        } else {
            writeln!(out, "{}", wrap(cause.title, width, &format!("  {:<19}", cause.id)))?;
        }
    }
    writeln!(out, "\n{}", styled(style::HEADING, "Memory counters"))?;
    for term in GLOSSARY {
        writeln!(out, "  {}", styled(style::HEADLINE, term.word))?;
        writeln!(out, "{}", wrap(term.meaning, width, "      "))?;
    }
    Ok(())
}

/// Writes what counters mean, and what else each is called.
///
/// # Errors
/// When `out` cannot be written to.
pub fn write_terms(terms: &[&Term], width: usize, out: &mut dyn Write) -> io::Result<()> {
    for term in terms {
        let text = wrap(&format!("{}: {}", term.word, term.meaning), width, "");
        // A word is never wrapped, so that it begins the first line.
        let (word, meaning) = text.split_at(term.word.len().min(text.len()));
        writeln!(out, "{}{meaning}", styled(style::HEADLINE, word))?;
        if !term.aliases.is_empty() {
            writeln!(out, "{}", wrap(&term.aliases.join(", "), width, "  also: "))?;
        }
    }
    Ok(())
}
