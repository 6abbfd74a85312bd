//! What a page asked of a network, by Chromium's own log of it (`--log-net-log`).

use std::{collections::BTreeMap, fs, path::Path};

use anyhow::{Context, Result, ensure};
use serde::Deserialize;
use serde_json::Value;

/// A request begins.
const STARTS: &str = "URL_REQUEST_START_JOB";
/// Who begins what no page asked for: Chromium itself, for its updates and its accounts.
const CHROMIUM_ITSELF: &str = "not an origin";

/// The part of the log that is looked at.
#[derive(Deserialize)]
struct Log {
    constants: Constants,
    events: Vec<Entry>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Constants {
    log_event_types: BTreeMap<String, u64>,
}

#[derive(Deserialize)]
struct Entry {
    r#type: u64,
    #[serde(default)]
    params: Value,
}

/// The addresses that pages and their workers asked for.
pub(super) fn asked(log: &Path) -> Result<Vec<String>> {
    let text = fs::read_to_string(log).with_context(|| log.display().to_string())?;
    addresses(&text).with_context(|| log.display().to_string())
}

fn addresses(text: &str) -> Result<Vec<String>> {
    let log: Log = serde_json::from_str(text)?;
    let starts = log.constants.log_event_types.get(STARTS).context("requests have another name")?;
    ensure!(!log.events.is_empty(), "nothing was logged");
    let requests = log.events.iter().filter(|event| event.r#type == *starts);
    let by_pages = requests.filter(|event| event.params["initiator"] != CHROMIUM_ITSELF);
    Ok(by_pages.filter_map(|event| event.params["url"].as_str().map(str::to_owned)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn log(events: &str) -> String {
        format!(r#"{{"constants": {{"logEventTypes": {{"{STARTS}": 7}}}}, "events": [{events}]}}"#)
    }

    #[test]
    fn what_pages_ask_for_is_found() {
        let own = r#"{"type": 7, "params": {"initiator": "not an origin", "url": "https://a/"}}"#;
        let end = r#"{"type": 7, "params": {"net_error": -1}}, {"type": 7}, {"type": 8}"#;
        let of_page = r#"{"type": 7, "params": {"initiator": "null", "url": "https://b/"}}"#;
        let found = |events: &str| addresses(&log(events)).expect("it is read");
        assert_eq!(found(&format!("{own}, {end}")), Vec::<String>::new());
        assert_eq!(found(&format!("{own}, {of_page}, {end}")), ["https://b/"]);
    }

    #[test]
    fn a_log_that_says_nothing_is_no_proof() {
        for text in
            ["", "{}", &log(""), r#"{"constants": {"logEventTypes": {}}, "events": [{"type": 1}]}"#]
        {
            assert!(addresses(text).is_err(), "{text}");
        }
    }
}
