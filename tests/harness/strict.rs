//! JSON into structs, with nothing missing and nothing left over: a key that was renamed is an error, not
//! a default.

use anyhow::{Context, Result, ensure};
use serde::de::DeserializeOwned;

/// Reads a document.
pub fn from_str<T: DeserializeOwned>(text: &str) -> Result<T> {
    let mut unknown = Vec::new();
    let mut reader = serde_json::Deserializer::from_str(text);
    let read = serde_ignored::deserialize(&mut reader, |path| unknown.push(path.to_string()));
    let read: T = read.with_context(|| shortened(text))?;
    reader.end().with_context(|| shortened(text))?;
    ensure!(unknown.is_empty(), "unknown keys: {}", unknown.join(", "));
    Ok(read)
}

/// Reads a document.
pub fn from_slice<T: DeserializeOwned>(bytes: &[u8]) -> Result<T> {
    from_str(std::str::from_utf8(bytes)?)
}

fn shortened(text: &str) -> String {
    let start: String = text.chars().take(300).collect();
    format!("not as expected: {start}")
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;

    use super::from_str;

    #[derive(Debug, PartialEq, Deserialize)]
    struct Figures {
        calls: u64,
        nested: Vec<Inner>,
    }

    #[derive(Debug, PartialEq, Deserialize)]
    struct Inner {
        nanoseconds: f64,
    }

    #[test]
    fn nothing_is_missing_and_nothing_is_left_over() {
        let whole = r#"{"calls": 1, "nested": [{"nanoseconds": 2.5}]}"#;
        assert_eq!(from_str::<Figures>(whole).unwrap().nested, [Inner { nanoseconds: 2.5 }]);
        for wrong in [
            r#"{"nested": []}"#,
            r#"{"calls": 1, "nested": [{}]}"#,
            r#"{"calls": 1, "nested": [{"nanoseconds": null}]}"#,
            r#"{"calls": -1, "nested": []}"#,
            r#"{"calls": 1, "nested": [{"nanoseconds": 2, "more": 1}]}"#,
            r#"{"calls": 1, "nested": []} {}"#,
            "",
        ] {
            assert!(from_str::<Figures>(wrong).is_err(), "{wrong}");
        }
    }
}
