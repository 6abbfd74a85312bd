//! `whyoom fit`: will it fit, on which GPU, at which batch.

mod answer;
mod assertion;
mod gpu_name;
mod gpus;
mod interrupt;
mod notes;
mod observed;
mod program;
mod variation;
mod vary;

use std::{
    io::{self, Write},
    path::Path,
};

use anyhow::{Result, bail};
use whyoom_report::{FitAnswer, Report, write_fit, write_fit_json};

pub(crate) use self::{assertion::Assertion, gpu_name::gpu_name, variation::Variation};
use self::{
    gpus::Family,
    observed::{Observed, ProgramFailed},
    program::Bench,
};
use crate::{
    arguments::FitArguments,
    misuse::Misuse,
    report,
    terminal::{say, width},
    unstartable::Unstartable,
    whole_file::may_write_beside,
};

/// It fits nowhere, or something that was asserted does not hold.
const DOES_NOT_FIT: u8 = 3;

/// The exit code of the command.
pub(crate) fn run(arguments: &FitArguments) -> Result<u8> {
    may_write_beside(&arguments.report, arguments.force)?;
    let machine = arguments.machine.as_ref();
    let families = gpus::families(&arguments.gpu, arguments.memory, machine)?;
    let bench = Bench::new(arguments)?;
    if let Some(mark) = arguments.vary.as_ref().map(Variation::mark)
        && !bench.program.contains(&mark)
    {
        bail!(Misuse(format!(
            "the command does not contain {mark}: whyoom fit … -- python train.py --batch {mark}"
        )));
    }
    let answered = match &arguments.vary {
        Some(variation) => vary::run(&bench, &families, variation),
        None => as_it_is(&bench, &families),
    };
    let (mut answer, observed) = match answered {
        Err(error) => match error.downcast::<ProgramFailed>() {
            Ok(failed) => return Ok(failed.tell()),
            Err(other) => return unstarted(other),
        },
        Ok(answer) => answer,
    };
    answer.notes.extend(machine.map(notes::measured_machine));
    answer.assertions =
        arguments.assertions.iter().map(|assertion| assertion.judge(&answer.gpus)).collect();
    write(&answer, arguments.json)?;
    if let Some(path) = &arguments.report {
        say(&write_report(&answer, &observed, path)?);
    }
    let holds = answer.assertions.iter().all(|assertion| assertion.holds);
    Ok(if fits_somewhere(&answer) && holds { 0 } else { DOES_NOT_FIT })
}

/// Judges every GPU by one run for its family.
fn as_it_is(bench: &Bench, families: &[Family]) -> Result<(FitAnswer, Vec<Observed>)> {
    let job = |family: &Family| (family.ran_on(), bench.program.clone());
    let jobs: Vec<_> = families.iter().map(job).collect();
    let observed = bench.observe_all(&jobs)?;
    let mut gpus = Vec::new();
    for (family, seen) in families.iter().zip(&observed) {
        let places = family.gpus.iter().map(|gpu| gpu.place);
        gpus.extend(places.zip(answer::gpus(family, seen)));
    }
    gpus.sort_by_key(|(place, _)| *place);
    let answer = FitAnswer {
        command: bench.program.text(),
        gpus: gpus.into_iter().map(|(_, gpu)| gpu).collect(),
        peaks: observed.iter().filter_map(answer::peak).collect(),
        vary: None,
        growth_bytes_per_step: notes::growth_per_step(&observed),
        stopped_after_steps: notes::stopped_after(&observed),
        assertions: Vec::new(),
        notes: notes::notes(families, &observed),
    };
    Ok((answer, observed))
}

/// Writes the report, with the memory of the first run; what to tell the person comes back.
fn write_report(answer: &FitAnswer, observed: &[Observed], path: &Path) -> Result<String> {
    let seen = observed.first();
    let simulated = seen.map(|seen| {
        format!(
            "Run on a simulated {} without a limit: only memory is simulated, and nothing was \
             computed.",
            seen.ran_on.name
        )
    });
    let report = Report {
        title: answer.command.clone(),
        fit: Some(answer),
        memory: seen.map(|seen| (&seen.memory, &seen.tables)),
        replay_note: Some("whyoom fit replayed the run for each GPU: see Will it fit?".to_owned()),
        simulated,
        paths: report::local_paths([]),
        ..Report::default()
    };
    report::write_file(&report, path)
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

/// A program that cannot be started has failed by itself, too.
fn unstarted(error: anyhow::Error) -> Result<u8> {
    let unstartable = error.downcast::<Unstartable>()?;
    say(&unstartable.to_string());
    Ok(observed::PROGRAM_FAILED)
}
