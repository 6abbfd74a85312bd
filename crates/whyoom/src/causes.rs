//! `whyoom causes`.

use anyhow::{Result, bail};
use whyoom_causes::{CATALOGUE, GLOSSARY, find, find_terms};
use whyoom_report::{
    write_catalogue, write_catalogue_json, write_cause, write_terms, write_terms_json,
};

use crate::{arguments::CausesArguments, misuse::Misuse, nearest::did_you_mean, terminal::width};

pub(crate) fn run(arguments: &CausesArguments) -> Result<()> {
    let mut out = anstream::stdout().lock();
    let Some(word) = arguments.id.as_deref() else {
        if arguments.json {
            write_catalogue_json(None, &mut out)?;
        } else {
            write_catalogue(width(), &mut out)?;
        }
        return Ok(());
    };
    match (find(word), find_terms(word)) {
        (Some(_), _) if arguments.json => write_catalogue_json(Some(word), &mut out)?,
        (Some(cause), _) => write_cause(cause, &mut out)?,
        (None, terms) if terms.is_empty() => {
            let causes = CATALOGUE.iter().map(|cause| cause.id);
            let known = causes.chain(GLOSSARY.iter().map(|term| term.word));
            let near = did_you_mean(word, known, "whyoom causes");
            bail!(Misuse(format!("unknown cause or counter '{word}'{near}")));
        }
        (None, terms) if arguments.json => write_terms_json(&terms, &mut out)?,
        (None, terms) => write_terms(&terms, width(), &mut out)?,
    }
    Ok(())
}
