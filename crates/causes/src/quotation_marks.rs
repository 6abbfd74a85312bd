//! Names from inputs, quoted in sentences of our own.

/// Characters of a name that are shown. Chosen, not measured: a program and its first arguments.
const MAX_SHOWN_CHARS: usize = 60;

/// Characters of a text of several words that are shown, such as an error or a variable's value. Chosen, not measured.
const MAX_SHOWN_TEXT_CHARS: usize = 200;

/// Returns a name from an input in quotation marks, cut. Quotation marks and line breaks within cannot end it.
pub(crate) fn in_quotation_marks(name: &str) -> String {
    format!("“{}”", within_quotes(name))
}

/// Returns a text of several words from an input in quotation marks, cut. What is within cannot end it.
pub(crate) fn text_in_quotation_marks(text: &str) -> String {
    format!("“{}”", cut_within_quotes(text, MAX_SHOWN_TEXT_CHARS))
}

/// Returns the name of a file or a symbol from an input as it is if it is one short word, or else quoted.
pub(crate) fn word_or_quoted(name: &str) -> String {
    let is_of_word = |c: char| c.is_ascii_alphanumeric() || "_.+-:<>*&,()~".contains(c);
    let is_short = (1..=MAX_SHOWN_CHARS).contains(&name.chars().count());
    let is_word = is_short && name.chars().all(is_of_word);
    if is_word { name.to_owned() } else { in_quotation_marks(name) }
}

/// Returns a name from an input as it stands between quotation marks, cut.
pub(crate) fn within_quotes(name: &str) -> String {
    cut_within_quotes(name, MAX_SHOWN_CHARS)
}

/// Returns a text as it stands between quotation marks, cut after this many characters.
fn cut_within_quotes(text: &str, max_chars: usize) -> String {
    let plain = |c: char| match c {
        '“' | '”' | '„' | '"' => '\'',
        c if c.is_control() || is_invisible(c) => ' ',
        c => c,
    };
    let shown: String = text.chars().take(max_chars).map(plain).collect();
    let cut = if text.chars().nth(max_chars).is_some() { "…" } else { "" };
    format!("{shown}{cut}")
}

/// Returns true for a character that shows nothing itself and changes how the text around it is shown: the general
/// categories Cf (format), Zl (line separator) and Zp (paragraph separator) of the Unicode Character Database 16.0.
fn is_invisible(c: char) -> bool {
    matches!(c,
        '\u{ad}'
        | '\u{600}'..='\u{605}'
        | '\u{61c}'
        | '\u{6dd}'
        | '\u{70f}'
        | '\u{890}'..='\u{891}'
        | '\u{8e2}'
        | '\u{180e}'
        | '\u{200b}'..='\u{200f}'
        | '\u{2028}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}'
        | '\u{feff}'
        | '\u{fff9}'..='\u{fffb}'
        | '\u{110bd}'
        | '\u{110cd}'
        | '\u{13430}'..='\u{1343f}'
        | '\u{1bca0}'..='\u{1bca3}'
        | '\u{1d173}'..='\u{1d17a}'
        | '\u{e0000}'..='\u{e007f}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sentence_is_no_word() {
        assert_eq!(word_or_quoted("libcudnn_ops.so.9"), "libcudnn_ops.so.9");
        assert_eq!(word_or_quoted("run this now"), "“run this now”");
        assert_eq!(word_or_quoted(""), "“”");
        assert_eq!(word_or_quoted(&"x".repeat(61)), format!("“{}…”", "x".repeat(60)));
    }

    #[test]
    fn a_text_is_shown_longer_than_a_name() {
        assert_eq!(text_in_quotation_marks("a” b\" c\nd"), "“a' b' c d”");
        assert_eq!(text_in_quotation_marks(&"x".repeat(201)), format!("“{}…”", "x".repeat(200)));
    }

    #[test]
    fn a_name_cannot_end_its_quotation() {
        assert_eq!(in_quotation_marks("python train.py"), "“python train.py”");
        assert_eq!(in_quotation_marks("a” b\" c\nd"), "“a' b' c d”");
        for invisible in
            ['\u{ad}', '\u{200b}', '\u{200f}', '\u{2028}', '\u{2029}', '\u{202e}', '\u{2066}']
        {
            assert_eq!(in_quotation_marks(&format!("a{invisible}b")), "“a b”", "{invisible:?}");
        }
        assert_eq!(in_quotation_marks(&"x".repeat(61)), format!("“{}…”", "x".repeat(60)));
    }
}
