//! Which shell a text was copied from: a line to paste is written for it.

use std::sync::LazyLock;

use regex::Regex;

use super::amount::regex;

/// The setting that it is told by: no variable of the program's.
pub(super) const SETTING: &str = "shell";

/// What shows a shell, and its name. Of several the last in the text counts: who types `wsl` in PowerShell goes on in
/// Linux'.
static SHOWS: LazyLock<[(Regex, &str); 5]> = LazyLock::new(|| {
    [
        // The prompt, behind the name of an environment.
        (regex(r"(?m)^[ \t]*(?:\([^()\n]*\)\s*)?PS [A-Za-z]:\\[^<>|\n]*>"), "powershell"),
        (regex(r"\$env:[A-Za-z_]\w*\s*="), "powershell"),
        (regex(r#"(?m)^[ \t]*(?:\([^()\n]*\)\s*)?[A-Za-z]:\\[^<>|"\n]*>"#), "cmd"),
        // Batch files too.
        (regex(r"(?m)^[ \t]*(?i:set) [A-Z_][A-Z0-9_]*="), "cmd"),
        (regex(r"(?m)^[ \t]*(?:\([^()\n]*\)\s*)?[\w.-]+@[\w.-]+:[~/][^$#\n]*[$#] "), "posix"),
    ]
});
/// Windows itself, in whichever shell.
static WINDOWS: LazyLock<Regex> =
    LazyLock::new(|| regex(r#"\bWinError \d|\bFile "[A-Za-z]:\\|\bC:\\(?:Users|Windows|Program)"#));

/// The shell, where the text shows one.
pub(super) fn shell(text: &str) -> Option<&'static str> {
    let last = |(shows, name): &(Regex, &'static str)| {
        shows.find_iter(text).last().map(|found| (found.start(), *name))
    };
    let shown = SHOWS.iter().filter_map(last).max();
    let on_windows = || WINDOWS.is_match(text).then_some("windows");
    shown.map(|(_, name)| name).or_else(on_windows)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prompts_show_shells() {
        for (text, expected) in [
            ("(venv) PS C:\\proj> python train.py\nerror", Some("powershell")),
            ("PS D:\\a b\\c> py x.py", Some("powershell")),
            ("$env:PYTORCH_CUDA_ALLOC_CONF = \"a:1\"", Some("powershell")),
            ("C:\\Users\\me\\proj>python train.py", Some("cmd")),
            ("(base) C:\\Users\\me>python train.py", Some("cmd")),
            ("set COMMANDLINE_ARGS=--medvram\ncall webui.bat", Some("cmd")),
            ("PS C:\\proj> wsl\nme@desk:/mnt/c/proj$ python train.py", Some("posix")),
            ("me@desk:~/proj$ python train.py", Some("posix")),
            ("  File \"C:\\proj\\train.py\", line 3, in <module>", Some("windows")),
            ("OSError: [WinError 1455] The paging file is too small", Some("windows")),
            ("  File \"/home/me/train.py\", line 3, in <module>", None),
            ("I set PYTORCH_CUDA_ALLOC_CONF=a:1 before", None),
        ] {
            assert_eq!(shell(text), expected, "{text}");
        }
    }
}
