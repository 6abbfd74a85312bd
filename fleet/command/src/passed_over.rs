//! Lines about what a command did not read: entries of an archive that are no objects, and damaged objects.

use std::borrow::Cow;

use serde::Serialize;
use whyoom_redact::visible;

/// Maximum number of damaged objects that are named. Chosen, not measured.
const MAX_NAMED: usize = 3;

/// Objects that could not be read.
#[derive(Debug, Default, Serialize)]
pub(crate) struct Damaged {
    count: usize,
    /// Paths of the first objects.
    first: Vec<String>,
}

impl Damaged {
    /// Counts the objects with the given paths.
    pub(crate) fn of(paths: &[String]) -> Self {
        Self { count: paths.len(), first: paths.iter().take(MAX_NAMED).cloned().collect() }
    }

    /// Returns a line that counts the objects and names the first. Returns `None` if there are none.
    pub(crate) fn line(&self) -> Option<String> {
        let names: Vec<Cow<'_, str>> = self.first.iter().map(|path| visible(path)).collect();
        let others = if self.count > names.len() { ", …" } else { "" };
        let what = "damaged, too long, unreadable, or of another version";
        let line =
            format!("{} objects left out ({what}): {}{others}", self.count, names.join(", "));
        (self.count > 0).then_some(line)
    }
}

/// Returns a line that counts the entries of an archive that were passed over. Returns `None` if there are none.
pub(crate) fn line(paths: &[String]) -> Option<String> {
    let first = visible(paths.first()?);
    let what = "links, other things than files, and files that whyoom-fleet did not name";
    Some(format!("{} entries passed over ({what}), such as {first}", paths.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_are_counted_and_steer_no_terminal() {
        assert_eq!(line(&[]), None);
        let paths = ["incidents/\u{1b}[2Jx".to_owned(), "incidents/y".to_owned()];
        let line = line(&paths).unwrap();
        assert!(line.starts_with("2 entries passed over") && !line.contains('\u{1b}'), "{line}");
    }

    #[test]
    fn damaged_objects_are_counted_and_the_first_are_named() {
        assert_eq!(Damaged::of(&[]).line(), None);
        let paths: Vec<String> = (1..=4).map(|number| format!("incidents/{number}")).collect();
        let one = Damaged::of(&paths[..1]).line().unwrap();
        assert!(one.starts_with("1 objects left out") && one.ends_with(": incidents/1"), "{one}");
        let all = Damaged::of(&paths);
        let line = all.line().unwrap();
        assert!(line.starts_with("4 objects left out"), "{line}");
        assert!(line.ends_with("incidents/1, incidents/2, incidents/3, …"), "{line}");
        let json = serde_json::to_value(&all).unwrap();
        assert_eq!(json, serde_json::json!({ "count": 4, "first": paths[..3] }));
    }
}
