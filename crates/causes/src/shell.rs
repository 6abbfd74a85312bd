//! Advice in the shell of the machine that the input is from.
//!
//! Causes and tables write lines as Linux has them. On Windows a variable is set in other words, some settings do not
//! exist, and some commands are Linux's alone: one pass over a verdict puts its remedies into the right words.
//!
//! Where nothing tells which of Windows' shells it was, the words are PowerShell's, the default terminal's: cmd
//! answers them with an error, while PowerShell takes cmd's `set NAME=value` without a word and sets nothing.

use whyoom_redact::for_shell;
use whyoom_trace::{StackId, Tables};

use crate::{
    finding::{Finding, Remedy},
    shell_line::ShellLine,
};

/// The setting that a source tells it by: no variable of the program's.
const SETTING: &str = "shell";
/// Of a table with more stacks, the first ones tell the platform.
const MANY_STACKS: usize = 64;

/// What a line to paste is written for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(clippy::enum_variant_names, reason = "PowerShell is its name")]
pub(crate) enum Shell {
    /// Linux', macOS', and that of WSL.
    Posix,
    /// Windows' `cmd`.
    Cmd,
    /// Windows PowerShell.
    PowerShell,
}

impl Shell {
    /// The one that an input was seen in, by what its source tells and by its paths.
    pub(crate) fn of<'a>(setting: impl Fn(&str) -> Option<&'a str>, tables: &Tables) -> Self {
        match setting(SETTING) {
            _ if setting("wsl").is_some() => Self::Posix,
            Some("cmd") => Self::Cmd,
            Some("powershell" | "windows") => Self::PowerShell,
            Some(_) => Self::Posix,
            None => Self::of_paths(tables),
        }
    }

    /// What the paths of a program's files tell, in a traceback or a snapshot.
    pub(crate) fn of_paths(tables: &Tables) -> Self {
        let few = tables.stack_count().min(MANY_STACKS) as u32;
        let mut frames = (0..few).flat_map(|index| tables.frames(StackId(index)));
        let on_windows = frames.any(|frame| frame.file.contains(":\\"));
        if on_windows { Self::PowerShell } else { Self::Posix }
    }

    /// Has the advice of findings in this shell's words.
    pub(crate) fn translate<'a>(self, findings: impl Iterator<Item = &'a mut Finding>) {
        if self == Self::Posix {
            return;
        }
        for finding in findings {
            let had_advice = !finding.remedies.is_empty();
            let remedies = std::mem::take(&mut finding.remedies);
            finding.remedies =
                remedies.into_iter().filter_map(|remedy| self.translated(remedy)).collect();
            if had_advice && finding.remedies.is_empty() {
                finding.remedies.push(Remedy::advice(
                    "the usual settings do not exist on Windows: use less memory, or run the program in WSL",
                ));
            }
        }
    }

    /// A remedy in this shell's words; nothing where Windows has no such thing.
    fn translated(self, remedy: Remedy) -> Option<Remedy> {
        let what = self.words(&remedy.what);
        let code = remedy.code().unwrap_or_default();
        if NEEDS_LINUX.iter().any(|begin| code.starts_with(begin)) {
            let what = if what.ends_with(IN_LINUX) { what } else { format!("{what} {IN_LINUX}") };
            return Some(Remedy { what, ..remedy });
        }
        // A word in quotes of a POSIX shell is other words here.
        if remedy.shell_line.as_ref().is_some_and(has_quotes) {
            return Some(Remedy { what, paste: None, shell_line: None, ..remedy });
        }
        let Some(paste) = &remedy.paste else { return Some(Remedy { what, ..remedy }) };
        if LINUX_ALONE.iter().any(|begin| paste.starts_with(begin))
            || paste.contains("expandable_segments:True")
        {
            return None;
        }
        if paste.starts_with("whyoom who") {
            return Some(Remedy { what: TASK_MANAGER.to_owned(), paste: None, ..remedy });
        }
        let paste = match (paste.strip_prefix("unset "), paste.strip_prefix("kill ")) {
            (Some(name), _) => self.unset(name),
            (_, Some(pids)) => taskkill(pids),
            _ => self.words(paste),
        };
        Some(Remedy { what, paste: Some(paste), shell_line: None, ..remedy })
    }

    /// The line that sets a variable.
    pub(crate) fn set(self, name: &str, value: &str) -> String {
        match self {
            Self::Posix => format!("export {name}={value}"),
            // What cmd reads otherwise is a part of the value between quotes.
            Self::Cmd if value.contains(['&', '|', '<', '>', '^']) => {
                format!("set \"{name}={}\"", value.replace('"', ""))
            }
            Self::Cmd => format!("set {name}={value}"),
            Self::PowerShell => format!("$env:{name} = '{}'", value.replace('\'', "''")),
        }
    }

    fn unset(self, name: &str) -> String {
        match self {
            Self::Posix => format!("unset {name}"),
            Self::Cmd => format!("set {name}="),
            Self::PowerShell => format!("Remove-Item Env:{name}"),
        }
    }

    /// A line or a sentence, with the variables that it sets in this shell's words.
    fn words(self, text: &str) -> String {
        let mut parts = text.split("export ");
        let mut words = parts.next().unwrap_or_default().to_owned();
        for part in parts {
            let end = part.find(char::is_whitespace).unwrap_or(part.len());
            // A comma behind the value goes on with the sentence.
            let assignment = part[..end].trim_end_matches([',', '.', ';', ':']);
            match assignment.split_once('=') {
                Some((name, value)) if is_name(name) => {
                    words.push_str(&self.set(name, value));
                    words.push_str(&part[assignment.len()..]);
                }
                _ => {
                    words.push_str("export ");
                    words.push_str(part);
                }
            }
        }
        words
    }
}

