//! Whether a program fits, as a table and as JSON.

use std::io::{self, Write};

use serde::Serialize;
use whyoom_trace::Bytes;

use crate::{
    style::{self, styled},
    text::printable,
    written::write_document,
};

/// What a run on a device without a limit showed.
#[derive(Debug, Serialize)]
pub struct FitAnswer {
    /// What was run.
    pub command: String,
    /// The devices, in the order they were asked for.
    pub gpus: Vec<FitGpu>,
    /// What the peak of the largest process is made of, once for each run.
    pub peaks: Vec<FitPeak>,
    /// Where a value was varied: the largest one that fits.
    pub vary: Option<FitVary>,
    /// What was asserted.
    pub assertions: Vec<FitAssertion>,
    /// What people should know before they rely on the figures.
    pub notes: Vec<FitNote>,
}

/// One device.
#[derive(Debug, Serialize)]
pub struct FitGpu {
    /// Its name.
    pub name: &'static str,
    /// Its memory, as the driver counts it.
    pub total_bytes: u64,
    /// Whether every process fits.
    pub fits: bool,
    /// Where the program ran: on this model, or on one that computes alike.
    pub ran_on: &'static str,
    /// The processes, each on its device.
    pub processes: Vec<FitProcess>,
}

/// One process on one device.
#[derive(Debug, Serialize)]
pub struct FitProcess {
    /// Its rank, where a launcher gave it one; else its number.
    pub rank: String,
    /// Which of the devices.
    pub device: u16,
    /// The most that was in tensors, each rounded up to 512 bytes; nothing where PyTorch was not used.
    pub peak_allocated_bytes: Option<u64>,
    /// The most that PyTorch's allocator held.
    pub peak_reserved_bytes: Option<u64>,
    /// What was taken outside it: the context, libraries.
    pub outside_bytes: u64,
    /// All of it together.
    pub peak_bytes: u64,
    /// What is left; below zero, what is missing.
    pub headroom_bytes: i64,
    /// Whether it fits.
    pub fits: bool,
    /// Whether the allocator has to give cached memory back on the way.
    pub releases_cache: bool,
    /// The setting with which it fits, proved by replay.
    pub fits_with: Option<FitSetting>,
    /// Why it does not fit.
    pub obstacle: Option<FitObstacle>,
}

/// Why a process does not fit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum FitObstacle {
    /// What is live at the peak alone is too much: no allocator can help.
    TooLarge,
    /// What is live would fit, but neither as it is nor with a setting that was tried.
    Fragmented,
}

/// A setting that makes a run fit.
#[derive(Debug, Serialize)]
pub struct FitSetting {
    /// As in `PYTORCH_CUDA_ALLOC_CONF`.
    pub setting: &'static str,
    /// The line to paste: what is set already is kept.
    pub paste: String,
    /// What the allocator then holds at most.
    pub peak_reserved_bytes: u64,
}

/// What a peak is made of.
#[derive(Debug, Serialize)]
pub struct FitPeak {
    /// Where the program ran.
    pub ran_on: &'static str,
    /// Whose peak.
    pub rank: String,
    /// The line that made it.
    pub place: String,
    /// By kind, the most first.
    pub kinds: Vec<FitAmount>,
    /// By line, the most first.
    pub places: Vec<FitAmount>,
}

/// A part of a peak.
#[derive(Debug, Serialize)]
pub struct FitAmount {
    /// What it is, or where it was made.
    pub name: String,
    /// How much.
    pub bytes: u64,
}

/// A varied value.
#[derive(Debug, Serialize)]
pub struct FitVary {
    /// Its name.
    pub name: String,
    /// For each device the largest value.
    pub largest: Vec<FitLargest>,
    /// The peak over the values, for a chart.
    pub curve: Vec<FitPoint>,
    /// The values at which the program was run.
    pub runs: Vec<u64>,
    /// Whether whole runs were predicted between those, and not only their peaks.
    pub predicts_runs: bool,
}

/// What is reserved at a value.
#[derive(Debug, Serialize)]
pub struct FitPoint {
    /// The value.
    pub value: u64,
    /// The most that PyTorch's allocator holds where nothing limits it.
    pub peak_reserved_bytes: u64,
}

