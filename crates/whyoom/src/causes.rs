//! `whyoom causes`.

use anyhow::{Result, bail};
use whyoom_causes::{CATALOGUE, find};
use whyoom_report::{write_catalogue, write_catalogue_json, write_cause};

use crate::arguments::CausesArguments;

pub(crate) fn run(arguments: &CausesArguments) -> Result<()> {
    let mut out = anstream::stdout().lock();
    let Some(id) = arguments.id.as_deref() else {
        if arguments.json {
            write_catalogue_json(None, &mut out)?;
        } else {
            write_catalogue(&mut out)?;
        }
        return Ok(());
    };
    let Some(cause) = find(id) else {
        let known: Vec<_> = CATALOGUE.iter().map(|cause| cause.id).collect();
        bail!("no cause is called '{id}'. The causes are: {}", known.join(", "));
    };
    if arguments.json {
        write_catalogue_json(Some(id), &mut out)?;
    } else {
        write_cause(cause, &mut out)?;
    }
    Ok(())
}
