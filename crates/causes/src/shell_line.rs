//! A command line for a POSIX shell, kept as the words that the shell must pass on.

/// Characters, beside ASCII letters and digits, that no shell reads in a special way within a word. Zsh does so with
/// `=` at the start of a word: see [`is_plain`].
const PLAIN: &str = "/._-+,:@%=";

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
        match name.starts_with('-') {
            true => self.word(format!("./{name}")),
            false => self.word(name),
        }
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

/// Returns a word, quoted for a POSIX shell where it needs that: the shell passes it on as this one word. Unlike
/// [`ShellLine::text`], it keeps characters that a terminal acts on.
#[must_use]
pub fn for_shell(word: &str) -> String {
    shell_quoted(word, None)
}

/// Returns a word in single quotes, unless nothing in it is special to a shell. The placeholder is not special: braces
/// without a comma or two dots within are not expanded.
fn shell_quoted(word: &str, placeholder: Option<&str>) -> String {
    let without_placeholder =
        placeholder.map_or_else(|| word.to_owned(), |placeholder| word.replace(placeholder, "x"));
    match is_plain(&without_placeholder) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', r"'\''")),
    }
}

/// Returns true if no shell reads anything in the word in a special way. Zsh replaces a word that begins with `=`
/// by the path of a command.
fn is_plain(word: &str) -> bool {
    !word.is_empty()
        && !word.starts_with('=')
        && word.chars().all(|c| c.is_ascii_alphanumeric() || PLAIN.contains(c))
}

/// Returns true if a terminal shows the word as it is, and passes it on as it is when it is pasted: what a keyboard
/// has, and visible letters and digits that are written from left to right.
fn is_shown_as_is(word: &str) -> bool {
    word.chars().all(|c| {
        c == ' '
            || c.is_ascii_graphic()
            || c.is_alphanumeric() && !is_filler(c) && !is_right_to_left(c)
    })
}

/// Returns true for the Hangul fillers: the only letters that show nothing (property `Default_Ignorable_Code_Point`).
fn is_filler(c: char) -> bool {
    matches!(c, '\u{115f}' | '\u{1160}' | '\u{3164}' | '\u{ffa0}')
}

/// Returns true in the blocks of right-to-left scripts, as `DerivedBidiClass.txt` of the Unicode Character Database
/// lists them. Many terminals show such letters, and what stands between them, in another order than the line has.
fn is_right_to_left(c: char) -> bool {
    matches!(c,
        '\u{590}'..='\u{8ff}'
        | '\u{fb1d}'..='\u{fdff}'
        | '\u{fe70}'..='\u{feff}'
        | '\u{10800}'..='\u{10fff}'
        | '\u{1e800}'..='\u{1efff}')
}

#[cfg(test)]
mod tests {
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
