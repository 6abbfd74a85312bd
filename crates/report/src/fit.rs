//! Whether a program fits, as a table and as JSON.

mod answer;

use std::io::{self, Write};

pub use answer::{
    FitAmount, FitAnswer, FitAssertion, FitGeneration, FitGpu, FitLargest, FitNote, FitObstacle,
    FitPeak, FitPoint, FitProcess, FitSetting, FitTokens, FitTokensPoint, FitVary,
};
use serde::Serialize;
use whyoom_redact::terminal::{Column, Table, grouped, shortened, wrap};
use whyoom_trace::Bytes;

use crate::{
    style::{self, styled},
    text::printable,
    written::write_document,
};

/// Writes the answer as a JSON document.
pub fn write_fit_json(answer: &FitAnswer, out: &mut dyn Write) -> io::Result<()> {
    #[derive(Serialize)]
    struct Document<'a> {
        schema: &'static str,
        version: u32,
        #[serde(flatten)]
        answer: &'a FitAnswer,
    }
    let document = Document { schema: "whyoom.fit", version: 1, answer };
    write_document(&document, out)
}

/// Writes the answer for people.
pub fn write_fit(answer: &FitAnswer, width: usize, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "{}\n", styled(style::HEADLINE, wrap(&qualified(answer), width, "")))?;
    if let Some(vary) = &answer.vary {
        write_vary(vary, width, out)?;
    } else {
        write_lines(&table(&answer.gpus), width, out)?;
        write_failures(&answer.gpus, width, out)?;
        write_settings(&answer.gpus, width, out)?;
    }
    if let Some(generation) = &answer.generation {
        write_generation(generation, width, out)?;
    }
    answer.peaks.first().map_or(Ok(()), |peak| write_peak(peak, width, out))?;
    for assertion in &answer.assertions {
        let holds = if assertion.holds { "holds" } else { "DOES NOT HOLD" };
        let line = format!("assert {}: {holds} ({})", assertion.text, assertion.found);
        writeln!(out, "{}", wrap(&line, width, ""))?;
    }
    if !answer.assertions.is_empty() {
        writeln!(out)?;
    }
    write_notes(&answer.notes, width, out)
}

/// Wrapped behind the word that says how sure each is.
fn write_notes(notes: &[FitNote], width: usize, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "{}", styled(style::HEADING, "Confidence"))?;
    let options = textwrap::Options::new(width).subsequent_indent("            ");
    for note in notes {
        let line = printable(&format!("  {:<9} {}", note.kind, note.text));
        writeln!(out, "{}", textwrap::fill(&line, &options))?;
    }
    Ok(())
}

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

/// Whether the program fits on a GPU: as it is, or with a value that was varied.
#[must_use]
pub fn fits_somewhere(answer: &FitAnswer) -> bool {
    match &answer.vary {
        Some(vary) => vary.largest.iter().any(|largest| largest.value.is_some()),
        None => answer.gpus.iter().any(|gpu| gpu.fits),
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
        all => format!("The largest {} that fits, on {} GPUs", vary.name, all.len()),
    }
}

/// What is said of a value that fits with no room to spare.
const BARELY: &str = "barely: cached memory is released during the run";

fn to_spare(largest: &FitLargest) -> String {
    match largest.peak_reserved_bytes {
        _ if largest.releases_cache => format!(", {BARELY}"),
        Some(peak) => format!(", with {} to spare", Bytes(largest.room_bytes.saturating_sub(peak))),
        None => String::new(),
    }
}

