//! What a cause yields: a claim, the numbers behind it, and what to do.

use std::fmt::Display;

use whyoom_memory::UNKNOWN_CALL_SITE;
use whyoom_trace::{Bytes, DeviceId, ProcessId};

use crate::shell_line::ShellLine;

/// A cause that was found to hold.
#[derive(Debug, Clone, PartialEq)]
pub struct Finding {
    /// The cause's id.
    pub cause: &'static str,
    /// How far the evidence carries it.
    pub strength: Strength,
    /// The answer, in one line.
    pub headline: String,
    /// The numbers that show it, in one sentence.
    pub because: String,
    /// What removing the cause would give back, where that can be said.
    pub reclaimable: Option<Bytes>,
    /// The person's own lines that it is about, the most telling first; the request that failed is the last.
    pub call_sites: Vec<CallSite>,
    /// The figures, each with where it came from.
    pub evidence: Vec<Evidence>,
    /// What to do, the best first.
    pub remedies: Vec<Remedy>,
    /// Whose run it is.
    pub process: ProcessId,
    /// On which device.
    pub device: DeviceId,
}

/// A line of the program that a finding is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallSite {
    /// The file, the line and the function.
    pub call_site: String,
    /// What it has to do with the cause.
    pub what: String,
}

/// What a call site is said to be where its request is the one that failed.
const FAILED_REQUEST: &str = "the request that failed";

impl Finding {
    /// Points at the request that failed.
    pub(crate) fn point_at_request(&mut self, call_site: String) {
        self.call_sites.push(CallSite { call_site, what: FAILED_REQUEST.to_owned() });
    }

    /// Points at another line, before the request that failed. Where that is the same line, it is named once.
    pub(crate) fn point_at(&mut self, call_site: impl Into<String>, what: impl Into<String>) {
        let (call_site, what) = (call_site.into(), what.into());
        if call_site == UNKNOWN_CALL_SITE {
            return;
        }
        let is_request = |site: &CallSite| site.what == FAILED_REQUEST;
        if let Some(same) = self.call_sites.iter_mut().find(|site| site.call_site == call_site) {
            same.what = match is_request(same) {
                true => format!("{what}; also {FAILED_REQUEST}"),
                false => format!("{}; {what}", same.what),
            };
            return;
        }
        let end = self.call_sites.iter().position(is_request).unwrap_or(self.call_sites.len());
        self.call_sites.insert(end, CallSite { call_site, what });
    }
}

/// How far the evidence carries a finding, from least to most.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Strength {
    /// True, but not what stopped the run: never an answer by itself.
    Contributing,
    /// Nothing better was found.
    Fallback,
    /// The evidence points to it; something else is possible.
    Likely,
    /// It explains what happened.
    Explains,
    /// Nothing else can be true.
    Decisive,
}

impl Strength {
    /// The word for it, as programs read it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Contributing => "contributing",
            Self::Fallback => "fallback",
            Self::Likely => "likely",
            Self::Explains => "explains",
            Self::Decisive => "decisive",
        }
    }
}

/// A figure with its name and origin.
#[derive(Debug, Clone, PartialEq)]
pub struct Evidence {
    /// What it is.
    pub label: String,
    /// Its value.
    pub figure: Figure,
    /// Where it came from.
    pub basis: Basis,
}

/// A value that is shown.
#[derive(Debug, Clone, PartialEq)]
pub enum Figure {
    /// An amount of memory.
    Bytes(Bytes),
    /// A number of things.
    Count(u64),
    /// A share of a whole.
    Share(f64),
    /// Words.
    Text(String),
}

/// Where a figure came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Basis {
    /// A message said it.
    Message,
    /// A snapshot or recording holds it.
    Recorded,
    /// It was computed from the others.
    Computed,
    /// `whyoom doctor` measured it on the machine.
    Measured,
}

impl Basis {
    /// The word for it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Message => "message",
            Self::Recorded => "recorded",
            Self::Computed => "computed",
            Self::Measured => "measured",
        }
    }
}

/// A name at the start of a sentence; a command keeps its spelling.
pub(crate) fn capitalized(name: &str) -> String {
    let begins = [("process ", "Process "), ("the ", "The ")];
    let begins = begins.iter().find_map(|(small, large)| Some((name.strip_prefix(small)?, large)));
    begins.map_or_else(|| name.to_owned(), |(rest, large)| format!("{large}{rest}"))
}