/// The largest value that fits on a device.
#[derive(Debug, Serialize)]
pub struct FitLargest {
    /// The device.
    pub gpu: &'static str,
    /// What PyTorch's allocator can have there.
    pub room_bytes: u64,
    /// The value; nothing where none fits.
    pub value: Option<u64>,
    /// What PyTorch's allocator holds there at most.
    pub peak_reserved_bytes: Option<u64>,
    /// Whether it has to give cached memory back on the way.
    pub releases_cache: bool,
    /// Whether the program was run there.
    pub run: bool,
    /// Whether it was also run at the next value, which did not fit.
    pub confirmed: bool,
    /// Whether it is the last value of the range: a larger one may fit too.
    pub is_last: bool,
}

/// Something that must hold.
#[derive(Debug, Serialize)]
pub struct FitAssertion {
    /// As it was written.
    pub text: String,
    /// Whether it holds on every device.
    pub holds: bool,
    /// The figures.
    pub found: String,
}

/// How sure a figure is.
#[derive(Debug, Serialize)]
pub struct FitNote {
    /// `measured`, `assumed` or `care`.
    pub kind: &'static str,
    /// What there is to know.
    pub text: String,
}

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
    writeln!(out, "{}\n", styled(style::HEADLINE, headline(answer)))?;
    if let Some(vary) = &answer.vary {
        write_vary(vary, out)?;
    } else {
        write_table(&answer.gpus, out)?;
        write_settings(&answer.gpus, out)?;
    }
    answer.peaks.first().map_or(Ok(()), |peak| write_peak(peak, out))?;
    for assertion in &answer.assertions {
        let holds = if assertion.holds { "holds" } else { "DOES NOT HOLD" };
        let line = format!("assert {}: {holds} ({})", assertion.text, assertion.found);
        writeln!(out, "{}", printable(&line))?;
    }
    if !answer.assertions.is_empty() {
        writeln!(out)?;
    }
    write_notes(&answer.notes, width, out)
}

/// Wrapped behind the word that says how sure each is.
fn write_notes(notes: &[FitNote], width: usize, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "{}", styled(style::HEADING, "How sure this is"))?;
    let options = textwrap::Options::new(width).subsequent_indent("            ");
    for note in notes {
        let line = printable(&format!("  {:<9} {}", note.kind, note.text));
        writeln!(out, "{}", textwrap::fill(&line, &options))?;
    }
    Ok(())
}

fn headline(answer: &FitAnswer) -> String {
    if let Some(vary) = &answer.vary {
        return vary_headline(vary);
    }
    let fitting = answer.gpus.iter().filter(|gpu| gpu.fits).count();
    match (&answer.gpus[..], fitting) {
        ([only], 1) => {
            let left = worst(only).map_or(0, |process| process.headroom_bytes);
            format!("It fits on {}, with {} to spare", only.name, signed(left))
        }
        ([only], _) => match worst(only) {
            Some(FitProcess { fits_with: Some(with), .. }) => {
                format!("It fits on {} with {}", only.name, with.setting)
            }
            Some(process) => {
                format!("It does not fit on {}: {}", only.name, lack(only, process))
            }
            None => format!("It does not fit on {}", only.name),
        },
        (all, 0) => format!("It fits on none of the {} GPUs", all.len()),
        (all, 2) if all.len() == 2 => "It fits on both GPUs".to_owned(),
        (all, count) if count == all.len() => format!("It fits on all {count} GPUs"),
        (all, count) => format!("It fits on {count} of {} GPUs", all.len()),
    }
}

fn vary_headline(vary: &FitVary) -> String {
    match &vary.largest[..] {
        [only] => match only.value {
            Some(value) => {
                format!("The largest {} that fits on {} is {value}", vary.name, only.gpu)
            }
            None => format!("No {} fits on {}", vary.name, only.gpu),
        },
        all => format!("The largest {} that fits, on {} GPUs", vary.name, all.len()),
    }
}

/// The process that has the least room.
fn worst(gpu: &FitGpu) -> Option<&FitProcess> {
    gpu.processes.iter().min_by_key(|process| process.headroom_bytes)
}

fn lack(gpu: &FitGpu, process: &FitProcess) -> String {
    let (need, have) = (Bytes(process.peak_bytes), Bytes(gpu.total_bytes));
    match process.obstacle {
        Some(FitObstacle::Fragmented) => format!(
            "it takes {need} of {have}, though {} would do: no setting that was tried helps",
            Bytes(process.peak_allocated_bytes.unwrap_or_default() + process.outside_bytes)
        ),
        _ => format!("it needs {need}, and the GPU has {have}"),
    }
}

