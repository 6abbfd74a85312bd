//! What was said of a case, whichever command said it.

use serde_json::Value;

/// Under which cause a suspicion of `whyoom who` falls.
const SUSPICIONS: &[(&str, &str)] = &[
    ("orphan", "orphan"),
    ("zombie-leader", "orphan"),
    ("stuck", "orphan"),
    ("ghost", "unseen-holder"),
    ("hidden", "unseen-holder"),
    ("unlisted", "unseen-holder"),
    ("residual", "unseen-holder"),
    ("other-tenant", "other-process"),
    ("mps-server", "other-process"),
    ("lost-capacity", "limit"),
];

/// One answer.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Answer {
    /// The primary cause.
    pub(super) cause: String,
    /// What was said to be true too.
    pub(super) also: Vec<String>,
    /// The answer in one line.
    pub(super) headline: String,
    /// What the primary cause explains.
    pub(super) bytes: Option<u64>,
    /// What the primary cause's remedies say.
    pub(super) remedies: Vec<Advice>,
    /// What all the others say.
    pub(super) other_remedies: Vec<Advice>,
}

/// Something to do.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Advice {
    pub(super) what: String,
    pub(super) paste: Option<String>,
}

impl Answer {
    /// From what `whyoom why --json` printed.
    pub(super) fn of_why(document: &Value) -> Self {
        let verdict = &document["verdict"];
        let others = list(&document["contributing"]);
        Self {
            cause: text(&verdict["cause"]),
            also: others.iter().map(|finding| text(&finding["cause"])).collect(),
            headline: text(&verdict["headline"]),
            bytes: verdict["gives_back_bytes"].as_u64(),
            remedies: advice(verdict),
            other_remedies: others.iter().flat_map(advice).collect(),
        }
    }

    /// From what `whyoom who --json` printed: the first suspicion is what it names first.
    pub(super) fn of_who(document: &Value) -> Self {
        let devices = list(&document["devices"]);
        let all: Vec<&Value> =
            devices.iter().flat_map(|device| list(&device["suspicions"])).collect();
        let Some((first, others)) = all.split_first() else {
            return Self { cause: "healthy".to_owned(), ..Self::default() };
        };
        Self {
            cause: cause_of(first),
            also: others.iter().map(|other| cause_of(other)).collect(),
            headline: text(&first["headline"]),
            bytes: first["bytes"].as_u64(),
            remedies: vec![suspicion_advice(first)],
            other_remedies: others.iter().map(|other| suspicion_advice(other)).collect(),
        }
    }

    /// Every advice that was given.
    pub(super) fn all_advice(&self) -> impl Iterator<Item = &Advice> {
        self.remedies.iter().chain(&self.other_remedies)
    }

    /// The first line to paste.
    pub(super) fn paste(&self) -> Option<&str> {
        self.remedies.iter().find_map(|advice| advice.paste.as_deref())
    }
}

impl Advice {
    /// Whether it says one of the texts that bars part, whatever the letters' case.
    pub(super) fn says(&self, wanted: &str) -> bool {
        let said = format!("{}\n{}", self.paste.as_deref().unwrap_or_default(), self.what);
        let said = said.to_lowercase();
        wanted.to_lowercase().split('|').any(|one| said.contains(one))
    }
}

fn advice(finding: &Value) -> Vec<Advice> {
    let one = |remedy: &Value| Advice {
        what: text(&remedy["what"]),
        paste: remedy["paste"].as_str().map(str::to_owned),
    };
    list(&finding["remedies"]).iter().map(one).collect()
}

fn suspicion_advice(suspicion: &Value) -> Advice {
    let paste = suspicion["command"].as_str().map(str::to_owned);
    Advice { what: text(&suspicion["because"]), paste }
}

fn cause_of(suspicion: &Value) -> String {
    let kind = text(&suspicion["kind"]);
    let known = SUSPICIONS.iter().find(|(name, _)| *name == kind);
    known.map_or(kind.clone(), |(_, cause)| (*cause).to_owned())
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}
