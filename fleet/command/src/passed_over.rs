//! The line about entries of an archive that are no objects.

use whyoom_redact::visible;

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
}
