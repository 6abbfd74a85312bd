//! Words from inputs in a line for a POSIX shell.

/// Characters, beside ASCII letters and digits, that no shell reads in a special way within a word. Zsh does so with
/// `=` at the start of a word: see [`is_plain_word`].
const PLAIN: &str = "/._-+,:@%=";

/// Returns a word, quoted for a POSIX shell where it needs that: the shell passes it on as this one word. It keeps
/// characters that a terminal acts on.
#[must_use]
pub fn for_shell(word: &str) -> String {
    match is_plain_word(word) {
        true => word.to_owned(),
        false => format!("'{}'", within_single_quotes(word)),
    }
}

/// Returns the name of a file, quoted for a POSIX shell where it needs that. A name that begins with a hyphen would be
/// an option. `None` if the name has a character that a terminal or a shell may swallow, act on or show differently,
/// such as a line break: then no line means this file.
#[must_use]
pub fn file_for_shell(name: &str) -> Option<String> {
    is_shown_as_is(name).then(|| for_shell(&file_argument(name)))
}

/// Returns the name of a file so that no program takes it for an option.
#[must_use]
pub fn file_argument(name: &str) -> String {
    match name.starts_with('-') {
        true => format!("./{name}"),
        false => name.to_owned(),
    }
}

/// Returns a text as it stands between single quotes of a POSIX shell.
#[must_use]
pub fn within_single_quotes(text: &str) -> String {
    text.replace('\'', r"'\''")
}

/// Returns true if no shell reads anything in the word in a special way. Zsh replaces a word that begins with `=`
/// by the path of a command.
#[must_use]
pub fn is_plain_word(word: &str) -> bool {
    !word.is_empty()
        && !word.starts_with('=')
        && word.chars().all(|c| c.is_ascii_alphanumeric() || PLAIN.contains(c))
}

/// Returns true if a terminal shows the word as it is, and passes it on as it is when it is pasted: what a keyboard
/// has, and visible letters and digits that are written from left to right.
#[must_use]
pub fn is_shown_as_is(word: &str) -> bool {
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
    fn a_file_is_one_word_or_in_no_line() {
        assert_eq!(file_for_shell("a.csv").as_deref(), Some("a.csv"));
        assert_eq!(file_for_shell("x;id #").as_deref(), Some("'x;id #'"));
        assert_eq!(file_for_shell("it's").as_deref(), Some(r"'it'\''s'"));
        assert_eq!(file_for_shell("--output=x").as_deref(), Some("./--output=x"));
        assert_eq!(file_for_shell("a\nb"), None);
    }
}
