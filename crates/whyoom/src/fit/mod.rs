//! `whyoom fit`: will it fit, on which GPU, at which batch.

mod answer;
mod assertion;
mod gpus;
mod notes;
mod observed;
mod program;
mod vary;

use std::io::{self, Write};

use anyhow::Result;
use whyoom_report::{FitAnswer, write_fit, write_fit_json};

pub(crate) use self::{assertion::Assertion, gpus::gpu_name, vary::Variation};
use self::{gpus::Family, observed::ProgramFailed, program::Bench};
use crate::{MISUSED, arguments::FitArguments, terminal::width};

/// It fits nowhere, or something that was asserted does not hold.
const DOES_NOT_FIT: u8 = 3;

/// The exit code of the command.
pub(crate) fn run(arguments: &FitArguments) -> Result<u8> {
    let families = gpus::families(&arguments.gpu, arguments.memory);
    let bench = Bench::new(arguments)?;
    if let Some(mark) = arguments.vary.as_ref().map(Variation::mark)
        && !bench.program.contains(&mark)
    {
        anstream::eprintln!("whyoom: the command has no {mark} to put a value into");
        return Ok(MISUSED);
    }
    let answered = match &arguments.vary {
        Some(variation) => vary::run(&bench, &families, variation),
        None => as_it_is(&bench, &families),
    };
    let mut answer = match answered {
        Err(error) => match error.downcast::<ProgramFailed>() {
            Ok(failed) => return Ok(failed.tell()),
            Err(other) => return Err(other),
        },
        Ok(answer) => answer,
    };
    answer.assertions =
        arguments.assertions.iter().map(|assertion| assertion.judge(&answer.gpus)).collect();
    write(&answer, arguments.json)?;
    let holds = answer.assertions.iter().all(|assertion| assertion.holds);
    Ok(if fits_somewhere(&answer) && holds { 0 } else { DOES_NOT_FIT })
}

/// Judges every GPU by one run for its family.
fn as_it_is(bench: &Bench, families: &[Family]) -> Result<FitAnswer> {
    let job = |family: &Family| (family.ran_on(), bench.program.clone());
    let jobs: Vec<_> = families.iter().map(job).collect();
    let observed = bench.observe_all(&jobs)?;
    let mut gpus = Vec::new();
    for (family, seen) in families.iter().zip(&observed) {
        let places = family.gpus.iter().map(|gpu| gpu.place);
        gpus.extend(places.zip(answer::gpus(family, seen)));
    }
    gpus.sort_by_key(|(place, _)| *place);
    Ok(FitAnswer {
        command: bench.program.text(),
        gpus: gpus.into_iter().map(|(_, gpu)| gpu).collect(),
        peaks: observed.iter().filter_map(answer::peak).collect(),
        vary: None,
        assertions: Vec::new(),
        notes: notes::notes(families, &observed),
    })
}

fn fits_somewhere(answer: &FitAnswer) -> bool {
    match &answer.vary {
        Some(vary) => vary.largest.iter().any(|largest| largest.value.is_some()),
        None => answer.gpus.iter().any(|gpu| gpu.fits),
    }
}

fn write(answer: &FitAnswer, json: bool) -> Result<()> {
    let mut out = io::BufWriter::new(anstream::stdout().lock());
    if json {
        write_fit_json(answer, &mut out)?;
    } else {
        write_fit(answer, width(), &mut out)?;
    }
    Ok(out.flush()?)
}