fn write_table(gpus: &[FitGpu], out: &mut dyn Write) -> io::Result<()> {
    let many = gpus.iter().any(|gpu| gpu.processes.len() > 1);
    let rank = if many { "rank  " } else { "" };
    writeln!(
        out,
        "{:<34} {:>10}  {rank}{:>10} {:>10} {:>10} {:>11}  fits",
        "GPU", "memory", "tensors", "reserved", "elsewhere", "left"
    )?;
    for gpu in gpus {
        for (index, process) in gpu.processes.iter().enumerate() {
            let (name, total) = match index {
                0 => (short_name(gpu.name), Bytes(gpu.total_bytes).to_string()),
                _ => ("", String::new()),
            };
            let rank = if many { format!("{:<6}", process.rank) } else { String::new() };
            writeln!(
                out,
                "{name:<34} {total:>10}  {rank}{:>10} {:>10} {:>10} {:>11}  {}",
                amount(process.peak_allocated_bytes),
                amount(process.peak_reserved_bytes),
                Bytes(process.outside_bytes),
                signed(process.headroom_bytes),
                verdict(process),
            )?;
        }
    }
    writeln!(out)
}

fn verdict(process: &FitProcess) -> &'static str {
    match process {
        FitProcess { fits: true, releases_cache: false, .. } => "yes",
        FitProcess { fits: true, .. } => "barely",
        FitProcess { fits_with: Some(_), .. } => "with a setting",
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

fn write_settings(gpus: &[FitGpu], out: &mut dyn Write) -> io::Result<()> {
    for gpu in gpus {
        let Some(with) = setting_for_all(gpu) else { continue };
        writeln!(out, "  {}", styled(style::PASTE, &with.paste))?;
        writeln!(
            out,
            "      makes it fit on {}: replayed with it, PyTorch reserves {}\n",
            short_name(gpu.name),
            Bytes(with.peak_reserved_bytes)
        )?;
    }
    Ok(())
}

/// The one setting that makes every process fit that does not.
fn setting_for_all(gpu: &FitGpu) -> Option<&FitSetting> {
    let lacking = || gpu.processes.iter().filter(|process| !process.fits);
    let settings: Vec<&FitSetting> =
        lacking().map(|process| process.fits_with.as_ref()).collect::<Option<_>>()?;
    let same = settings.windows(2).all(|pair| pair[0].setting == pair[1].setting);
    settings.into_iter().max_by_key(|with| with.peak_reserved_bytes).filter(|_| same)
}

fn write_peak(peak: &FitPeak, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "{}", styled(style::HEADING, "At the peak"))?;
    writeln!(out, "  reached by {}", printable(&peak.place))?;
    for kind in &peak.kinds {
        writeln!(out, "  {:>10}  {}", Bytes(kind.bytes), kind.name)?;
    }
    for place in &peak.places {
        let line = format!("  {:>10}  of {}", Bytes(place.bytes), place.name);
        writeln!(out, "{}", styled(style::FAINT, line))?;
    }
    writeln!(out)
}

fn write_vary(vary: &FitVary, out: &mut dyn Write) -> io::Result<()> {
    writeln!(
        out,
        "{:<34} {:>10} {:>11} {:>11}  how it was found",
        "GPU", vary.name, "reserved", "room"
    )?;
    for largest in &vary.largest {
        let value = largest.value.map_or("none".to_owned(), |value| value.to_string());
        let sure = match largest {
            FitLargest { confirmed: false, run: true, .. } => "run; the next one was not",
            FitLargest { confirmed: false, .. } => "predicted, not run",
            FitLargest { is_last: true, .. } => "run; the last one of the range",
            FitLargest { value: None, .. } => "run; not even the first one fits",
            FitLargest { releases_cache: true, .. } => {
                "run; barely: cached memory is given back on the way"
            }
            _ => "run; the next one does not fit",
        };
        writeln!(
            out,
            "{:<34} {value:>10} {:>11} {:>11}  {sure}",
            short_name(largest.gpu),
            amount(largest.peak_reserved_bytes),
            Bytes(largest.room_bytes),
        )?;
    }
    writeln!(out)?;
    for line in crate::chart::peak_by_value(vary) {
        writeln!(out, "{line}")?;
    }
    writeln!(out)
}
