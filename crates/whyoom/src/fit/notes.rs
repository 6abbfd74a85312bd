//! How sure the figures are: what was measured, what is assumed, and where to take care.

use whyoom_lab_core::models::{GpuModel, Source};
use whyoom_report::FitNote;
use whyoom_trace::Bytes;

use super::{
    gpus::Family,
    observed::{Ended, Facts, Observed, StepsOf},
};
use crate::machine::MachineFile;

pub(crate) fn notes(families: &[&Family], observed: &[Observed]) -> Vec<FitNote> {
    let Some(first) = observed.first() else { return Vec::new() };
    let measured = [Some(measured(families, first)), ending(first), Some(outside(families, first))];
    let care = [cut_short, timed_out, lost_processes, growth, read_backs, failed_later];
    let care = care.map(|note| observed.iter().find_map(note));
    let said = first.server.iter().map(|line| note("measured", format!("the server says: {line}")));
    let asked = observed.iter().find_map(|observed| free_queries(families, observed));
    measured.into_iter().chain(care).chain([asked]).flatten().chain(said).collect()
}

/// Which figures are those of the person's own machine.
pub(super) fn measured_machine(machine: &MachineFile) -> FitNote {
    note("measured", machine.told())
}

/// How often the program was run for a search.
pub(super) fn runs(count: usize) -> FitNote {
    let text = match count {
        1 => "the program was run once".to_owned(),
        count => format!(
            "the program was run {count} times; all other values were computed from those runs"
        ),
    };
    note("measured", text)
}

fn note(kind: &'static str, text: String) -> FitNote {
    FitNote { kind, text }
}

fn measured(families: &[&Family], observed: &Observed) -> FitNote {
    let names: Vec<&str> = families.iter().map(|family| family.ran_on().name).collect();
    let all: usize = families.iter().map(|family| family.gpus.len()).sum();
    let others = match all - names.len() {
        0 => String::new(),
        others => format!("; {others} more have the same compute capability"),
    };
    let ran_on = names.join(", ");
    let recorded = observed.facts.first().filter(|_| !observed.seen.is_empty());
    let text = match recorded {
        Some(facts) => format!(
            "allocated and reserved: from PyTorch {}'s own allocator on a simulated {ran_on}, \
             replayed for each GPU{others}",
            facts.torch
        ),
        None => format!(
            "what the program allocated from the driver of a simulated {ran_on}{others}; no \
             allocator reported more"
        ),
    };
    note("measured", text)
}

/// When the run was ended: what comes later was not seen.
fn ending(observed: &Observed) -> Option<FitNote> {
    let facts = observed.facts.first()?;
    let Facts { steps, last_rise, .. } = facts;
    let unit = match facts.steps_of {
        StepsOf::Optimizer => "optimizer steps",
        StepsOf::Calls => "model calls",
    };
    Some(match facts.ended {
        Ended::Repeated if facts.steps_of == StepsOf::Calls => note(
            "care",
            format!(
                "stopped after {steps} {unit}, when they repeated; no optimizer existed yet: if \
                 training follows, run more with --steps"
            ),
        ),
        Ended::Repeated => note(
            "measured",
            format!(
                "stopped after {steps} {unit}, when they repeated; a later phase (validation, \
                 saving) was not observed"
            ),
        ),
        Ended::Settled => note(
            "care",
            format!(
                "the {unit} differ in size; stopped after {steps}, none of which exceeded the peak \
                 since the {last_rise}th. Longer inputs would"
            ),
        ),
        Ended::Steps => note("measured", format!("stopped after {steps} {unit}, as requested")),
        Ended::Generation => of_generation(observed)?,
        Ended::TimeLimit => note(
            "care",
            format!("stopped after {steps} {unit} by --time-limit; what follows was not observed"),
        ),
        Ended::End => {
            note("measured", format!("the program ran to completion, with {steps} {unit}"))
        }
    })
}

/// What of a generation was run and what was computed.
fn of_generation(observed: &Observed) -> Option<FitNote> {
    let continued = observed.largest().and_then(|seen| seen.continued.as_ref())?;
    let (generation, every) = (&continued.generation, continued.tokens.every);
    let (run, asked) = generation.new_tokens();
    let skipped = match every {
        1 => String::new(),
        every => format!(" (one group of tokens in {every})"),
    };
    Some(note(
        "assumed",
        format!(
            "{run} of {asked} new tokens were run; the allocations of the others{skipped} follow from them, which grew \
             evenly, and were replayed. PyTorch's cache may fill the rest of the GPU meanwhile, and is released where \
             needed. What the program does after this generation was not observed"
        ),
    ))
}

