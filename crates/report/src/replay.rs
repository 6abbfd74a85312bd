//! A run under other allocators, as a table and as JSON.

use std::io::{self, Write};

use serde::Serialize;
use whyoom_redact::terminal::{Column, Table, grouped, wrap};
use whyoom_trace::Bytes;

use crate::{
    style::{self, styled},
    text::printable,
    written::write_document,
};

/// What a replay showed.
#[derive(Debug, Serialize)]
pub struct ReplayAnswer<'a> {
    /// Whose run it is.
    pub process: &'a str,
    /// On which device.
    pub device: String,
    /// Allocations of the run.
    pub allocations: u64,
    /// The most that was live.
    pub peak_live_bytes: u64,
    /// The most that the recorded allocator had reserved.
    pub recorded_peak_reserved_bytes: u64,
    /// What the allocators may have, where it is known.
    pub capacity_bytes: Option<u64>,
    /// Where the capacity is from.
    pub capacity_from: &'static str,
    /// How far the model of the recorded allocator reproduces the run.
    pub model: ModelCheck,
    /// The allocators, the best first.
    pub rows: Vec<ReplayRow<'a>>,
    /// True if a fit is about the recorded requests only: the program needs more than these.
    pub fits_up_to_here: bool,
    /// Reason why the program needs more than the recorded requests. `None` if it does not, as far as known.
    pub caveat: Option<String>,
    /// How far a fit reaches: `fits_up_to_here` and `caveat` are made from it.
    #[serde(skip)]
    pub reach: FitReach,
    /// What was left out, for people.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

/// Which requests of the program a fit in a replay is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FitReach {
    /// All, as far as known.
    Whole,
    /// All of this run. A longer one needs more, because memory also grows.
    WholeButGrows,
    /// Those before the leak fills the device.
    UntilLeakFills,
    /// Those before a failure that the allocator did not cause.
    UntilFailure {
        /// The cause of the failure.
        cause: &'static str,
    },
    /// The recorded ones. The program caught a failure: with that memory it would have made others.
    UntilCaughtFailure,
}

impl FitReach {
    /// Returns true if a fit is about the recorded requests only: the program needs more than these.
    #[must_use]
    pub fn ends_with_recording(self) -> bool {
        !matches!(self, Self::Whole | Self::WholeButGrows)
    }

    /// Returns the reason why the program needs more than the recorded requests. `None` if it does not, as far as known.
    /// `fits_somewhere`: true if a row of the replay says that it fits.
    #[must_use]
    pub fn caveat(self, fits_somewhere: bool) -> Option<String> {
        const RECORDED: &str = "“Fits up to here” means that the recorded requests fit";
        match self {
            Self::Whole => None,
            Self::UntilLeakFills => {
                let grows = "Memory grows, so no allocator fits this program for long.";
                Some(match fits_somewhere {
                    true => format!("{grows} {RECORDED}; the leak goes on."),
                    false => grows.to_owned(),
                })
            }
            Self::WholeButGrows => {
                Some("Memory also grows: a longer run needs more than shown here.".to_owned())
            }
            _ if !fits_somewhere => None,
            Self::UntilFailure { cause: "unknown" } => Some(format!(
                "The cause of the failure is not known. {RECORDED}; more requests may follow."
            )),
            Self::UntilFailure { cause } => Some(format!(
                "The cause ({cause}) is not memory that the allocator wastes. {RECORDED}; more requests may follow."
            )),
            Self::UntilCaughtFailure => Some(format!(
                "The program caught a failure and went on. {RECORDED}; what it would have requested in place of the \
                 failure is not known."
            )),
        }
    }
}

/// How far the model reproduces what was recorded.
#[derive(Debug, Serialize)]
pub struct ModelCheck {
    /// Whose model it is.
    pub model: &'static str,
    /// Whether the run was served from whyoom's own pool.
    #[serde(skip)]
    pub pooled: bool,
    /// Whether the recording begins with the run.
    pub whole: bool,
    /// The program's steps; of a recording that begins in mid-run, its allocations.
    pub steps: usize,
    /// Those after which the model has as much reserved as the recorded allocator had; of a recording
    /// that begins in mid-run, those that the model puts at the recorded address.
    pub equal: usize,
}

