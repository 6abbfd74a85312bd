//! The answer as programs read it: `whyoom schema attach`.

use anyhow::Result;
use serde::Serialize;
use serde_json::Value;
use whyoom_causes::Referrer;

use super::answer::Attached;

const VERSION: u32 = 1;

/// The document.
#[derive(Serialize)]
pub(super) struct Document<'a> {
    schema: &'static str,
    version: u32,
    #[serde(flatten)]
    attached: &'a Attached,
    folder: String,
    referrers: Vec<ReferrerJson<'a>>,
    /// The document of `whyoom why --json` for the same folder.
    why: Value,
}

/// A name in the program under which tensors are kept.
#[derive(Serialize)]
struct ReferrerJson<'a> {
    kind: &'a str,
    name: &'a str,
    function: Option<&'a str>,
    file: Option<&'a str>,
    line: Option<u32>,
    graph: bool,
    tensors: usize,
    bytes: u64,
}

impl<'a> Document<'a> {
    /// That of a look, with its verdict as `whyoom why --json` writes it.
    pub(super) fn new(
        attached: &'a Attached,
        folder: String,
        referrers: &[&'a Referrer],
        why: &[u8],
    ) -> Result<Self> {
        Ok(Self {
            schema: "whyoom.attach",
            version: VERSION,
            attached,
            folder,
            referrers: referrers.iter().map(|one| ReferrerJson::of(one)).collect(),
            why: serde_json::from_slice(why)?,
        })
    }
}

impl<'a> ReferrerJson<'a> {
    fn of(referrer: &'a Referrer) -> Self {
        Self {
            kind: &referrer.kind,
            name: &referrer.name,
            function: referrer.function.as_deref(),
            file: referrer.file.as_deref(),
            line: referrer.line,
            graph: referrer.graph,
            tensors: referrer.blocks.len(),
            bytes: referrer.blocks.iter().map(|(_, bytes)| bytes.0).sum(),
        }
    }
}
