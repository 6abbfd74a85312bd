//! The options that whyoom's lines can set, found in its code.

use std::collections::BTreeSet;

use anyhow::{Result, ensure};
use regex::Regex;
use whyoom_allocators::policies::pytorch::KNOWN_OPTIONS;

use super::sources::remedy_sources;

/// A value that the code computes, as an example of it.
const EXAMPLE_OF_COMPUTED: &str = "0.90";

/// Returns every literal that is an option, or a line that sets the variable.
pub(crate) fn options() -> Result<BTreeSet<String>> {
    let keys: Vec<&str> = KNOWN_OPTIONS.iter().map(|option| option.key).collect();
    let keys = keys.join("|");
    let option = format!(r"(?:{keys}):(?:\{{[^}}]*\}}|[\w.]+)");
    let option = Regex::new(&format!(r#"(?:"|ALLOC_CONF=)({option}(?:,{option})*)""#))?;
    let mut found = BTreeSet::new();
    for code in remedy_sources()? {
        for captures in option.captures_iter(&code) {
            let text = match captures[1].split_once('{') {
                Some((key, _)) => format!("{key}{EXAMPLE_OF_COMPUTED}"),
                None => captures[1].to_owned(),
            };
            found.insert(text);
        }
    }
    ensure!(!found.is_empty(), "no option was found in the code");
    Ok(found)
}
