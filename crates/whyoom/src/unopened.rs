//! Files that could not be opened: what to do instead.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use whyoom_redact::file_for_shell;

/// What to do where a file could not even be opened; nothing where the error says it.
pub(crate) fn unopened(path: &Path, error: &io::Error) -> Option<String> {
    match error.kind() {
        io::ErrorKind::PermissionDenied => Some(format!(
            "as a user who may read it: sudo whyoom why {}",
            file_or_placeholder(path)
        )),
        io::ErrorKind::NotFound | io::ErrorKind::InvalidFilename if is_text(path) => Some(
            "to judge a text, pipe it: whyoom why < FILE, or paste it after: whyoom why -"
                .to_owned(),
        ),
        io::ErrorKind::NotFound => match path.parent().filter(|folder| is_missing(folder)) {
            Some(folder) => Some(format!(
                "folder {} does not exist: is the path relative to another one?",
                folder.display()
            )),
            None => {
                similar(path).map(|near| format!("did you mean {}?", file_or_placeholder(&near)))
            }
        },
        _ => None,
    }
}

/// Maximum number of files that a misspelt name is compared with. Chosen, not measured.
const MAX_COMPARED: usize = 4096;
/// Maximum number of letters that differ in a misspelt name, and the minimum of letters for each of them: of a short
/// name, two others make another name. Chosen, not measured.
const MAX_DIFFERENT: usize = 2;
const LETTERS_FOR_EACH: usize = 4;

/// Returns the file beside a misspelt one whose name is nearly the same. `None` if there is none.
fn similar(path: &Path) -> Option<PathBuf> {
    let name = path.file_name()?.to_str()?;
    let parent = path.parent()?;
    let folder = if parent.as_os_str().is_empty() { Path::new(".") } else { parent };
    let most = MAX_DIFFERENT.min(name.chars().count() / LETTERS_FOR_EACH);
    let entries = fs::read_dir(folder).ok()?.flatten().take(MAX_COMPARED);
    let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
    let ranked = names.map(|other| (strsim::osa_distance(name, &other), other));
    let (_, nearest) = ranked.filter(|(different, _)| *different <= most).min()?;
    Some(parent.join(nearest))
}

/// Returns a file as one word of a line for a shell, or `FILE` if no line can hold its name.
pub(crate) fn file_or_placeholder(path: &Path) -> String {
    file_for_shell(&path.to_string_lossy()).unwrap_or_else(|| "FILE".to_owned())
}

/// Returns true if somebody typed a message where a file's name belongs.
pub(crate) fn is_text(path: &Path) -> bool {
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
        let folder = tempfile::tempdir().unwrap();
        for name in ["ok.pickle", "ok.py", "b.pickle"] {
            fs::write(folder.path().join(name), "").unwrap();
        }
        let near = unopened(&folder.path().join("ok.pikle"), &missing).unwrap();
        assert!(near.starts_with("did you mean /") && near.ends_with("/ok.pickle?"), "{near}");
        assert_eq!(unopened(&folder.path().join("ok.log"), &missing), None, "another name");
        let text = Path::new("CUDA out of memory. Tried to allocate 2.00 GiB");
        assert!(unopened(text, &missing).unwrap().contains("pipe it"));
    }
}
