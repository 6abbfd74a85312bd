//! Text to tokens. Comments, line directives and debug sections are left out here.

/// A token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Token<'a> {
    /// A name, a number or a directive.
    Word(&'a str),
    /// Punctuation.
    Mark(char),
}

/// Directives that end with their line.
const LINES: [&str; 2] = [".loc", ".file"];
const SECTION: &str = ".section";

fn in_word(letter: char) -> bool {
    letter.is_ascii_alphanumeric() || matches!(letter, '_' | '$' | '%' | '.')
}

/// The tokens of a text.
pub(crate) fn tokens(text: &str) -> Vec<Token<'_>> {
    let mut found = Vec::new();
    let mut rest = text;
    while let Some(letter) = rest.chars().next() {
        if letter.is_whitespace() {
            rest = rest.trim_start();
        } else if rest.starts_with("//") {
            rest = after(rest, "\n");
        } else if rest.starts_with("/*") {
            rest = after(&rest[2..], "*/");
        } else if letter == '"' {
            rest = after(&rest[1..], "\"");
        } else if in_word(letter) {
            let word = &rest[..word_length(rest)];
            rest = &rest[word.len()..];
            if LINES.contains(&word) {
                rest = after(rest, "\n");
            } else if word == SECTION {
                rest = after(after(rest, "{"), "}");
            } else {
                found.push(Token::Word(word));
            }
        } else {
            found.push(Token::Mark(letter));
            rest = &rest[letter.len_utf8()..];
        }
    }
    found
}

/// A word goes on over `::`, as in `shared::cta`; one colon ends a label.
fn word_length(text: &str) -> usize {
    let mut length = 0;
    loop {
        length += text[length..].find(|letter| !in_word(letter)).unwrap_or(text.len() - length);
        let goes_on =
            text[length..].strip_prefix("::").is_some_and(|more| more.starts_with(in_word));
        if !goes_on {
            return length;
        }
        length += 2;
    }
}

fn after<'a>(text: &'a str, end: &str) -> &'a str {
    text.split_once(end).map_or("", |(_, rest)| rest)
}

/// The bits of a number: whole ones, and floating-point ones as PTX writes them.
pub(crate) fn number(word: &str) -> Option<u64> {
    let (prefix, rest) = word.split_at_checked(2).unwrap_or((word, ""));
    match prefix {
        "0f" | "0F" if rest.len() == 8 => u64::from_str_radix(rest, 16).ok(),
        "0d" | "0D" if rest.len() == 16 => u64::from_str_radix(rest, 16).ok(),
        "0x" | "0X" => u64::from_str_radix(rest.trim_end_matches('U'), 16).ok(),
        "0b" | "0B" => u64::from_str_radix(rest.trim_end_matches('U'), 2).ok(),
        _ if word.len() > 1 && word.starts_with('0') => {
            u64::from_str_radix(word.trim_end_matches('U'), 8).ok()
        }
        _ => word.trim_end_matches('U').parse().ok(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_lines_and_sections_are_left_out() {
        let text = "a.b::c /* x; */ %r1|%p1; // y\n.loc 1 2 3, z\nL: {0x1}\n.section .debug { .b8 1 }\nend";
        let words = ["a.b::c", "%r1", "%p1", "L", "0x1", "end"];
        let found: Vec<_> = tokens(text);
        let found_words: Vec<_> = found
            .iter()
            .filter_map(|t| if let Token::Word(w) = t { Some(*w) } else { None })
            .collect();
        assert_eq!(found_words, words);
        assert_eq!(found.len() - words.len(), 5);
    }

    #[test]
    fn numbers() {
        let cases = [
            ("12", 12),
            ("0x1F", 31),
            ("0b101", 5),
            ("017", 15),
            ("0", 0),
            ("0f3F800000", 0x3f80_0000),
            ("0d3FF0000000000000", 0x3ff0_0000_0000_0000),
        ];
        for (text, bits) in cases {
            assert_eq!(number(text), Some(bits), "{text}");
        }
        for text in ["x", "1.5", "0x", "0f12", ""] {
            assert_eq!(number(text), None, "{text}");
        }
    }
}
