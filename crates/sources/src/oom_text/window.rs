//! The text around a place where a message may start.

use std::{cell::OnceCell, sync::LazyLock};

use regex::Regex;

use super::amount::regex;

/// How far a message may reach. PyTorch's longest, with a dozen processes, has 1,500 bytes.
pub(super) const LOOK_AHEAD: usize = 3072;
/// How far back the traceback that led to a message is looked for.
pub(super) const LOOK_BEHIND: usize = 8192;

/// How far back its first line is looked for: a traceback through a trainer has more than a hundred frames.
pub(super) const TRACEBACK_BEHIND: usize = 32 << 10;

/// How far from a message the words tell whose it is.
const NEAR: usize = 1500;

/// A line of this length holds its message to the end.
const WHOLE_MESSAGE: usize = 300;

/// The text around a place where a message may start. Nothing is worked out before it is asked for:
/// most places turn out to be nothing after a look at their line.
pub(super) struct Window<'a> {
    far_behind: &'a [u8],
    behind: &'a [u8],
    ahead: &'a [u8],
    prefix: OnceCell<String>,
    line: OnceCell<String>,
    before: OnceCell<String>,
    text: OnceCell<String>,
    near: OnceCell<String>,
}

impl<'a> Window<'a> {
    /// The window around `at` in `bytes`.
    pub(super) fn around(bytes: &'a [u8], at: usize) -> Self {
        let far_behind = &bytes[at.saturating_sub(TRACEBACK_BEHIND)..at];
        let behind = &bytes[at.saturating_sub(LOOK_BEHIND)..at];
        let ahead = &bytes[at..(at + LOOK_AHEAD).min(bytes.len())];
        let (prefix, line) = (OnceCell::new(), OnceCell::new());
        let (before, text, near) = (OnceCell::new(), OnceCell::new(), OnceCell::new());
        Self { far_behind, behind, ahead, prefix, line, before, text, near }
    }

    fn line_start(&self) -> usize {
        memchr::memrchr(b'\n', self.behind).map_or(0, |newline| newline + 1)
    }

    /// The line up to where the message starts.
    pub(super) fn prefix(&self) -> &str {
        self.prefix.get_or_init(|| clean(&self.behind[self.line_start()..]))
    }

    /// From where the message starts to the end of its line.
    pub(super) fn line(&self) -> &str {
        self.line.get_or_init(|| {
            let end = memchr::memchr(b'\n', self.ahead).unwrap_or(self.ahead.len());
            clean(&self.ahead[..end]).lines().next().unwrap_or_default().to_owned()
        })
    }

    /// The bytes that tell this place from others: its line, and for a short one, which may be the
    /// first of several, what follows.
    pub(super) fn identity(&self) -> (&'a [u8], &'a [u8]) {
        let end = memchr::memchr(b'\n', self.ahead).unwrap_or(self.ahead.len());
        let end = if end < WHOLE_MESSAGE { WHOLE_MESSAGE.min(self.ahead.len()) } else { end };
        (&self.behind[self.line_start()..], &self.ahead[..end])
    }

    /// The bytes of the line.
    pub(super) fn whole_line(&self) -> Vec<u8> {
        let end = memchr::memchr(b'\n', self.ahead).unwrap_or(self.ahead.len());
        [&self.behind[self.line_start()..], &self.ahead[..end]].concat()
    }

    /// The lines before, as far as they are in view.
    pub(super) fn before(&self) -> &str {
        self.before.get_or_init(|| clean(&self.behind[..self.line_start()]))
    }

    /// Returns the lines before, as far back as a traceback may begin.
    pub(super) fn far_before(&self) -> String {
        let end = memchr::memrchr(b'\n', self.far_behind).map_or(0, |newline| newline + 1);
        clean(&self.far_behind[..end])
    }

    /// The lines behind the message's, as far as they are in view.
    pub(super) fn after(&self) -> String {
        let end = memchr::memchr(b'\n', self.ahead).unwrap_or(self.ahead.len());
        clean(&self.ahead[end..])
    }

    /// What is near: a few lines before and behind.
    pub(super) fn near(&self) -> &str {
        self.near.get_or_init(|| {
            let from = self.behind.len().saturating_sub(NEAR);
            let to = NEAR.min(self.ahead.len());
            clean(&[&self.behind[from..], &self.ahead[..to]].concat())
        })
    }

    /// From where the message starts, lines joined by blanks.
    pub(super) fn text(&self) -> &str {
        self.text.get_or_init(|| self.unmarked(&clean(self.ahead)).join(" "))
    }

    /// Everything without white space, and where in it the message starts: terminals and people wrap
    /// messages anywhere, inside words and numbers too.
    pub(super) fn squeezed(&self) -> (String, usize) {
        let squeeze = |text: &str| -> String {
            let lines = self.unmarked(text);
            lines.iter().flat_map(|line| line.chars()).filter(|c| !c.is_whitespace()).collect()
        };
        let near = &self.behind[self.behind.len().saturating_sub(LOOK_AHEAD)..];
        let mut all = squeeze(&clean(near));
        let start = all.len();
        all.push_str(&squeeze(&clean(self.ahead)));
        (all, start)
    }