/// One allocator.
#[derive(Debug, Serialize)]
pub struct ReplayRow<'a> {
    /// Its name.
    pub allocator: &'a str,
    /// What it is.
    pub about: &'a str,
    /// The line that switches it on. `None` if there is none that can be pasted, or if it would not help: memory grows.
    pub switch: Option<String>,
    /// A line that switches it on, with COMMAND in place of a program that is not known or not this user's own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub example: Option<String>,
    /// Whether the run fits; unknown without a capacity.
    pub fits: Option<bool>,
    /// The most that it reserves.
    pub peak_reserved_bytes: u64,
    /// Live bytes as a share of reserved ones, at their peaks.
    pub utilization: f64,
    /// Calls of the driver.
    pub driver_calls: u64,
    /// What those take on a real device, by a model.
    pub driver_nanoseconds: u64,
}

impl ReplayRow<'_> {
    /// Returns the line that switches it on, to paste or to adapt. `None` if there is none.
    fn enabled_by(&self) -> Option<&str> {
        self.switch.as_deref().or(self.example.as_deref())
    }

    fn is_own_pool(&self) -> bool {
        self.allocator == OWN_POOL
    }
}

/// The name of whyoom's own pool among the allocators.
pub const OWN_POOL: &str = "stitch";

/// Writes the answers as a JSON document.
pub fn write_replay_json(answers: &[ReplayAnswer<'_>], out: &mut dyn Write) -> io::Result<()> {
    #[derive(Serialize)]
    struct Document<'a> {
        schema: &'static str,
        version: u32,
        runs: &'a [ReplayAnswer<'a>],
    }
    let document = Document { schema: "whyoom.replay", version: 1, runs: answers };
    write_document(&document, out)
}

/// Writes one answer for people, in lines of at most `width` where words allow it.
pub fn write_replay(
    answer: &ReplayAnswer<'_>,
    width: usize,
    out: &mut dyn Write,
) -> io::Result<()> {
    writeln!(out, "{}", styled(style::HEADLINE, wrap(&headline(answer), width, "")))?;
    writeln!(out, "{}", wrap(&circumstances(answer), width, ""))?;
    writeln!(out, "{}\n", wrap(&faithfulness(&answer.model), width, ""))?;
    for line in table(answer).lines(width) {
        writeln!(out, "{line}")?;
    }
    let caveat = answer.caveat.iter().filter(|_| answer.reach != FitReach::UntilLeakFills);
    for note in caveat.chain(&answer.notes) {
        writeln!(out, "{}", styled(style::FAINT, wrap(&format!("note: {note}"), width, "")))?;
    }
    // What ran in the pool is in the pool already: only something better is worth a line.
    let worthwhile = |row: &&ReplayRow<'_>| {
        !answer.model.pooled || row.peak_reserved_bytes < answer.recorded_peak_reserved_bytes
    };
    let proposed = proposed(answer).filter(worthwhile);
    if let Some((row, switch)) = proposed.and_then(|row| Some((row, row.enabled_by()?))) {
        let line = match row.switch.is_some() {
            true => styled(style::PASTE, switch).to_string(),
            false => format!("for example: {switch}"),
        };
        writeln!(out, "\n  {line}\n      {}", printable(row.about))?;
    }
    Ok(())
}

/// The allocators in PyTorch's words: what is reserved, how much of that is allocated, and what the driver is asked.
fn table(answer: &ReplayAnswer<'_>) -> Table {
    let mut table = Table::new([
        Column::words("allocator").wraps(),
        Column::numbers("peak reserved"),
        Column::numbers("allocated").expendable(1),
        Column::numbers("driver calls").expendable(3),
        Column::numbers("driver time").expendable(2),
        Column::words("fits"),
    ]);
    for row in &answer.rows {
        let fits = match row.fits {
            Some(true) if answer.fits_up_to_here => "up to here",
            Some(true) => "yes",
            Some(false) => "no",
            None => "-",
        };
        // A run that failed has not shown its peak.
        let peak = Bytes(row.peak_reserved_bytes).to_string();
        table.row([
            printable(&shown(row)),
            if row.fits == Some(false) { format!("over {peak}") } else { peak },
            format!("{:.1} %", row.utilization * 100.0),
            grouped(row.driver_calls),
            seconds(row.driver_nanoseconds),
            fits.to_owned(),
        ]);
    }
    table
}

