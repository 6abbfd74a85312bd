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

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use whyoom_report::SCHEMAS;
    use whyoom_trace::{Address, Bytes};

    use super::{
        super::answer::{History, Look, RouteName, State},
        *,
    };

    fn attached() -> Attached {
        let look = Look {
            state: State::Looked,
            python: "3.11.7".to_owned(),
            torch: None,
            history: Some(History::Off),
            main_seconds: Some(0.001),
            snapshot_seconds: None,
            referrers_seconds: None,
            referrers_complete: None,
            ended: false,
            error: None,
        };
        let (command, route) = (vec!["python".to_owned()], RouteName::PendingCall);
        Attached { pid: 7, command, route, stopped_seconds: 0.3, watched_seconds: None, look }
    }

    /// The keys of an object, and those that its schema has and requires.
    fn keys(value: &Value, schema: &Value) -> [BTreeSet<String>; 3] {
        let of = |value: &Value| value.as_object().map(|object| object.keys().cloned().collect());
        let words = |value: &Value| serde_json::from_value(value.clone()).unwrap_or_default();
        [
            of(value).unwrap_or_default(),
            of(&schema["properties"]).unwrap_or_default(),
            words(&schema["required"]),
        ]
    }

    #[test]
    fn the_schema_has_every_key() {
        let referrer = Referrer {
            pid: 7,
            kind: "list".to_owned(),
            name: "kept".to_owned(),
            function: None,
            file: None,
            line: None,
            graph: false,
            blocks: vec![(Address(1), Bytes(2)), (Address(3), Bytes(4))],
        };
        let attached = attached();
        let document = Document::new(&attached, "x".to_owned(), &[&referrer], b"{}").unwrap();
        let document = serde_json::to_value(document).unwrap();
        let schema = SCHEMAS.iter().find(|schema| schema.name == "attach").unwrap();
        let schema: Value = serde_json::from_str(schema.text).unwrap();
        let properties = &schema["properties"];
        for (value, schema) in [
            (&document, &schema),
            (&document["look"], &properties["look"]),
            (&document["referrers"][0], &properties["referrers"]["items"]),
        ] {
            let [own, known, required] = keys(value, schema);
            assert!(own == known && own == required && !own.is_empty(), "{own:?}: {known:?}");
        }
        assert_eq!(document["route"], "pending-call");
        assert_eq!(
            (&document["referrers"][0]["bytes"], &document["referrers"][0]["tensors"]),
            (&6.into(), &2.into())
        );
        let back: Attached = serde_json::from_value(document).unwrap();
        assert_eq!((back.pid, back.look.history), (7, Some(History::Off)));
    }
}
