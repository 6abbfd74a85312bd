//! `why`: the verdict.

use std::{
    fmt::{self, Display},
    path::Path,
    time::Duration,
};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{
    amount::Amount,
    folders::Opened,
    quoted::{quote_names, quoted},
    refusal::Refusal,
    room::Room,
    tool::{Rules, Tool},
    whyoom::Question,
};

/// A text that is longer belongs into a file.
const LONGEST_TEXT: usize = 4 << 20;

pub(crate) struct Why;

/// What to explain: a path, a text, or both together.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Input {
    /// A log, a PyTorch memory snapshot (.pickle), an RMM log, an Nsight Systems export, or the folder of a recording
    path: Option<String>,
    /// A traceback or the end of a log, as it was printed; up to 4 MiB
    text: Option<String>,
}

/// Why memory ran out, and what to do.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Answer {
    /// Name of the cause; healthy where nothing failed, unknown where the input does not tell
    cause: String,
    /// How far the evidence carries it: fallback, likely, explains or decisive
    strength: String,
    /// The answer in one line
    headline: String,
    /// The numbers that show it, in one sentence
    because: String,
    /// The person's own lines, the most telling first
    lines: Vec<Line>,
    /// What to do, the best first
    fixes: Vec<Fix>,
    /// The figures behind it
    figures: Vec<Figure>,
    /// Other things that are true but did not stop the run
    also: Vec<String>,
    /// The cause explained
    documentation: String,
}

#[derive(Debug, Serialize, JsonSchema)]
struct Line {
    /// File, line and function, copied from the input
    line: String,
    /// What it has to do with the cause
    what: String,
}

#[derive(Debug, Serialize, JsonSchema)]
struct Fix {
    /// What it does and why it helps
    what: String,
    /// The line to paste, as it is
    paste: Option<String>,
    /// Code or a command to adapt: not to be run as it is. COMMAND stands for the person's own program
    example: Option<String>,
    /// What it frees
    frees: Option<Amount>,
    /// Whether it ran, or a replay of whole iterations of this run fitted
    proved: bool,
}

#[derive(Debug, Serialize, JsonSchema)]
struct Figure {
    /// What it is
    label: String,
    /// An amount of memory
    amount: Option<Amount>,
    /// Any other value
    value: Option<String>,
}

/// The document of `whyoom why --json`, as far as it is told.
#[derive(Deserialize)]
struct Document {
    verdict: Finding,
    contributing: Vec<Contributing>,
}

#[derive(Deserialize)]
struct Finding {
    cause: String,
    strength: String,
    headline: String,
    because: String,
    call_sites: Vec<CallSite>,
    documentation: String,
    evidence: Vec<Evidence>,
    remedies: Vec<Remedy>,
}

#[derive(Deserialize)]
struct Contributing {
    cause: String,
    headline: String,
    #[serde(default)]
    call_sites: Vec<CallSite>,
}

#[derive(Deserialize)]
struct CallSite {
    call_site: String,
    what: String,
}

#[derive(Deserialize)]
struct Evidence {
    label: String,
    bytes: Option<i64>,
    count: Option<u64>,
    share: Option<f64>,
    text: Option<String>,
}

#[derive(Deserialize)]
struct Remedy {
    what: String,
    paste: Option<String>,
    example: Option<String>,
    frees_bytes: Option<i64>,
    proved: bool,
}

impl Tool for Why {
    const NAME: &'static str = "why";
    const ABOUT: &'static str = "Explain why CUDA or host memory ran out, from a log, a pasted traceback, a PyTorch \
         memory snapshot or a whyoom recording: the cause, the person's own line, and a fix to paste. Executes nothing.";
    type Input = Input;
    type Answer = Answer;

    fn question(input: Input, rules: &Rules) -> Result<Question, Refusal> {
        let Input { path, text } = input;
        if path.is_none() && text.is_none() {
            return Err(Refusal::new("give a path or a text: there is nothing to explain"));
        }
        if text.as_ref().is_some_and(|text| text.len() > LONGEST_TEXT) {
            return Err(Refusal::new(
                "the text is longer than 4 MiB: write it to a file in an allowed folder, and give its path",
            ));
        }
        let opened = path.map(|path| rules.folders.open(Path::new(&path))).transpose()?;
        let mut arguments: Vec<String> =
            ["why", "--json", "--no-symbols", "--"].map(str::to_owned).into();
        arguments.extend(opened.as_ref().map(Opened::name));
        arguments.extend(text.is_some().then(|| "-".to_owned()));
        Ok(Question {
            arguments,
            files: opened.into_iter().collect(),
            text,
            ..rules.reading(Duration::from_secs(120))
        })
    }