/// The best that a program can switch on. A setting comes before whyoom's own pool, which changes more,
/// as long as it is better than the recorded run.
fn proposed<'a, 'b>(answer: &'a ReplayAnswer<'b>) -> Option<&'a ReplayRow<'b>> {
    let usable =
        || answer.rows.iter().filter(|row| row.enabled_by().is_some() && row.fits != Some(false));
    let setting = usable().find(|row| !row.is_own_pool());
    let better =
        |row: &&ReplayRow<'_>| row.peak_reserved_bytes < answer.recorded_peak_reserved_bytes;
    setting.filter(better).or_else(|| usable().next())
}

/// An allocator's name; of whyoom's own pool, what switches it on too.
fn shown(row: &ReplayRow<'_>) -> String {
    if row.is_own_pool() {
        format!("{} (whyoom's --pool)", row.allocator)
    } else {
        row.allocator.to_owned()
    }
}

/// The answer in one line: the best that a program can switch on, against the recorded run.
fn headline(answer: &ReplayAnswer<'_>) -> String {
    let recorded = Bytes(answer.recorded_peak_reserved_bytes);
    if let (FitReach::UntilLeakFills, Some(caveat)) = (answer.reach, &answer.caveat) {
        return caveat.clone();
    }
    match proposed(answer) {
        // A log tells nothing of what its allocator held.
        Some(row) if recorded == Bytes::ZERO => {
            format!("{} would reserve {} at most", shown(row), Bytes(row.peak_reserved_bytes))
        }
        Some(row) if row.peak_reserved_bytes < answer.recorded_peak_reserved_bytes => format!(
            "{} would reserve {} at most, where the run reserved {recorded}",
            shown(row),
            Bytes(row.peak_reserved_bytes)
        ),
        Some(_) => {
            format!("No allocator that can be enabled does better than the {recorded} of the run")
        }
        None => "No allocator that can be enabled fits".to_owned(),
    }
}

fn circumstances(answer: &ReplayAnswer<'_>) -> String {
    let live = Bytes(answer.peak_live_bytes);
    let capacity = match answer.capacity_bytes {
        Some(bytes) => format!("capacity {} ({})", Bytes(bytes), answer.capacity_from),
        None => "capacity unknown: use --capacity to see whether it fits".to_owned(),
    };
    format!(
        "{}, {}: {} allocations, {live} live at the peak; {capacity}",
        answer.process,
        answer.device,
        grouped(answer.allocations)
    )
}

fn faithfulness(model: &ModelCheck) -> String {
    let ModelCheck { model, whole, steps, equal, .. } = *model;
    if steps == 0 {
        return format!(
            "The log shows what {model} returned to the program, not what it reserved: the accuracy \
             of these values is unknown."
        );
    }
    let what = if whole {
        "reserves what the recorded one did after"
    } else {
        "places blocks as recorded"
    };
    let unit = if whole { "steps" } else { "allocations" };
    let of = grouped(steps as u64);
    let many = if equal == steps {
        format!("each of {of}")
    } else {
        format!("{} of {of}", grouped(equal as u64))
    };
    let care = match (whole, equal == steps) {
        (true, true) => "",
        (false, true) => {
            " The recording starts mid-run: what existed then is placed anew, so the values are \
             approximate."
        }
        (_, false) => {
            " A setting or a part of the run is not in the recording: the values are estimates."
        }
    };
    format!("The model of {model} {what} {many} {unit}.{care}")
}

fn seconds(nanoseconds: u64) -> String {
    let seconds = nanoseconds as f64 / 1e9;
    if seconds < 1.0 { format!("{:.1} ms", seconds * 1e3) } else { format!("{seconds:.1} s") }
}
