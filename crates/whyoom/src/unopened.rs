//! Files that could not be opened: what to do instead.

use std::{io, path::Path};

use whyoom_redact::file_for_shell;

/// What to do where a file could not even be opened; nothing where the error says it.
pub(crate) fn unopened(path: &Path, error: &io::Error) -> Option<String> {
    match error.kind() {
        io::ErrorKind::PermissionDenied => Some(format!(
            "as a user who may read it: sudo whyoom why {}",
            file_or_placeholder(path)
        )),
        io::ErrorKind::NotFound | io::ErrorKind::InvalidFilename if is_text(path) => Some(
            "to judge a text, pipe it: whyoom why < FILE, or paste it after: whyoom why".to_owned(),
        ),
        io::ErrorKind::NotFound => {
            path.parent().filter(|folder| is_missing(folder)).map(|folder| {
                format!(
                    "folder {} does not exist: is the path relative to another one?",
                    folder.display()
                )
            })
        }
        _ => None,
    }
}

/// Returns a file as one word of a line for a shell, or `FILE` if no line can hold its name.
pub(crate) fn file_or_placeholder(path: &Path) -> String {
    file_for_shell(&path.to_string_lossy()).unwrap_or_else(|| "FILE".to_owned())
}

/// Whether somebody typed a message where a file's name belongs.
fn is_text(path: &Path) -> bool {
    path.to_str().is_some_and(|name| name.split_whitespace().nth(FEW_WORDS).is_some())
}

/// Names of files rarely have more words.
const FEW_WORDS: usize = 3;

fn is_missing(folder: &Path) -> bool {
    !folder.as_os_str().is_empty() && !folder.exists()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_opened_says_why() {
        let denied = io::Error::from(io::ErrorKind::PermissionDenied);
        assert!(
            unopened(Path::new("a.pickle"), &denied).unwrap().contains("sudo whyoom why a.pickle")
        );
        for (name, expected) in
            [("x;id #.gz", "why 'x;id #.gz'"), ("-x", "why ./-x"), ("a\nb", "why FILE")]
        {
            let advice = unopened(Path::new(name), &denied).unwrap();
            assert!(advice.ends_with(expected), "{advice}");
        }
        let missing = io::Error::from(io::ErrorKind::NotFound);
        assert!(
            unopened(Path::new("no-such-folder/a.pickle"), &missing)
                .unwrap()
                .contains("does not exist")
        );
        assert_eq!(unopened(Path::new("a.pickle"), &missing), None);
        let text = Path::new("CUDA out of memory. Tried to allocate 2.00 GiB");
        assert!(unopened(text, &missing).unwrap().contains("pipe it"));
    }
}
