//! The answer in one sentence.

use whyoom_redact::terminal::grouped;
use whyoom_trace::Bytes;

use super::{
    answer::{
        FitAnswer, FitFrontier, FitGeneration, FitGpu, FitLargest, FitObstacle, FitProcess, FitVary,
    },
    words::{BARELY, signed, worst},
};

/// So many devices are told in the headline.
const NAMED: usize = 3;

/// The headline, and at once what makes it untrue for a longer run.
pub(crate) fn qualified(answer: &FitAnswer) -> String {
    let headline = headline(answer);
    if let Some(generation) = &answer.generation {
        let FitGeneration { run_tokens, new_tokens, .. } = generation;
        return format!(
            "{headline} ({run_tokens} of {} new tokens were run; the rest was computed from those)",
            grouped(*new_tokens)
        );
    }
    match (answer.growth_bytes_per_step, answer.stopped_after_steps) {
        (0, None) => headline,
        (0, Some(steps)) => {
            format!("{headline} ({steps} steps were run; what follows them was not)")
        }
        (growth, _) => {
            let end = steps_left(answer).map_or(String::new(), |steps| {
                format!(", so it runs out after about {} steps", grouped(steps))
            });
            format!("{headline}, but each step leaves {} allocated{end}", Bytes(growth))
        }
    }
}

/// How many more steps fit where each leaves something, on a single GPU.
fn steps_left(answer: &FitAnswer) -> Option<u64> {
    let [only] = &answer.gpus[..] else { return None };
    let left = u64::try_from(worst(only)?.headroom_bytes).ok()?;
    left.checked_div(answer.growth_bytes_per_step)
}

fn headline(answer: &FitAnswer) -> String {
    if let Some(vary) = &answer.vary {
        return vary_headline(vary);
    }
    if let Some(frontier) = &answer.frontier {
        return frontier_headline(frontier);
    }
    let fitting = answer.gpus.iter().filter(|gpu| gpu.fits).count();
    match (&answer.gpus[..], fitting) {
        ([only], 1) => {
            let left = worst(only).map_or(0, |process| process.headroom_bytes);
            let tokens = answer.generation.as_ref().map_or(String::new(), all_tokens);
            format!("It fits on {}, with {} to spare{tokens}", only.name, signed(left))
        }
        ([FitGpu { name, failure: Some(failure), .. }], _) => {
            format!("No answer for {name}: the program {failure}")
        }
        ([only], _) => match worst(only) {
            Some(FitProcess { fits_with: Some(with), .. }) => {
                format!("It fits on {} with {}", only.name, with.setting)
            }
            Some(process @ FitProcess { obstacle: Some(FitObstacle::Unfinished), .. }) => format!(
                "It is not known whether it fits on {}: it took {} until it was ended, and its memory still grows",
                only.name,
                Bytes(process.peak_bytes)
            ),
            Some(process) => {
                let lack = lack(only, process);
                match &answer.generation {
                    Some(generation) => {
                        format!(
                            "It does not fit on {}: {}",
                            only.name,
                            of_tokens(generation, &lack)
                        )
                    }
                    None => format!("It does not fit on {}: {lack}", only.name),
                }
            }
            None => format!("It does not fit on {}", only.name),
        },
        (all, 0) if all.iter().all(is_unknown) => {
            format!("It is not known whether it fits on any of the {} GPUs", all.len())
        }
        (all, 0) => format!("It fits on none of the {} GPUs{}", all.len(), unknown(all)),
        (all, 2) if all.len() == 2 => "It fits on both GPUs".to_owned(),
        (all, count) if count == all.len() => format!("It fits on all {count} GPUs"),
        (all, count) => format!("It fits on {count} of {} GPUs{}", all.len(), unknown(all)),
    }
}

/// Whether there is no answer for a device.
fn is_unknown(gpu: &FitGpu) -> bool {
    let unfinished = |process: &FitProcess| process.obstacle == Some(FitObstacle::Unfinished);
    gpu.failure.is_some() || worst(gpu).is_some_and(unfinished)
}

/// How many have no answer, behind how many do.
fn unknown(gpus: &[FitGpu]) -> String {
    match gpus.iter().filter(|gpu| is_unknown(gpu)).count() {
        0 => String::new(),
        1 => "; there is no answer for one".to_owned(),
        many => format!("; there is no answer for {many}"),
    }
}

