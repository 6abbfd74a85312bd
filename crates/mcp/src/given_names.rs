//! The names that the client knows, in place of the names under which whyoom read the files.

use std::cmp::Reverse;

use serde_json::Value;
use whyoom_redact::{
    file_argument, for_shell, is_plain_word, is_shown_as_is, visible, within_single_quotes,
};

use crate::folders::Opened;

/// The members of whyoom's documents that hold a line for a shell.
const LINES: [&str; 2] = ["paste", "example"];

/// Returns a document with the names that the client knows. A line that cannot hold such a name becomes null.
pub(crate) fn in_document(document: Value, files: &[Opened]) -> Value {
    match document {
        Value::String(text) => Value::from(in_text(&text, files)),
        Value::Array(items) => items.into_iter().map(|item| in_document(item, files)).collect(),
        Value::Object(members) => {
            members.into_iter().map(|(key, value)| in_member(&key, value, files)).collect()
        }
        other => other,
    }
}

fn in_member(key: &str, value: Value, files: &[Opened]) -> (String, Value) {
    let value = match value {
        Value::String(line) if LINES.contains(&key) => Value::from(in_line(&line, files)),
        other => in_document(other, files),
    };
    (in_text(key, files), value)
}

/// Returns a line for a shell with the names that the client knows, quoted. `None` if a name cannot stand in it.
fn in_line(line: &str, files: &[Opened]) -> Option<String> {
    let mut result = String::new();
    let mut rest = line;
    while let Some(found) = first_name(rest, files) {
        let begun = line.len() - rest.len() + found.at;
        let name = file_argument(found.file.given());
        let is_plain = is_plain_word(&name);
        // Within double quotes, a shell would expand the name.
        if !is_plain && (!is_shown_as_is(&name) || line.contains('"')) {
            return None;
        }
        result.push_str(&rest[..found.at]);
        result.push_str(&match ends_in_quotes(&line[..begun]) {
            true => within_single_quotes(&name),
            false => for_shell(&name),
        });
        rest = &rest[found.at + found.length..];
    }
    Some(result + rest)
}

/// Returns true if a POSIX shell is within single quotes at the end of this text.
fn ends_in_quotes(text: &str) -> bool {
    let mut is_within = false;
    let mut characters = text.chars();
    while let Some(character) = characters.next() {
        match character {
            '\'' => is_within = !is_within,
            '\\' if !is_within => {
                characters.next();
            }
            _ => {}
        }
    }
    is_within
}

/// Returns a text with the names that the client knows. A name that is not plain is quoted for a shell, because
/// sentences hold lines to paste, too. A text that is nothing but the name stays a name.
pub(crate) fn in_text(text: &str, files: &[Opened]) -> String {
    let mut result = String::new();
    let mut rest = text;
    while let Some(found) = first_name(rest, files) {
        if found.length == text.len() {
            return found.file.given().to_owned();
        }
        result.push_str(&rest[..found.at]);
        let name = file_argument(&visible(found.file.given()));
        // An apostrophe earlier in a sentence opens no quotes; one directly before the name does.
        result.push_str(&match result.ends_with('\'') {
            true => within_single_quotes(&name),
            false => for_shell(&name),
        });
        rest = &rest[found.at + found.length..];
    }
    result + rest
}

/// The first place in a text with the name of a file.
struct Found<'a> {
    at: usize,
    length: usize,
    file: &'a Opened,
}

/// Returns the first place with the name of a file. `None` if there is none.
fn first_name<'a>(text: &str, files: &'a [Opened]) -> Option<Found<'a>> {
    let places = files.iter().filter_map(|file| {
        let name = file.name();
        text.find(&name).map(|at| Found { at, length: name.len(), file })
    });
    // One name may begin with another.
    places.min_by_key(|found| (found.at, Reverse(found.length)))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use serde_json::json;

    use super::*;
    use crate::folders::Folders;

    /// Replaces `FILE` by our name for a file in a document, and then by the client's name.
    fn given(name: &str, document: &Value) -> Value {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join(name), "").unwrap();
        let folders = Folders::new(&[folder.path().to_owned()]).unwrap();
        let file = folders.open(Path::new(name)).unwrap();
        let document = document.to_string().replace("FILE", &file.name());
        in_document(serde_json::from_str(&document).unwrap(), &[file])
    }

    #[test]
    fn a_name_is_one_word_of_a_line() {
        let document = json!({"path": "FILE", "paste": "whyoom replay FILE --capacity 8GiB",
            "what": "it's gzip; use: zcat FILE | whyoom why", "example": "whyoom why 'FILE/a b'"});
        assert_eq!(
            given("x;touch PWNED;#.csv", &document),
            json!({"path": "x;touch PWNED;#.csv", "paste": "whyoom replay 'x;touch PWNED;#.csv' --capacity 8GiB",
                "what": "it's gzip; use: zcat 'x;touch PWNED;#.csv' | whyoom why",
                "example": "whyoom why 'x;touch PWNED;#.csv/a b'"})
        );
        assert_eq!(given("it's", &document)["paste"], r"whyoom replay 'it'\''s' --capacity 8GiB");
        assert_eq!(given("it's", &document)["example"], r"whyoom why 'it'\''s/a b'");
        assert_eq!(given("-x", &document)["paste"], "whyoom replay ./-x --capacity 8GiB");
        assert_eq!(given("a.csv", &document)["paste"], "whyoom replay a.csv --capacity 8GiB");
    }

    #[test]
    fn a_name_that_cannot_be_quoted_is_in_no_line() {
        let document = json!({"paste": "whyoom replay FILE"});
        assert_eq!(given("a\nb", &document), json!({"paste": null}));
        assert_eq!(given("$(id)", &json!({"paste": "sh -c \"FILE\""})), json!({"paste": null}));
    }
}
