//! What must not leave the node.

use regex::Regex;
use serde::Deserialize;
use serde_json::Value;
use whyoom_redact::mask;

/// A rule of redaction.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rule {
    /// A regular expression.
    pub pattern: String,
    /// What takes its place; `$1` is its first group.
    #[serde(default)]
    pub with: String,
}

/// The rules: secrets, the names of home folders, and what the site adds.
#[derive(Debug)]
pub(crate) struct Redaction {
    rules: Vec<(Regex, String)>,
}

/// A user's name stands in the path of what the user runs.
const HOME: &str = r"(/(?:home|Users|mnt/home|nfs/home)/)[^/\s:]+";

impl Redaction {
    /// # Errors
    /// Where a pattern of the site is no regular expression.
    pub(crate) fn new(site: &[Rule]) -> Result<Self, regex::Error> {
        let home = (Regex::new(HOME)?, "$1~".to_owned());
        let mut rules = vec![home];
        for rule in site {
            rules.push((Regex::new(&rule.pattern)?, rule.with.clone()));
        }
        Ok(Self { rules })
    }

    /// A text without it.
    pub(crate) fn text(&self, text: &str) -> String {
        let mut text = mask(text).into_owned();
        for (pattern, with) in &self.rules {
            text = pattern.replace_all(&text, with.as_str()).into_owned();
        }
        text
    }

    /// A name or a sentence without it, on one line: what would steer a terminal is no part of it.
    pub(crate) fn line(&self, text: &str) -> String {
        let plain = |one: char| if one.is_control() { char::REPLACEMENT_CHARACTER } else { one };
        self.text(text).chars().map(plain).collect()
    }

    /// A document without it: every text in it, and no key.
    pub(crate) fn document(&self, value: Value) -> Value {
        match value {
            Value::String(text) => Value::String(self.text(&text)),
            Value::Array(all) => all.into_iter().map(|one| self.document(one)).collect(),
            Value::Object(all) => {
                all.into_iter().map(|(key, one)| (key, self.document(one))).collect()
            }
            other => other,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn homes_secrets_and_what_the_site_adds() {
        let rule = Rule { pattern: "project-(\\w+)".into(), with: "project-?".into() };
        let redaction = Redaction::new(&[rule]).unwrap();
        let text = redaction.text("python /home/ann/project-x7/train.py --api-key=hunter2secret");
        assert!(text.starts_with("python /home/~/project-?/train.py"), "{text}");
        assert!(!text.contains("hunter2"), "{text}");
        assert_eq!(redaction.line("a\u{1b}[31m\nb"), "a\u{fffd}[31m\u{fffd}b");
        let value = serde_json::json!({"a": ["/home/bob/x", 3], "b": {"c": "/home/bob"}});
        let value = redaction.document(value).to_string();
        assert!(!value.contains("bob"), "{value}");
        assert!(Redaction::new(&[Rule { pattern: "(".into(), with: String::new() }]).is_err());
    }
}