/// Commands that Windows has not, and nothing in their place.
const LINUX_ALONE: [&str; 4] = ["sudo ", "dmesg", "ulimit", "free -h"];
/// Our own commands that need Linux; `who` is of no use in WSL either, where the driver lists no processes.
const NEEDS_LINUX: [&str; 5] =
    ["whyoom run", "whyoom fit", "whyoom attach", "whyoom lab", "whyoom top"];
const IN_LINUX: &str = "(in WSL or a Linux container)";
const TASK_MANAGER: &str = "see which processes hold GPU memory in the Task Manager (Details, column Dedicated GPU \
                            memory), and close those that are not needed";

/// Returns true if any word of the line is written in quotes.
fn has_quotes(line: &ShellLine) -> bool {
    line.words().iter().any(|word| for_shell(word) != *word)
}

fn is_name(word: &str) -> bool {
    !word.is_empty()
        && word.chars().all(|c| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_')
}

/// `kill 1 2` and `kill -9 1 2`.
fn taskkill(words: &str) -> String {
    let force = if words.starts_with("-9") { " /F" } else { "" };
    let pids = words.split(' ').filter(|word| word.parse::<u32>().is_ok());
    format!("taskkill{force}{}", pids.map(|pid| format!(" /PID {pid}")).collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pasted(shell: Shell, line: &str) -> Option<String> {
        let remedy = Remedy { paste: Some(line.to_owned()), ..Remedy::advice("helps") };
        shell.translated(remedy).and_then(|remedy| remedy.paste)
    }

    #[test]
    fn variables_are_set_in_each_shells_words() {
        let line =
            "export PYTORCH_CUDA_ALLOC_CONF=max_split_size_mb:128,garbage_collection_threshold:0.8";
        let value = "max_split_size_mb:128,garbage_collection_threshold:0.8";
        assert_eq!(pasted(Shell::Cmd, line), Some(format!("set PYTORCH_CUDA_ALLOC_CONF={value}")));
        assert_eq!(
            pasted(Shell::PowerShell, line),
            Some(format!("$env:PYTORCH_CUDA_ALLOC_CONF = '{value}'"))
        );
        assert_eq!(Shell::Posix.words(line), line);
        assert_eq!(
            Shell::PowerShell
                .words("let it grow: export TF_FORCE_GPU_ALLOW_GROWTH=true, and stop others"),
            "let it grow: $env:TF_FORCE_GPU_ALLOW_GROWTH = 'true', and stop others"
        );
        assert_eq!(pasted(Shell::Cmd, "export A=b&calc").as_deref(), Some("set \"A=b&calc\""));
        assert_eq!(pasted(Shell::PowerShell, "export A=b'c").as_deref(), Some("$env:A = 'b''c'"));
        assert_eq!(Shell::Cmd.words("nsys export --type sqlite"), "nsys export --type sqlite");
    }

    #[test]
    fn what_a_source_tells_comes_before_paths() {
        let tables = Tables::default();
        let of = |told: &[(&str, &'static str)]| {
            let setting =
                |name: &str| told.iter().find(|(known, _)| *known == name).map(|one| one.1);
            Shell::of(setting, &tables)
        };
        assert_eq!(of(&[]), Shell::Posix);
        assert_eq!(of(&[("shell", "cmd")]), Shell::Cmd);
        assert_eq!(of(&[("shell", "powershell")]), Shell::PowerShell);
        assert_eq!(of(&[("shell", "windows")]), Shell::PowerShell);
        assert_eq!(of(&[("shell", "posix")]), Shell::Posix);
        assert_eq!(of(&[("shell", "cmd"), ("wsl", "2")]), Shell::Posix);
    }

    #[test]
    fn other_commands_become_those_of_windows() {
        let cmd = |line| pasted(Shell::Cmd, line);
        assert_eq!(
            cmd("unset PYTORCH_CUDA_ALLOC_CONF").as_deref(),
            Some("set PYTORCH_CUDA_ALLOC_CONF=")
        );
        assert_eq!(cmd("kill 41 42").as_deref(), Some("taskkill /PID 41 /PID 42"));
        assert_eq!(cmd("kill -9 41").as_deref(), Some("taskkill /F /PID 41"));
        assert_eq!(cmd("torch.cuda.empty_cache()").as_deref(), Some("torch.cuda.empty_cache()"));
        assert_eq!(
            pasted(Shell::PowerShell, "unset XLA_FLAGS").as_deref(),
            Some("Remove-Item Env:XLA_FLAGS")
        );
    }

    #[test]
    fn what_windows_has_not_is_not_advised() {
        for line in [
            "sudo dmesg | tail",
            "ulimit -l unlimited",
            "free -h",
            "export PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True",
        ] {
            assert_eq!(Shell::PowerShell.translated(Remedy::line(line, "helps")), None, "{line}");
        }
        let who = Shell::Cmd.translated(Remedy::line("whyoom who", "shows who")).expect("advice");
        assert!(who.paste.is_none() && who.what.contains("Task Manager"), "{who:?}");
        let run = Shell::Cmd.translated(Remedy::line("whyoom run -- python a.py", "records"));
        assert!(run.is_some_and(|run| run.what.ends_with("(in WSL or a Linux container)")));
    }
}
