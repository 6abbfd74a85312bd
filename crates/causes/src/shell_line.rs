//! A command line for a POSIX shell, kept as the words that the shell must pass on.

use whyoom_redact::{file_argument, is_plain_word, is_shown_as_is, within_single_quotes};

/// A command line to paste. It holds words, unquoted; [`Self::text`] quotes each of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShellLine {
    words: Vec<String>,
    /// A placeholder in braces that whyoom itself put into words, such as `{batch}`. It stays unquoted.
    placeholder: Option<String>,
}

impl ShellLine {
    /// Returns a line of words of whyoom's own text, separated by blanks.
    #[must_use]
    pub fn new(literal: &'static str) -> Self {
        Self { words: Vec::new(), placeholder: None }.literal(literal)
    }

    /// Adds words of whyoom's own text, separated by blanks.
    #[must_use]
    pub fn literal(mut self, literal: &'static str) -> Self {
        self.words.extend(literal.split_whitespace().map(str::to_owned));
        self
    }

    /// Adds one word, which may come from an input.
    #[must_use]
    pub fn word(mut self, word: impl Into<String>) -> Self {
        self.words.push(word.into());
        self
    }

    /// Adds words, which may come from an input.
    #[must_use]
    pub fn inputs(mut self, words: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.words.extend(words.into_iter().map(Into::into));
        self
    }

    /// Adds the name of a file, which may come from an input. A name that begins with a hyphen would be an option.
    #[must_use]
    pub fn file(self, name: &str) -> Self {
        self.word(file_argument(name))
    }

    /// Adds words with a placeholder in braces, such as `{batch}`.
    #[must_use]
    pub(crate) fn pattern(mut self, words: &[String], placeholder: &str) -> Self {
        self.placeholder = Some(placeholder.to_owned());
        self.inputs(words)
    }

    /// Returns the words that a shell passes on.
    #[must_use]
    pub fn words(&self) -> &[String] {
        &self.words
    }

    /// Returns the line as it is pasted. `None` if a word has a character that a terminal or a shell may swallow,
    /// act on or show differently, such as a line break: then no line means these words.
    #[must_use]
    pub fn text(&self) -> Option<String> {
        let placeholder = self.placeholder.as_deref();
        let words: Option<Vec<String>> = self
            .words
            .iter()
            .map(|word| is_shown_as_is(word).then(|| shell_quoted(word, placeholder)))
            .collect();
        words.map(|words| words.join(" "))
    }
}

/// Returns a word in single quotes, unless nothing in it is special to a shell. The placeholder is not special: braces
/// without a comma or two dots within are not expanded.
fn shell_quoted(word: &str, placeholder: Option<&str>) -> String {
    let without_placeholder =
        placeholder.map_or_else(|| word.to_owned(), |placeholder| word.replace(placeholder, "x"));
    match is_plain_word(&without_placeholder) {
        true => word.to_owned(),
        false => format!("'{}'", within_single_quotes(word)),
    }
}

#[cfg(test)]
mod tests {
    use whyoom_redact::for_shell;

    use super::*;

    #[test]
    fn words_stay_words() {
        for (word, expected) in [
            ("train.py", "train.py"),
            ("my file.py", "'my file.py'"),
            ("it's", r"'it'\''s'"),
            ("", "''"),
            ("{a,b}", "'{a,b}'"),
            ("{1..9}", "'{1..9}'"),
            ("=ls", "'=ls'"),
            ("a=b", "a=b"),
            ("~", "'~'"),
            ("#x", "'#x'"),
            ("!x", "'!x'"),
            ("日本", "'日本'"),
        ] {
            assert_eq!(for_shell(word), expected);
        }
    }

    #[test]
    fn only_the_placeholder_of_our_own_stays_unquoted() {
        let words = ["{batch}", "--batch={batch}", "{a,b}", "{{batch},b}", "a b{batch}"];
        let line = ShellLine::new("whyoom fit --").pattern(&words.map(str::to_owned), "{batch}");
        assert_eq!(
            line.text().unwrap(),
            "whyoom fit -- {batch} --batch={batch} '{a,b}' '{{batch},b}' 'a b{batch}'"
        );
    }

    #[test]
    fn a_word_that_a_terminal_acts_on_is_in_no_line() {
        for word in ["a\nb", "a\rb", "\u{1b}[201~", "\u{202e}x", "a\u{a0}b", "a\tb", "\u{200b}"] {
            assert_eq!(ShellLine::new("whyoom why").word(word).text(), None, "{word:?}");
        }
        for word in [
            "a\u{3164}b",
            "\u{115f}",
            "\u{1160}",
            "\u{ffa0}",
            "\u{17b4}",
            "שלום",
            "مرحبا",
            "\u{1e900}",
        ] {
            assert_eq!(ShellLine::new("whyoom why").word(word).text(), None, "{word:?}");
        }
        for word in ["Übung 日本.log", "한국어", "Ελλάδα", "Москва"] {
            assert!(ShellLine::new("whyoom why").word(word).text().is_some(), "{word}");
        }
    }

    #[test]
    fn a_file_is_no_option() {
        let line = ShellLine::new("whyoom replay").file("--output=x");
        assert_eq!(line.words(), ["whyoom", "replay", "./--output=x"]);
    }
}