/// The process that has the least room.
fn worst(gpu: &FitGpu) -> Option<&FitProcess> {
    // One that does not fit counts before one that is only close.
    gpu.processes.iter().min_by_key(|process| (process.fits, process.headroom_bytes))
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

fn write_lines(table: &Table, width: usize, out: &mut dyn Write) -> io::Result<()> {
    for line in table.lines(width) {
        writeln!(out, "{line}")?;
    }
    writeln!(out)
}

/// Every process on every GPU. The columns have the names that `--assert` takes.
fn table(gpus: &[FitGpu]) -> Table {
    let many = gpus.iter().any(|gpu| gpu.processes.len() > 1);
    let rank = many.then(|| Column::words("rank"));
    let first = [Column::words("GPU"), Column::numbers("memory").expendable(1)];
    let figures = [
        Column::numbers("allocated").expendable(3),
        Column::numbers("reserved").expendable(2),
        Column::numbers("non-PyTorch").expendable(4),
        Column::numbers("headroom"),
        Column::words("fits"),
    ];
    let mut table = Table::new(first.into_iter().chain(rank).chain(figures));
    for gpu in gpus {
        if gpu.failure.is_some() {
            let total = Bytes(gpu.total_bytes).to_string();
            let rank = many.then(|| "-".to_owned());
            let figures = ["-", "-", "-", "-", "no answer"].map(str::to_owned);
            let first = [short_name(gpu.name).to_owned(), total];
            table.row(first.into_iter().chain(rank).chain(figures));
        }
        for (index, process) in gpu.processes.iter().enumerate() {
            let (name, total) = match index {
                0 => (short_name(gpu.name).to_owned(), Bytes(gpu.total_bytes).to_string()),
                _ => (String::new(), String::new()),
            };
            let rank = many.then(|| printable(&process.rank));
            let figures = [
                amount(process.peak_allocated_bytes),
                amount(process.peak_reserved_bytes),
                Bytes(process.outside_bytes).to_string(),
                signed(process.headroom_bytes),
                verdict(process).to_owned(),
            ];
            table.row([name, total].into_iter().chain(rank).chain(figures));
        }
    }
    table
}

fn verdict(process: &FitProcess) -> &'static str {
    match process {
        FitProcess { fits: true, releases_cache: false, .. } => "yes",
        FitProcess { fits: true, .. } => "barely",
        FitProcess { fits_with: Some(_), .. } => "with a setting",
        FitProcess { obstacle: Some(FitObstacle::Unfinished), .. } => "not known",
        _ => "no",
    }
}

/// A device's name without what all share.
fn short_name(name: &str) -> &str {
    let name = name.strip_prefix("NVIDIA ").unwrap_or(name);
    name.strip_suffix(" Workstation Edition").unwrap_or(name)
}

fn amount(bytes: Option<u64>) -> String {
    bytes.map_or("-".to_owned(), |bytes| Bytes(bytes).to_string())
}

fn signed(bytes: i64) -> String {
    let sign = if bytes < 0 { "-" } else { "" };
    format!("{sign}{}", Bytes(bytes.unsigned_abs()))
}

/// Why there is no answer for a device.
fn write_failures(gpus: &[FitGpu], width: usize, out: &mut dyn Write) -> io::Result<()> {
    for gpu in gpus {
        let Some(failure) = &gpu.failure else { continue };
        let line = format!("On {} the program {}", short_name(gpu.name), printable(failure));
        writeln!(out, "{}\n", wrap(&line, width, "  "))?;
    }
    Ok(())
}

/// How memory grows with the tokens, and up to how many fit.
fn write_generation(
    generation: &FitGeneration,
    width: usize,
    out: &mut dyn Write,
) -> io::Result<()> {
    let mut table = Table::new([
        Column::words("GPU"),
        Column::numbers("room").expendable(1),
        Column::numbers("new tokens that fit"),
    ]);
    for largest in &generation.largest {
        let tokens = match largest.new_tokens {
            all if all >= generation.new_tokens => format!("all {}", grouped(all)),
            some => grouped(some),
        };
        let room = Bytes(largest.room_bytes).to_string();
        table.row([short_name(largest.gpu).to_owned(), room, tokens]);
    }
    write_lines(&table, width, out)?;
    let rooms = generation.largest.iter().map(|largest| (largest.gpu, largest.room_bytes));
    let point = |point: &FitTokensPoint| (point.new_tokens, point.peak_allocated_bytes);
    let curve: Vec<_> = generation.curve.iter().map(point).collect();
    for line in crate::chart::peak_by_value("new tokens", &curve, &rooms.collect::<Vec<_>>()) {
        writeln!(out, "{}", shortened(&line, width))?;
    }
    writeln!(out)
}

fn write_settings(gpus: &[FitGpu], width: usize, out: &mut dyn Write) -> io::Result<()> {
    for gpu in gpus {
        let Some(with) = setting_for_all(gpu) else { continue };
        let (name, reserved) = (short_name(gpu.name), Bytes(with.peak_reserved_bytes));
        let effect =
            format!("makes it fit on {name}: replayed with it, PyTorch reserves {reserved}");
        writeln!(out, "  {}", styled(style::PASTE, &with.paste))?;
        writeln!(out, "{}\n", wrap(&effect, width, "      "))?;
    }
    Ok(())
}

