//! What is replaced in what was printed: the names of this machine's folders, and what nobody reads.

use std::{fmt::Write, path::Path};

/// Longer lines are broken, as a terminal does.
const COLUMNS: usize = 100;

/// Texts of this machine and what is written in their place.
pub(super) struct Replaced(Vec<(String, &'static str)>);

impl Replaced {
    /// For sessions in `folder` that use a Python environment, known by several paths, whose own
    /// modules are in `library`.
    pub(super) fn new(folder: &Path, environments: &[&Path], library: &str) -> Self {
        let text = |path: &Path| path.display().to_string();
        let mut replaced = vec![(format!("{}/", text(folder)), "")];
        for environment in environments {
            replaced.push((format!("{}/bin/", text(environment)), ""));
            replaced.push((text(environment), "venv"));
        }
        replaced.push((library.to_owned(), "/usr/lib/python3"));
        // The first process has another name on each machine.
        if let Ok(name) = std::fs::read_to_string("/proc/1/comm") {
            replaced.push((format!("({})", name.trim()), "(init)"));
        }
        Self(replaced)
    }

    /// What a page shows of what was printed.
    pub(super) fn in_text(&self, printed: &str) -> String {
        let mut text = printed.to_owned();
        for (from, to) in &self.0 {
            text = text.replace(from, to);
        }
        let mut shown = String::new();
        for line in without_inner_frames(&text) {
            for piece in broken(line) {
                // Writing to a string cannot fail.
                let _ = writeln!(shown, "{}", piece.trim_end());
            }
        }
        let blank_less = shown.trim_matches('\n');
        if blank_less.is_empty() { String::new() } else { format!("{blank_less}\n") }
    }
}

/// What `whyoom who` says of files that it may not read: each machine has others.
const UNREAD: &str = "Note: This user may not read the open files of ";

/// The lines, but of a traceback no frames in libraries, no word of the shell on what was killed, and no
/// note on what may not be read here.
fn without_inner_frames(text: &str) -> Vec<&str> {
    let mut shown = Vec::new();
    let mut lines = text.lines().peekable();
    while let Some(line) = lines.next() {
        let of_shell = line.contains(".session.sh: line ");
        let inner = line.starts_with("  File \"")
            && ["site-packages/", "/usr/lib/python3", "<frozen"]
                .iter()
                .any(|part| line.contains(part));
        if of_shell {
            continue;
        }
        if line.starts_with(UNREAD) {
            lines.by_ref().take_while(|line| !line.is_empty()).for_each(drop);
            continue;
        }
        if !inner {
            shown.push(line);
            continue;
        }
        if shown.last() != Some(&"  [...]") {
            shown.push("  [...]");
        }
        while lines.peek().is_some_and(|line| line.starts_with("    ")) {
            lines.next();
        }
    }
    shown
}

/// A line in pieces of at most [`COLUMNS`] characters, broken between words.
fn broken(line: &str) -> Vec<String> {
    if line.chars().count() <= COLUMNS {
        return vec![line.to_owned()];
    }
    let mut pieces = vec![String::new()];
    for word in line.split_inclusive(' ') {
        let piece = pieces.last().map_or(0, |piece| piece.chars().count());
        if piece > 0 && piece + word.trim_end().chars().count() > COLUMNS {
            pieces.push(String::new());
        }
        if let Some(piece) = pieces.last_mut() {
            piece.push_str(word);
        }
    }
    pieces
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::Replaced;

    fn shown(printed: &str) -> String {
        let replaced =
            Replaced::new(Path::new("/made/page"), &[Path::new("/made/venv")], "/opt/python/lib");
        replaced.in_text(printed)
    }

    #[test]
    fn folders_of_this_machine_are_not_shown() {
        assert_eq!(
            shown("at /made/page/train.py by /made/venv/bin/python"),
            "at train.py by python\n"
        );
    }

    #[test]
    fn a_traceback_keeps_the_program_s_own_frames() {
        let printed = "\n  File \"/made/page/a.py\", line 1\n    x()\n  \
                       File \"/made/venv/lib/site-packages/torch/a.py\", line 2\n    y()\n  \
                       File \"/made/venv/lib/site-packages/torch/b.py\", line 3\n    z()\nError: no\n";
        let kept = "  File \"a.py\", line 1\n    x()\n  [...]\nError: no\n";
        assert_eq!(shown(printed), kept);
    }

    #[test]
    fn long_lines_are_broken_between_words() {
        let line = "word ".repeat(40);
        assert!(shown(&line).lines().all(|line| line.len() <= 100));
        assert_eq!(shown(&line).split_whitespace().count(), 40);
    }
}
