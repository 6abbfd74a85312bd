//! What is kept of another user's command line: which program it is.

use crate::{secrets::mask, visible::visible};

/// Programs that run another file.
const INTERPRETERS: &[&str] = &[
    "accelerate",
    "bash",
    "deepspeed",
    "java",
    "julia",
    "node",
    "perl",
    "python",
    "ruby",
    "sh",
    "torchrun",
];
/// Options of interpreters with a word of their own behind them.
const WITH_VALUE: &[&str] = &["-W", "-X", "--check-hash-based-pycs"];
/// Longer names are cut.
const LONGEST: usize = 60;

/// The file name of a program; for an interpreter, of what it runs, too. Arguments are not told.
#[must_use]
pub fn program_name(command: &str) -> String {
    let mut words = command.split_whitespace();
    let program = words.next().map_or("", file_name);
    let script = is_interpreter(program).then(|| script(words)).flatten();
    let told = match script {
        Some(script) => format!("{program} {script}"),
        None => program.to_owned(),
    };
    let told = mask(&told).into_owned();
    visible(&told).chars().take(LONGEST).collect()
}

fn is_interpreter(program: &str) -> bool {
    let name = program.trim_end_matches(|one: char| one.is_ascii_digit() || one == '.');
    INTERPRETERS.contains(&name)
}

fn script<'a>(mut words: impl Iterator<Item = &'a str>) -> Option<String> {
    while let Some(word) = words.next() {
        match word {
            "-m" => return words.next().map(|module| format!("-m {module}")),
            "-c" | "-e" | "-" => return None,
            word if WITH_VALUE.contains(&word) => drop(words.next()),
            word if word.starts_with('-') => {}
            word => return is_file(word).then(|| file_name(word).to_owned()),
        }
    }
    None
}

/// What stands behind an option that is not known may be its value.
fn is_file(word: &str) -> bool {
    const ENDINGS: &[&str] = &[".py", ".sh", ".pl", ".rb", ".js", ".jl", ".jar"];
    ENDINGS.iter().any(|ending| word.ends_with(ending))
        || word.contains('/') && !word.contains(['=', ':'])
}

fn file_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_program_is_told() {
        let pairs = [
            ("/usr/bin/python3.11 -u -X dev /home/a/train.py --token abc", "python3.11 train.py"),
            ("python -m vllm.entrypoints --api-key x", "python -m vllm.entrypoints"),
            ("python -c import secret", "python"),
            ("bash -lc secret words", "bash"),
            ("torchrun --nproc-per-node 4 train.py --x", "torchrun"),
            ("/opt/app/server --password x", "server"),
            ("VLLM::EngineCore --key", "VLLM::EngineCore"),
            ("\u{1b}[2J", "␛[2J"),
            ("", ""),
        ];
        for (command, name) in pairs {
            assert_eq!(program_name(command), name);
        }
    }
}