/// Where all tokens fit.
fn all_tokens(generation: &FitGeneration) -> String {
    format!(", for all {} new tokens", grouped(generation.new_tokens))
}

/// What is lacking, and how many tokens fit.
fn of_tokens(generation: &FitGeneration, lack: &str) -> String {
    let fit = match generation.largest.first().map_or(0, |largest| largest.new_tokens) {
        0 => "not even one fits".to_owned(),
        fit => format!("up to {} fit", grouped(fit)),
    };
    format!("for {} new tokens {lack}; {fit}", grouped(generation.new_tokens))
}

fn vary_headline(vary: &FitVary) -> String {
    match &vary.largest[..] {
        [only] => match only.value {
            Some(value) if only.confirmed => format!(
                "The largest {} that fits on {} is {value}{}",
                vary.name,
                only.gpu,
                to_spare(only)
            ),
            Some(value) if only.run => format!(
                "{} {value} fits on {}{}; the next value was not run",
                vary.name,
                only.gpu,
                to_spare(only)
            ),
            Some(value) => format!(
                "The largest {} predicted to fit on {} is {value}; it was not run",
                vary.name, only.gpu
            ),
            None => format!("No {} fits on {}", vary.name, only.gpu),
        },
        few if few.len() <= NAMED => {
            let on = |one: &FitLargest| format!("{} on {}", largest(one), one.gpu);
            let named: Vec<String> = few.iter().map(on).collect();
            format!("The largest {} that fits: {}", vary.name, named.join(", "))
        }
        all => format!("The largest {} that fits, on {} GPUs", vary.name, all.len()),
    }
}

/// Of one device, its ends; of several, what there is to read.
fn frontier_headline(frontier: &FitFrontier) -> String {
    let FitFrontier { name, by, rows, .. } = frontier;
    let gpus = rows.first().map_or(0, |row| row.largest.len());
    let ends = rows.first().zip(rows.last());
    match ends.map(|(first, last)| (first, last, &first.largest[..], &last.largest[..])) {
        Some((first, last, [low], [high])) if rows.len() > 1 => format!(
            "The largest {name} that fits on {}: {} with {}, {} with {}",
            low.gpu,
            largest(low),
            with_values(by, &first.values),
            largest(high),
            with_values(by, &last.values)
        ),
        _ => format!(
            "The largest {name} that fits, on {gpus} GPUs and for {} values of {}",
            rows.len(),
            by.join(" and ")
        ),
    }
}

fn largest(largest: &FitLargest) -> String {
    let value = largest.value.map_or("none".to_owned(), |value| value.to_string());
    if largest.confirmed { value } else { format!("{value} (predicted)") }
}

/// `seq 512, layers 2`.
fn with_values(names: &[String], values: &[u64]) -> String {
    let named = names.iter().zip(values).map(|(name, value)| format!("{name} {value}"));
    named.collect::<Vec<_>>().join(", ")
}

fn to_spare(largest: &FitLargest) -> String {
    match largest.peak_reserved_bytes {
        _ if largest.releases_cache => format!(", {BARELY}"),
        Some(peak) => format!(", with {} to spare", Bytes(largest.room_bytes.saturating_sub(peak))),
        None => String::new(),
    }
}

fn lack(gpu: &FitGpu, process: &FitProcess) -> String {
    let (need, have) = (Bytes(process.peak_bytes), Bytes(gpu.total_bytes));
    match process.obstacle {
        Some(FitObstacle::Fragmented) => format!(
            "it takes {need} of {have}, though {} would be enough: no setting that was tried helps",
            Bytes(process.peak_allocated_bytes.unwrap_or_default() + process.outside_bytes)
        ),
        _ => format!("it needs {need}, and the GPU has {have}"),
    }
}

/// Whether the program fits on a GPU: as it is, or with a value that was varied.
#[must_use]
pub fn fits_somewhere(answer: &FitAnswer) -> bool {
    let rows = answer.frontier.iter().flat_map(|frontier| &frontier.rows);
    let of_rows = rows.flat_map(|row| &row.largest);
    let mut largest = answer.vary.iter().flat_map(|vary| &vary.largest).chain(of_rows);
    largest.any(|largest| largest.value.is_some()) || answer.gpus.iter().any(|gpu| gpu.fits)
}