/// Something to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Remedy {
    /// What it does and why it helps.
    pub what: String,
    /// The line to paste, as it is.
    pub paste: Option<String>,
    /// The words of that line, if any of them was put together from an input.
    pub shell_line: Option<ShellLine>,
    /// Code to write in the program's own names, where these are not known: never both.
    pub example: Option<String>,
    /// What it frees, where that can be said.
    pub frees: Option<Bytes>,
    /// The allocator's setting that it changes: a replay of the run can prove such a remedy.
    pub setting: Option<&'static str>,
    /// What a replay of this run with the setting showed.
    pub proof: Option<Proof>,
}

/// A replay of the recorded run with a remedy applied, which fitted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Proof {
    /// The most that it reserved.
    pub peak: Bytes,
    /// What it could have had.
    pub capacity: Bytes,
    /// How far that carries.
    pub level: Level,
}

/// How far a replay that fitted carries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Level {
    /// The recording ends with the request that failed, and the run had not been there before: more may follow.
    ThisRequest,
    /// So many whole iterations at peak size came before the failure, and fit too.
    WholeIterations(u64),
    /// It was applied, and the program succeeded.
    Ran,
}

impl Level {
    /// The words for it, as programs read it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::ThisRequest => "passes this request only",
            Self::WholeIterations(_) => "holds for whole iterations",
            Self::Ran => "ran",
        }
    }
}

impl Proof {
    /// Whether it may be called one.
    #[must_use]
    pub fn holds(&self) -> bool {
        self.level != Level::ThisRequest
    }
}

impl Remedy {
    /// Something to do that has no line to paste.
    #[must_use]
    pub fn advice(what: impl Into<String>) -> Self {
        Self {
            what: what.into(),
            paste: None,
            shell_line: None,
            example: None,
            frees: None,
            setting: None,
            proof: None,
        }
    }

    /// A line to paste, and what it does. The line is a text of our own: one with words from an input is a
    /// [`Self::command`].
    #[must_use]
    pub fn line(paste: &'static str, what: impl Into<String>) -> Self {
        Self { paste: Some(paste.to_owned()), ..Self::advice(what) }
    }

    /// A command line to paste, and what it does. Without a line if no text means its words.
    #[must_use]
    pub fn command(line: ShellLine, what: impl Into<String>) -> Self {
        match line.text() {
            Some(text) => Self { paste: Some(text), shell_line: Some(line), ..Self::advice(what) },
            None => Self::advice(what),
        }
    }

    /// A statement to paste with a figure that was computed here, and what it does.
    #[must_use]
    pub(crate) fn statement(
        [before, after]: [&'static str; 2],
        figure: impl Display,
        what: impl Into<String>,
    ) -> Self {
        Self { paste: Some(format!("{before}{figure}{after}")), ..Self::advice(what) }
    }

    /// Code to adapt, and what it does.
    #[must_use]
    pub fn example(example: impl Into<String>, what: impl Into<String>) -> Self {
        Self { example: Some(example.into()), ..Self::advice(what) }
    }

    /// Returns the same with its line as an example, which is not to be pasted as it is.
    #[must_use]
    pub(crate) fn into_example(self) -> Self {
        Self { example: self.paste.or(self.example), paste: None, shell_line: None, ..self }
    }

    /// The line or the code, whichever it has.
    #[must_use]
    pub fn code(&self) -> Option<&str> {
        self.paste.as_deref().or(self.example.as_deref())
    }

    /// The same, as a setting of PyTorch's allocator that a replay can prove.
    #[must_use]
    pub fn by_setting(self, setting: &'static str) -> Self {
        Self { setting: Some(setting), ..self }
    }

    /// Whether it ran, or a replay of whole iterations fitted.
    #[must_use]
    pub fn is_proved(&self) -> bool {
        self.proof.is_some_and(|proof| proof.holds())
    }

    /// The same, with what it frees.
    #[must_use]
    pub fn freeing(self, frees: Bytes) -> Self {
        Self { frees: Some(frees), ..self }
    }
}

impl Evidence {
    /// An amount of memory.
    pub(crate) fn bytes(label: impl Into<String>, bytes: Bytes, basis: Basis) -> Self {
        Self { label: label.into(), figure: Figure::Bytes(bytes), basis }
    }

    /// A number of things.
    pub(crate) fn count(label: impl Into<String>, count: u64, basis: Basis) -> Self {
        Self { label: label.into(), figure: Figure::Count(count), basis }
    }

    /// A share of a whole.
    pub(crate) fn share(label: impl Into<String>, share: f64, basis: Basis) -> Self {
        Self { label: label.into(), figure: Figure::Share(share), basis }
    }

    /// Words.
    pub(crate) fn text(label: impl Into<String>, text: impl Into<String>, basis: Basis) -> Self {
        Self { label: label.into(), figure: Figure::Text(text.into()), basis }
    }
}