/// The one setting that makes every process fit that does not.
fn setting_for_all(gpu: &FitGpu) -> Option<&FitSetting> {
    let shortfall = || gpu.processes.iter().filter(|process| !process.fits);
    let settings: Vec<&FitSetting> =
        shortfall().map(|process| process.fits_with.as_ref()).collect::<Option<_>>()?;
    let same = settings.windows(2).all(|pair| pair[0].setting == pair[1].setting);
    settings.into_iter().max_by_key(|with| with.peak_reserved_bytes).filter(|_| same)
}

fn write_peak(peak: &FitPeak, width: usize, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "{}", styled(style::HEADING, "At the peak"))?;
    writeln!(out, "{}", wrap(&format!("reached by {}", peak.place), width, "  "))?;
    let line = |bytes: u64, text: &str| wrap(text, width, &format!("  {:>10}  ", Bytes(bytes)));
    for kind in &peak.kinds {
        writeln!(out, "{}", line(kind.bytes, &kind.name))?;
    }
    for place in &peak.places {
        let line = line(place.bytes, &format!("of {}", place.name));
        writeln!(out, "{}", styled(style::FAINT, line))?;
    }
    writeln!(out)
}

fn write_vary(vary: &FitVary, width: usize, out: &mut dyn Write) -> io::Result<()> {
    write_lines(&largest_table(vary), width, out)?;
    let rooms = vary.largest.iter().map(|largest| (largest.gpu, largest.room_bytes));
    let point = |point: &FitPoint| (point.value, point.peak_reserved_bytes);
    let curve: Vec<_> = vary.curve.iter().map(point).collect();
    for line in crate::chart::peak_by_value(&vary.name, &curve, &rooms.collect::<Vec<_>>()) {
        writeln!(out, "{}", shortened(&line, width))?;
    }
    writeln!(out)
}

fn largest_table(vary: &FitVary) -> Table {
    let mut table = Table::new([
        Column::words("GPU"),
        Column::numbers(printable(&vary.name)),
        Column::numbers("reserved").expendable(1),
        Column::numbers("room").expendable(2),
        Column::words("determined by").expendable(3),
    ]);
    for largest in &vary.largest {
        table.row([
            short_name(largest.gpu).to_owned(),
            largest.value.map_or("none".to_owned(), |value| value.to_string()),
            amount(largest.peak_reserved_bytes),
            Bytes(largest.room_bytes).to_string(),
            sureness(largest),
        ]);
    }
    table
}

fn sureness(largest: &FitLargest) -> String {
    let word = match largest {
        FitLargest { confirmed: false, run: true, .. } => "run; the next value was not run",
        FitLargest { confirmed: false, .. } => "predicted, not run",
        FitLargest { is_last: true, .. } => "run; the last value of the range",
        FitLargest { value: None, .. } => "run; not even the first value fits",
        FitLargest { releases_cache: true, .. } => return format!("run; {BARELY}"),
        _ => "run; the next value does not fit",
    };
    word.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn process(rank: &str, fits: bool) -> FitProcess {
        FitProcess {
            rank: rank.to_owned(),
            device: 0,
            peak_allocated_bytes: Some(8_429_000_000),
            peak_reserved_bytes: Some(8_690_000_000),
            outside_bytes: 143_130_000,
            peak_bytes: 8_833_130_000,
            headroom_bytes: 3_660_000_000,
            fits,
            releases_cache: false,
            fits_with: None,
            obstacle: None,
        }
    }

    fn gpu(name: &'static str, processes: Vec<FitProcess>) -> FitGpu {
        FitGpu { name, total_bytes: 12 << 30, fits: true, ran_on: name, failure: None, processes }
    }

    #[test]
    fn a_narrow_table_keeps_what_decides() {
        let gpus = [
            gpu("NVIDIA GeForce RTX 3060", vec![process("0", true)]),
            gpu("Tesla T4", vec![process("0", false)]),
        ];
        let first = |width: usize| table(&gpus).lines(width)[..2].join("\n");
        assert_eq!(
            first(usize::MAX),
            "GPU                  memory  allocated  reserved  non-PyTorch  headroom  fits\n\
             GeForce RTX 3060  12.00 GiB   7.85 GiB  8.09 GiB   136.50 MiB  3.41 GiB  yes"
        );
        assert_eq!(
            first(60),
            "GPU                  memory  reserved  headroom  fits\n\
             GeForce RTX 3060  12.00 GiB  8.09 GiB  3.41 GiB  yes"
        );
        assert_eq!(first(40), "GPU               headroom  fits\nGeForce RTX 3060  3.41 GiB  yes");
        let ranks = [gpu("Tesla T4", vec![process("0", true), process("1", true)])];
        assert!(table(&ranks).lines(40)[0].contains("rank"));
    }
}
