//! What was said of a case, whichever command said it.

use serde::{Deserialize, Serialize};

use super::advice;
use crate::documents::{Finding, Suspicion, Who, Why};

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
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Answer {
    /// The primary cause.
    pub cause: String,
    /// What was said to be true too.
    pub also: Vec<String>,
    /// The answer in one line.
    pub headline: String,
    /// What the primary cause explains.
    pub bytes: Option<u64>,
    /// What the primary cause's remedies say.
    pub remedies: Vec<Advice>,
    /// What all the others say.
    pub other_remedies: Vec<Advice>,
}

/// Something to do.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Advice {
    /// In words.
    pub what: String,
    /// The line to paste.
    pub paste: Option<String>,
    /// Code to adapt.
    pub example: Option<String>,
}

impl Answer {
    /// What `whyoom why` said.
    #[must_use]
    pub fn of_why(document: &Why) -> Self {
        let (verdict, others) = (&document.verdict, &document.contributing);
        Self {
            cause: verdict.cause.clone(),
            also: others.iter().map(|finding| finding.cause.clone()).collect(),
            headline: verdict.headline.clone(),
            bytes: verdict.gives_back_bytes,
            remedies: remedies(verdict),
            other_remedies: others.iter().flat_map(remedies).collect(),
        }
    }

    /// What `whyoom who` said: the first suspicion is what it names first.
    #[must_use]
    pub fn of_who(document: &Who) -> Self {
        let all: Vec<&Suspicion> =
            document.devices.iter().flat_map(|device| &device.suspicions).collect();
        let first = all.first();
        Self {
            cause: first.map_or("healthy".to_owned(), |first| cause_of(first)),
            also: all.iter().skip(1).map(|other| cause_of(other)).collect(),
            headline: first.map_or(String::new(), |first| first.headline.clone()),
            bytes: first.and_then(|first| first.bytes),
            remedies: first.into_iter().map(|first| suspicion_advice(first)).collect(),
            other_remedies: all.iter().skip(1).map(|other| suspicion_advice(other)).collect(),
        }
    }

    /// Every advice that was given.
    pub fn all_advice(&self) -> impl Iterator<Item = &Advice> {
        self.remedies.iter().chain(&self.other_remedies)
    }

    /// The first line to paste, where no code to adapt comes before it.
    #[must_use]
    pub fn paste(&self) -> Option<&str> {
        let first = self.remedies.iter().find(|one| one.paste.is_some() || one.example.is_some());
        first?.paste.as_deref()
    }
}

impl Advice {
    /// Whether it says one of the texts that bars part.
    pub(super) fn says(&self, wanted: &str) -> bool {
        wanted.split('|').any(|one| advice::says(&self.text(), one))
    }

    /// Whether this stands in it anywhere: what must not be said must not be part of a word either.
    pub(super) fn mentions(&self, unwanted: &str) -> bool {
        let said = self.text().to_lowercase();
        unwanted.to_lowercase().split('|').any(|one| said.contains(one))
    }

    fn text(&self) -> String {
        let code = self.paste.as_deref().or(self.example.as_deref()).unwrap_or_default();
        format!("{code}\n{}", self.what)
    }
}

fn remedies(finding: &Finding) -> Vec<Advice> {
    let one = |remedy: &crate::documents::Remedy| Advice {
        what: remedy.what.clone(),
        paste: remedy.paste.clone(),
        example: remedy.example.clone(),
    };
    finding.remedies.iter().map(one).collect()
}

fn suspicion_advice(suspicion: &Suspicion) -> Advice {
    Advice { what: suspicion.because.clone(), paste: suspicion.command.clone(), example: None }
}

fn cause_of(suspicion: &Suspicion) -> String {
    let known = SUSPICIONS.iter().find(|(name, _)| *name == suspicion.kind);
    known.map_or_else(|| suspicion.kind.clone(), |(_, cause)| (*cause).to_owned())
}
