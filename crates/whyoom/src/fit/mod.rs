//! `whyoom fit`: will it fit, on which GPU, at which batch.

mod answer;
mod assertion;
mod ending;
mod generation;
mod gpu_name;
mod gpus;
mod interrupt;
mod notes;
mod observed;
mod parameters;
mod program;
mod save;
mod tree;
mod variation;
mod vary;

use std::{
    io::{self, Write},
    path::Path,
};

use anyhow::{Result, bail};
use whyoom_redact::mask_words;
use whyoom_report::{
    FitAnswer, FitPage, Report, fits_somewhere, write_fit, write_fit_json, write_fit_sarif,
};

pub(crate) use self::{assertion::Assertion, gpu_name::gpu_name, variation::Variation};
use self::{
    gpus::Family,
    observed::{Observed, ProgramFailed},
    parameters::Parameters,
    program::{Bench, Program},
};
use crate::{
    arguments::FitArguments,
    misuse::Misuse,
    report, sarif,
    terminal::{say, screen},
    unstartable::Unstartable,
    whole_file::may_write_beside,
};

/// It fits nowhere, or something that was asserted does not hold.
const DOES_NOT_FIT: u8 = 3;

/// The exit code of the command.
pub(crate) fn run(arguments: &FitArguments) -> Result<u8> {
    may_write_pages(arguments)?;
    let machine = arguments.machine.as_ref();
    let families = gpus::families(&arguments.gpu, arguments.memory, machine)?;
    let parameters = Parameters::of(&arguments.vary, &Program::new(&arguments.command)?)?;
    let bench = Bench::new(arguments)?;
    let answered = match &parameters {
        Some(parameters) => vary::run(&bench, &families, parameters),
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
    if let Some((path, observed)) = arguments.save.as_ref().zip(observed.first()) {
        say(&save::save(&answer.command, observed, path)?);
    }
    if let Some(path) = &arguments.html {
        say(&write_page(&answer, path)?);
    }
    if let Some(path) = &arguments.sarif {
        sarif::write(path, |folders, out| write_fit_sarif(&answer, folders, out))?;
    }
    let holds = answer.assertions.iter().all(|assertion| assertion.holds);
    Ok(if fits_somewhere(&answer) && holds { 0 } else { DOES_NOT_FIT })
}

/// Refuses before any work is done what could not be written after it.
fn may_write_pages(arguments: &FitArguments) -> Result<()> {
    let FitArguments { report, html, save, sarif, force, vary, .. } = arguments;
    for file in [report, html, save, sarif] {
        may_write_beside(file, *force)?;
    }
    if report.is_some() && report == html {
        bail!(Misuse("--report and --html name the same file: name two".to_owned()));
    }
    if report.is_some() && vary.len() > 1 {
        bail!(Misuse(
            "--report shows one run, and several --vary make many: write the answer with --html"
                .to_owned()
        ));
    }
    Ok(())
}

/// Judges every GPU by one run for its family. A program that sizes itself by the memory that it finds is run for each.
fn as_it_is(bench: &Bench, families: &[Family]) -> Result<(FitAnswer, Vec<Observed>)> {
    let mut results = observe(bench, families)?;
    let asked = results.iter().filter(|(_, result)| result.as_ref().is_ok_and(asks_for_memory));
    let others: Vec<Family> = asked.flat_map(|(family, _)| family.others_alone()).collect();
    results.iter_mut().for_each(|(family, result)| {
        if result.as_ref().is_ok_and(asks_for_memory) {
            family.gpus.truncate(1);
        }
    });
    results.extend(observe(bench, &others)?);
    if results.iter().all(|(_, result)| result.is_err())
        && let Some((_, Err(error))) = results.pop()
    {
        return Err(error.into());
    }
    let mut gpus = Vec::new();
    let (mut ran, mut observed) = (Vec::new(), Vec::new());
    for (family, result) in results {
        let places = family.gpus.iter().map(|gpu| gpu.place).collect::<Vec<_>>().into_iter();
        match result {
            Ok(seen) => {
                gpus.extend(places.zip(answer::gpus(&family, &seen)));
                ran.push(family);
                observed.push(seen);
            }
            Err(failed) => gpus.extend(places.zip(answer::without_answer(&family, &failed.why()))),
        }
    }
    gpus.sort_by_key(|(place, _)| *place);
    let ran: Vec<&Family> = ran.iter().collect();
    let runs: Vec<_> = ran.iter().copied().zip(&observed).collect();
    let answer = FitAnswer {
        command: bench.program.text(),
        gpus: gpus.into_iter().map(|(_, gpu)| gpu).collect(),
        peaks: observed.iter().filter_map(answer::peak).collect(),
        vary: None,
        frontier: None,
        generation: generation::generation(&runs),
        growth_bytes_per_step: notes::growth_per_step(&observed),
        stopped_after_steps: notes::stopped_after(&observed),
        assertions: Vec::new(),
        notes: notes::notes(&ran, &observed),
    };
    Ok((answer, observed))
}

/// What a run on each family showed, or how the program failed there.
type Results = Vec<(Family, Result<Observed, ProgramFailed>)>;

fn observe(bench: &Bench, families: &[Family]) -> Result<Results> {
    let job = |family: &Family| (family.ran_on(), bench.program.clone());
    let jobs: Vec<_> = families.iter().map(job).collect();
    let results = bench.observe_all(&jobs).into_iter().zip(families);
    let with_family = |(result, family): (Result<Observed>, &Family)| {
        let result = match result {
            Ok(observed) => Ok(observed),
            Err(error) => Err(error.downcast::<ProgramFailed>()?),
        };
        Ok((family.clone(), result))
    };
    results.map(with_family).collect()
}

fn asks_for_memory(observed: &Observed) -> bool {
    observed.observations.free_queries > 0
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

/// Writes the answer as a page; what to tell the person comes back.
fn write_page(answer: &FitAnswer, path: &Path) -> Result<String> {
    let words: Vec<String> =
        std::env::args_os().map(|word| word.to_string_lossy().into_owned()).collect();
    let arguments = mask_words(words.get(1..).unwrap_or_default()).join(" ");
    let page = FitPage {
        answer,
        made_with: format!("whyoom {arguments}"),
        paths: report::local_paths([]),
    };
    report::write_page(path, &page.contents(), |out| page.write(out))
}

fn write(answer: &FitAnswer, json: bool) -> Result<()> {
    let mut out = io::BufWriter::new(anstream::stdout().lock());
    if json {
        write_fit_json(answer, &mut out)?;
    } else {
        write_fit(answer, screen(), &mut out)?;
    }
    Ok(out.flush()?)
}

/// A program that cannot be started has failed by itself, too.
fn unstarted(error: anyhow::Error) -> Result<u8> {
    let unstartable = error.downcast::<Unstartable>()?;
    say(&unstartable.to_string());
    Ok(observed::PROGRAM_FAILED)
}