/// What is outside the allocator comes from the table of models, not from a GPU.
fn outside(families: &[&Family], observed: &Observed) -> FitNote {
    let of_torch = !observed.seen.is_empty();
    let models = || families.iter().flat_map(|family| &family.gpus).map(|gpu| gpu.model);
    let guessed: Vec<&str> =
        models().filter(|model| is_guessed(model)).map(|model| model.name).collect();
    let subject =
        if of_torch { "non-PyTorch memory (context, libraries)" } else { "the context's part" };
    let measured = models().all(|model| matches!(model.context.source, Source::Measured));
    let how = match guessed.len() {
        _ if measured => {
            return note(
                "assumed",
                format!("{subject}: the context as measured; libraries as elsewhere"),
            );
        }
        0 => "from published output of such GPUs".to_owned(),
        _ => {
            format!("from published output of such GPUs, but estimated for {}", guessed.join(", "))
        }
    };
    note("assumed", format!("{subject}: {how}; whyoom lab list --json has the sources"))
}

fn is_guessed(model: &GpuModel) -> bool {
    matches!(model.context.source, Source::Assumed)
}

/// What was recorded is not all that happened.
fn cut_short(observed: &Observed) -> Option<FitNote> {
    observed.seen.iter().any(|seen| seen.cut_short).then(|| {
        note("care", "the run is longer than the recorded part: its peak may be earlier".to_owned())
    })
}

fn lost_processes(observed: &Observed) -> Option<FitNote> {
    let lost = observed.lost_processes;
    (lost > 0).then(|| {
        note("care", format!("{lost} more processes used a GPU and exited before reporting"))
    })
}

fn timed_out(observed: &Observed) -> Option<FitNote> {
    let of_process = observed.facts.first().is_some_and(|facts| facts.ended == Ended::TimeLimit);
    (observed.timed_out && !of_process).then(|| {
        note("care", "ended by --time-limit; what would have followed was not observed".to_owned())
    })
}

/// After how many steps the program was stopped, if it was.
pub(super) fn stopped_after(observed: &[Observed]) -> Option<u64> {
    let facts = observed.iter().flat_map(|observed| &observed.facts);
    facts.filter(|facts| facts.ended != Ended::End).map(|facts| facts.steps).max()
}

/// What a step leaves allocated, in the process that keeps the most.
pub(super) fn growth_per_step(observed: &[Observed]) -> u64 {
    // What is computed to its end is told with that end.
    let open = observed
        .iter()
        .filter(|observed| observed.seen.iter().all(|seen| seen.continued.is_none()));
    let ended =
        |facts: &&Facts| facts.generation.as_ref().is_some_and(|generation| generation.left() == 0);
    let facts = open.flat_map(|observed| &observed.facts).filter(|facts| !ended(facts));
    facts.map(|facts| facts.growth_per_step).max().unwrap_or(0)
}

fn growth(observed: &Observed) -> Option<FitNote> {
    let most = growth_per_step(std::slice::from_ref(observed));
    (most > 0).then(|| {
        note(
            "care",
            format!("each step leaves {} more allocated: a long run needs more", Bytes(most)),
        )
    })
}

/// Nothing is computed, so whatever a program reads back and decides on is not what it would be.
fn read_backs(observed: &Observed) -> Option<FitNote> {
    let count = observed.observations.read_backs;
    (count > 0).then(|| {
        note(
            "care",
            format!(
                "kernels do nothing here, and the program read values back {}: if shapes depend on values \
                 that are not computed (floating-point ones, or those of a training), they were zero",
                times(count)
            ),
        )
    })
}

fn free_queries(families: &[&Family], observed: &Observed) -> Option<FitNote> {
    let on_each = families.iter().all(|family| family.gpus.len() == 1);
    let count = observed.observations.free_queries;
    (count > 0).then(|| {
        note(
            "care",
            format!(
                "the program queried free memory {}: {}",
                times(count),
                if on_each {
                    "what it does then is what it does on this GPU"
                } else {
                    "on another GPU it may behave differently"
                }
            ),
        )
    })
}

fn times(count: u64) -> String {
    if count == 1 { "once".to_owned() } else { format!("{count} times") }
}

fn failed_later(observed: &Observed) -> Option<FitNote> {
    let status = observed.status.filter(|status| !status.success())?;
    Some(note("care", format!("the program itself then failed ({status})")))
}
