//! The text around a place where a message may start.

/// How far a message may reach. PyTorch's longest, with a dozen processes, has 1,500 bytes.
pub(super) const LOOK_AHEAD: usize = 4096;
/// How far back the line that a message stands in is looked for.
pub(super) const LOOK_BEHIND: usize = 1024;

/// The text around a place where a message may start.
pub(super) struct Window {
    /// The lines before, as far as they are kept.
    pub(super) before: String,
    /// The line up to where the message starts.
    pub(super) prefix: String,
    /// From where the message starts, lines joined by blanks.
    pub(super) text: String,
    /// The same, lines joined by nothing: terminals wrap inside words and numbers.
    pub(super) unwrapped: String,
    /// From where the message starts to the end of its line.
    pub(super) line: String,
}

impl Window {
    /// The window around `at` in `bytes`.
    pub(super) fn around(bytes: &[u8], at: usize) -> Self {
        let from = at.saturating_sub(LOOK_BEHIND);
        let to = (at + LOOK_AHEAD).min(bytes.len());
        let behind = clean(&bytes[from..at]);
        let ahead = clean(&bytes[at..to]);
        let line_start = behind.rfind('\n').map_or(0, |newline| newline + 1);
        let (before, prefix) = behind.split_at(line_start);
        let line = ahead.lines().next().unwrap_or_default().to_owned();
        Self {
            text: join(&ahead, prefix, " "),
            unwrapped: join(&ahead, prefix, ""),
            before: before.to_owned(),
            prefix: prefix.to_owned(),
            line,
        }
    }

    /// Whether the message stands in a line of source code, as tracebacks quote them.
    pub(super) fn is_source_line(&self) -> bool {
        let code = self.prefix.trim_start();
        code.contains("raise ") || code.ends_with("f\"") || code.ends_with("f'")
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
            let end = escape.find(|c: char| c.is_ascii_alphabetic()).map_or(0, |end| end + 1);
            rest = &escape[end..];
        } else if let Some(behind) = rest.strip_prefix("\\n") {
            cleaned.push('\n');
            rest = behind;
        } else {
            let skipped = rest.chars().next().map_or(1, char::len_utf8);
            cleaned.extend(rest[..skipped].chars().filter(|c| *c == '\\'));
            rest = &rest[skipped..];
        }
    }
    cleaned.push_str(rest);
    cleaned
}

/// Joins lines, without the prefix that a launcher puts before each.
fn join(text: &str, prefix: &str, with: &str) -> String {
    let marker = line_marker(prefix);
    let lines = text.lines().map(|line| {
        let line = if marker.is_empty() { line } else { line.strip_prefix(marker).unwrap_or(line) };
        if with.is_empty() { line.trim_end() } else { line.trim() }
    });
    lines.collect::<Vec<_>>().join(with)
}

/// The part of a prefix that stands before every line: `[rank3]: `, `(EngineCore pid=7) `.
fn line_marker(prefix: &str) -> &str {
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

    #[test]
    fn markers_colours_and_escapes_are_taken_off() {
        let log = b"x\n[rank1]: \x1b[31mError\x1b[0m: CUDA out of memory. Tried to\n[rank1]: allocate\\n2 GiB\nmore";
        let at = log.windows(4).position(|w| w == b"CUDA").unwrap();
        let window = Window::around(log, at);
        assert_eq!(window.before, "x\n");
        assert_eq!(window.prefix, "[rank1]: Error: ");
        assert_eq!(window.text, "CUDA out of memory. Tried to allocate 2 GiB more");
        assert_eq!(window.line, "CUDA out of memory. Tried to");
    }

    #[test]
    fn lines_wrapped_inside_a_number_are_mended() {
        let window = Window::around(b"memory 4\n0.30 GiB", 0);
        assert_eq!(window.unwrapped, "memory 40.30 GiB");
    }

    #[test]
    fn quoted_source_is_known() {
        let log = b"    raise ValueError(\"No available memory for the cache blocks. \"";
        let at = log.windows(2).position(|w| w == b"No").unwrap();
        assert!(Window::around(log, at).is_source_line());
        assert!(!Window::around(b"\"error\": \"CUDA out of memory", 10).is_source_line());
    }
}