    fn answer(document: &Value, room: Room) -> serde_json::Result<Answer> {
        let Document { verdict, contributing } = Document::deserialize(document)?;
        let mut names: Vec<&str> = Vec::new();
        let of_others = contributing.iter().flat_map(|one| &one.call_sites);
        names.extend(verdict.call_sites.iter().chain(of_others).map(|one| one.call_site.as_str()));
        let sentence = |text: &str| room.text(&quote_names(text, &names));
        let also = |one: &Contributing| sentence(&format!("{}: {}", one.cause, one.headline));
        Ok(Answer {
            cause: room.text(&verdict.cause),
            strength: room.text(&verdict.strength),
            headline: sentence(&verdict.headline),
            because: sentence(&verdict.because),
            lines: room.list(&verdict.call_sites, |site| Line {
                line: room.text(&site.call_site),
                what: sentence(&site.what),
            }),
            fixes: Room { items: room.items.min(3), ..room }
                .list(&verdict.remedies, |remedy| fix(remedy, sentence(&remedy.what))),
            figures: room.list(&verdict.evidence, |evidence| figure(evidence, room)),
            also: Room { items: room.items.min(3), ..room }.list(&contributing, also),
            documentation: room.text(&verdict.documentation),
        })
    }
}

fn fix(remedy: &Remedy, what: String) -> Fix {
    Fix {
        what,
        paste: Room::paste(remedy.paste.as_deref()),
        example: Room::paste(remedy.example.as_deref()),
        frees: remedy.frees_bytes.map(Amount::new),
        proved: remedy.proved,
    }
}

fn figure(evidence: &Evidence, room: Room) -> Figure {
    let count = evidence.count.map(|count| count.to_string());
    let share = evidence.share.map(|share| format!("{:.1} %", share * 100.0));
    Figure {
        label: room.text(&evidence.label),
        amount: evidence.bytes.map(Amount::new),
        value: count.or(share).or(room.maybe(evidence.text.as_deref())),
    }
}

impl Display for Answer {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(out, "{}: {}", self.cause, self.headline)?;
        for Line { line, what } in &self.lines {
            writeln!(out, "  --> {}  {what}", quoted(line))?;
        }
        for Fix { what, paste, example, proved, .. } in &self.fixes {
            let code = match (paste, example) {
                (Some(line), _) => format!("{line}  # "),
                (None, Some(example)) => format!("for example: {example}  # "),
                (None, None) => String::new(),
            };
            let proved = if *proved { "proved" } else { "not proved" };
            writeln!(out, "fix: {code}{what} ({proved})")?;
        }
        writeln!(out, "note: {}", self.because)?;
        for also in &self.also {
            writeln!(out, "also {also}")?;
        }
        writeln!(out, "{}", self.documentation)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::{room::LONGEST_ANSWER, tool::answered};

    #[test]
    fn the_longest_verdict_is_short() {
        let long = "\"日\u{1b}".repeat(10_000);
        let many = |one: Value| Value::Array(vec![one; 500]);
        let document = json!({
            "verdict": {
                "cause": "growth", "strength": "explains", "headline": long, "because": long,
                "call_sites": many(json!({"call_site": long, "what": long})),
                "documentation": long,
                "evidence": many(json!({"label": long, "bytes": i64::MAX, "text": long})),
                "remedies": many(json!({"what": long, "paste": "x".repeat(512), "example": null,
                    "frees_bytes": 1, "proved": true})),
            },
            "contributing": many(json!({"cause": long, "headline": long})),
        });
        let answer = answered::<Why>(&document).unwrap();
        assert!(answer.structured.to_string().len() <= LONGEST_ANSWER);
        assert!(answer.text.len() <= LONGEST_ANSWER && !answer.text.contains('\u{1b}'));
        assert_eq!(answer.structured["fixes"][0]["paste"], "x".repeat(512));
    }
}
