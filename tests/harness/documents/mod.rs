//! What the command's own JSON documents hold (docs/json.md), each key that a check meets.
#![allow(missing_docs, reason = "the page docs/json.md documents every key")]

mod fit;
mod replay;
mod who;
mod why;

use serde::{Deserialize, Deserializer};

pub use self::{
    fit::{
        Fit, FitAssertion, FitFrontier, FitFrontierRow, FitGeneration, FitGpu, FitLargest, FitNote,
        FitProcess, FitTokens, FitVary,
    },
    replay::{Replay, ReplayRow},
    who::{Suspicion, Who, WhoDevice, WhoHolder},
    why::{Device, Driver, Finding, Incident, Remedy, Totals, Why},
};

/// A key that must be there, and may be null: serde takes an absent one for null otherwise.
pub fn nullable<'de, D, T>(deserializer: D) -> Result<Option<T>, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de>,
{
    Option::deserialize(deserializer)
}
