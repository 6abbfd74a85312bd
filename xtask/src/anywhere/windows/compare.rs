//! Two answers, compared.

use std::{fs, path::Path, process::Command, sync::LazyLock};

use anyhow::{Context, Result};
use regex::Regex;

/// What a command ended with, printed and wrote.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Answer {
    status: Option<i32>,
    output: String,
    errors: String,
    file: Option<Vec<u8>>,
}

impl Answer {
    pub(super) fn of(command: &mut Command, file: Option<&Path>) -> Result<Self> {
        let mut output = command.output().with_context(|| format!("{command:?}"))?;
        // Wine itself failed, before the command began or at its end: its server had just ended.
        if String::from_utf8_lossy(&output.stderr).contains("wine client error") {
            output = command.output().with_context(|| format!("{command:?}"))?;
        }
        let said = |bytes: Vec<u8>| {
            let text = String::from_utf8_lossy(&bytes).into_owned();
            match file {
                // The file's name is the one thing that each has of its own.
                Some(file) => text.replace(&file.display().to_string(), "FILE"),
                None => text,
            }
        };
        let (status, errors) = (output.status.code(), said(output.stderr));
        let read = |file| fs::read(file).with_context(|| format!("nothing was written: {errors}"));
        let file = file.map(read).transpose()?;
        Ok(Self { status, output: said(output.stdout), errors, file })
    }
}

/// What the first difference is.
pub(super) fn difference(on_linux: &Answer, on_windows: &Answer) -> Option<String> {
    if on_linux.status != on_windows.status {
        let [linux, windows] = [on_linux, on_windows].map(|one| one.status);
        return Some(format!("status {linux:?}, on Windows {windows:?}: {}", on_windows.errors));
    }
    let texts = [
        ("output", &on_linux.output, &on_windows.output),
        ("errors", &on_linux.errors, &on_windows.errors),
    ];
    for (what, linux, windows) in texts {
        let (linux, windows) = (plain(linux), plain(windows));
        if linux != windows {
            let pairs = linux.lines().zip(windows.lines());
            let line = pairs.into_iter().find(|(one, other)| one != other);
            let (one, other) = line.unwrap_or(("(fewer lines)", "(fewer lines)"));
            return Some(format!("{what}:\n  {one}\n  {other}"));
        }
    }
    let [linux, windows] =
        [on_linux, on_windows].map(|one| one.file.as_deref().unwrap_or_default());
    let at = linux.iter().zip(windows).position(|(one, other)| one != other);
    let lengths = || format!("{} bytes, on Windows {}", linux.len(), windows.len());
    (linux != windows).then(|| format!("the file ({}) from byte {at:?}", lengths()))
}

/// What the system itself says of an error: its own words, and its own number.
static SYSTEMS_ERROR: LazyLock<Regex> = LazyLock::new(|| {
    #[expect(clippy::expect_used, reason = "a constant")]
    Regex::new(r"[^:\n]*\(os error \d+\)").expect("a regular expression")
});

/// Where each system has its temporary files.
static TEMPORARY: LazyLock<Regex> = LazyLock::new(|| {
    #[expect(clippy::expect_used, reason = "a constant")]
    Regex::new(r#""[^"\n]*[/\\]\.tmp\w+[/\\]+"#).expect("a regular expression")
});

fn plain(text: &str) -> String {
    let text = SYSTEMS_ERROR.replace_all(text, " ERROR");
    TEMPORARY.replace_all(&text, "\"TEMP/").replace("whyoom.exe", "whyoom")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer() -> Answer {
        let (output, errors) = ("a\nb\n".to_owned(), String::new());
        Answer { status: Some(0), output, errors, file: Some(vec![1, 2]) }
    }

    #[test]
    fn any_difference_is_found() {
        let linux = answer();
        assert_eq!(difference(&linux, &answer()), None);
        for windows in [
            Answer { status: Some(1), ..answer() },
            Answer { output: "a\nB\n".to_owned(), ..answer() },
            Answer { output: "a\n".to_owned(), ..answer() },
            Answer { errors: "note".to_owned(), ..answer() },
            Answer { file: Some(vec![1, 3]), ..answer() },
            Answer { file: Some(vec![1]), ..answer() },
        ] {
            assert!(difference(&linux, &windows).is_some(), "{windows:?}");
        }
    }

    #[test]
    fn the_systems_own_words_may_differ() {
        let said = |words: &str| Answer { errors: format!("cannot open a: {words}\n"), ..answer() };
        let linux = said("No such file or directory (os error 2)");
        assert_eq!(difference(&linux, &said("File not found. (os error 2)")), None);
        assert!(difference(&linux, &said("no")).is_some());
        let named = |path: &str| Answer { output: format!("\"name\": \"{path}\""), ..answer() };
        let linux = named("/tmp/.tmpAb1/growing");
        assert_eq!(difference(&linux, &named(r"C:\\users\\root\\Temp\\.tmpC2\\growing")), None);
        assert!(difference(&linux, &named(r"C:\\users\\.tmpC2\\healthy")).is_some());
    }
}