    /// Whether the message stands in a line of source code, as tracebacks quote them.
    pub(super) fn is_source_line(&self) -> bool {
        let code = self.prefix().trim_start();
        let quoted = |quote: char| code.ends_with(quote) && self.line().contains(quote);
        // What is raised may be told behind the line that raises it.
        code.contains("raise ") && !code.trim_end().ends_with("Error:")
            || code.ends_with("f\"")
            || code.ends_with("f'")
            || (code.starts_with("if ") && (quoted('"') || quoted('\'')))
    }

    /// Lines without the mark that a launcher puts before each.
    fn unmarked<'t>(&self, text: &'t str) -> Vec<&'t str> {
        let marker = line_marker(self.prefix());
        let lines = text.lines().map(|line| {
            if marker.is_empty() { line } else { line.strip_prefix(marker).unwrap_or(line) }
        });
        lines.map(str::trim).collect()
    }
}

/// Text without terminal colours, with escaped line ends as real ones.
fn clean(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    let mut cleaned = String::with_capacity(text.len());
    let mut rest = &text[..];
    while let Some(at) = rest.find(['\u{1b}', '\\', '\r']) {
        cleaned.push_str(&rest[..at]);
        rest = &rest[at..];
        if let Some(escape) = rest.strip_prefix("\u{1b}[") {
            // Parameters end at the first other character. A search for a letter could go through the whole text each time.
            let end = escape.find(|c| !matches!(c, ' '..='?')).unwrap_or(escape.len());
            rest = &escape[end..];
            rest = rest.strip_prefix(|c: char| c.is_ascii_alphabetic()).unwrap_or(rest);
        } else if let Some(behind) = rest.strip_prefix("\\n") {
            cleaned.push('\n');
            rest = behind;
        } else {
            // A backslash stays: it may be a path's.
            cleaned.extend(rest.chars().next().filter(|c| *c == '\\'));
            rest = &rest[1..];
        }
    }
    cleaned.push_str(rest);
    without_prefixes(&cleaned).unwrap_or(cleaned)
}

/// What collectors write before each line: a time, a journal's or a container's name, the mark of a quotation.
static COLLECTED: LazyLock<Regex> = LazyLock::new(|| {
    regex(
        r"(?m)^(?:\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d+)?(?:Z|[+-]\d\d:?\d\d)?[ \t]+|[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d \S+ [\w./@-]+(?:\[\d+\])?: |[\w.-]+-\d+ +\| |(?:> ?)+)",
    )
});

/// The lines without that, where any has it.
fn without_prefixes(text: &str) -> Option<String> {
    COLLECTED.is_match(text).then(|| COLLECTED.replace_all(text, "").into_owned())
}

/// The part of a prefix that stands before every line: `[rank3]: `, `(EngineCore pid=7) `.
pub(super) fn line_marker(prefix: &str) -> &str {
    let ends = [("[", "]: "), ("(", ") ")];
    for (opening, closing) in ends {
        if prefix.starts_with(opening)
            && let Some(end) = prefix.find(closing)
        {
            return &prefix[..end + closing.len()];
        }
    }
    ""
}

#[cfg(test)]
mod tests {
    use super::*;

    fn window<'a>(log: &'a [u8], at: &str) -> Window<'a> {
        let at = at.as_bytes();
        let position = log.windows(at.len()).position(|w| w == at).unwrap();
        Window::around(log, position)
    }

    #[test]
    fn markers_colours_and_escapes_are_taken_off() {
        let log = b"x\n[rank1]: \x1b[31mError\x1b[0m: CUDA out of memory. Tried to\n[rank1]: allocate\\n2 GiB\nmore";
        let window = window(log, "CUDA");
        assert_eq!(window.before(), "x\n");
        assert_eq!(window.prefix(), "[rank1]: Error: ");
        assert_eq!(window.text(), "CUDA out of memory. Tried to allocate 2 GiB more");
        assert_eq!(window.line(), "CUDA out of memory. Tried to");
    }

    #[test]
    fn white_space_may_stand_anywhere() {
        let (squeezed, start) = window(b"ab \n c memory 4\n0.30 GiB", "memory").squeezed();
        assert_eq!((&squeezed[..start], &squeezed[start..]), ("abc", "memory40.30GiB"));
    }

    #[test]
    fn quoted_source_is_known() {
        let raised = b"    raise ValueError(\"No available memory for the cache blocks. \"";
        assert!(window(raised, "No").is_source_line());
        let tested = b"    if \"CUDA out of memory\" in str(error):";
        assert!(window(tested, "CUDA").is_source_line());
        assert!(!window(b"\"error\": \"CUDA out of memory\"", "CUDA").is_source_line());
    }
}
