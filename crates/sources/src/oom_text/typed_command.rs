//! The command that started the program, where a text shows it at a prompt.

use std::sync::LazyLock;

use regex::Regex;

use super::amount::regex;

/// A prompt of a shell or a notebook, and a launcher of Python with plain words: no quotes, no operators of a shell.
static PROMPT: LazyLock<Regex> = LazyLock::new(|| {
    regex(
        r"(?m)^[ \t]*(?:\([^()\n]*\)[ \t]*)?(?:[\w.-]+@[\w.-]+:[~/][^$#\n]*[$#]|[$%]|!|PS [A-Za-z]:\\[^<>|\n]*>|[A-Za-z]:\\[^<>|\n]*>)[ \t]*((?:python3?|torchrun|accelerate launch|deepspeed)(?:[ \t]+[\w./=:,+-]+)+)[ \t]*\r?$",
    )
});

/// Returns the last such command, with one blank between its words. `None` if there is none.
pub(super) fn typed_command(text: &str) -> Option<String> {
    let found = PROMPT.captures_iter(text).last()?;
    let words: Vec<&str> = found[1].split_whitespace().collect();
    Some(words.join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_commands_at_prompts_are_read() {
        for (text, expected) in [
            ("$ python train.py --batch 8\nerror", Some("python train.py --batch 8")),
            (
                "me@desk:~/p$ torchrun --nproc-per-node=2 train.py",
                Some("torchrun --nproc-per-node=2 train.py"),
            ),
            ("(venv) PS C:\\proj> python  train.py", Some("python train.py")),
            ("!python train.py", Some("python train.py")),
            ("I run python train.py and it fails", None),
            ("$ python train.py; rm x", None),
            ("$ python -c 'print(1)'", None),
            ("$ ./train", None),
        ] {
            assert_eq!(typed_command(text).as_deref(), expected, "{text}");
        }
    }
}
