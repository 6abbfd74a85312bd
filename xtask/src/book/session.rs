//! Commands that a page shows, typed into a shell one after another.
//!
//! A session is a block that begins with ```` ```console,session ````. Its lines `$ …` are what is typed;
//! the rest is what was printed, which is replaced. A first line `$ whyoom lab shell FLAGS` runs the
//! others on a simulated GPU of that kind.

use std::{
    fmt::Write,
    fs,
    path::Path,
    process::{Command, Stdio},
};

use anyhow::{Context, Result, ensure};

use super::replaced::Replaced;

/// What a session begins with.
const OPENS: &str = "```console,session";
const LAB: &str = "whyoom lab shell";

/// Longer than any session takes.
const TIMEOUT_SECONDS: &str = "170";

/// What is printed before what the next command says.
const NEXT: &str = "\u{1}next command";

/// A command in the background has said something before the next is typed, or a minute has passed.
const FIRST_WORD: &str = "\
first_word() { for _ in $(seq 600); do [ -s \"$1\" ] && break; sleep 0.1; done; sleep 0.2; cat \"$1\"; }\n";

/// How many sessions a page has.
pub(super) fn count(page: &str) -> usize {
    page.lines().filter(|line| *line == OPENS).count()
}

/// The page with what its sessions print now. Commands run in `folder`, by the programs on `path`.
pub(super) fn typed(page: &str, folder: &Path, path: &str, replaced: &Replaced) -> Result<String> {
    let mut now = String::new();
    let mut lines = page.lines();
    while let Some(line) = lines.next() {
        writeln!(now, "{line}")?;
        if line == OPENS {
            let block = lines.by_ref().take_while(|line| *line != "```");
            let commands: Vec<_> = block.filter_map(|line| line.strip_prefix("$ ")).collect();
            now.push_str(&session(&commands, folder, path, replaced)?);
            now.push_str("```\n");
        }
    }
    Ok(now)
}

fn session(commands: &[&str], folder: &Path, path: &str, replaced: &Replaced) -> Result<String> {
    let (lab, typed) = match commands.split_first() {
        Some((first, rest)) if first.starts_with(LAB) => (Some(&first[LAB.len()..]), rest),
        _ => (None, commands),
    };
    ensure!(!typed.is_empty(), "a session without commands");
    let printed = printed(lab, typed, folder, path)?;
    let mut pieces = printed.split(NEXT);
    let mut now = String::new();
    let banner = pieces.next().unwrap_or_default();
    if let Some(flags) = lab {
        write!(now, "$ {LAB}{flags}\n{}", replaced.in_text(banner))?;
    }
    let answers: Vec<_> = pieces.collect();
    ensure!(answers.len() == typed.len(), "the session ended early: {typed:?} printed\n{printed}");
    for (command, answer) in typed.iter().zip(answers) {
        write!(now, "$ {command}\n{}", replaced.in_text(answer.trim_start_matches('\n')))?;
    }
    Ok(now)
}

/// What a shell prints that is given the commands, in a lab with these flags if any.
fn printed(lab: Option<&str>, typed: &[&str], folder: &Path, path: &str) -> Result<String> {
    let script = folder.join(".session.sh");
    fs::write(&script, script_of(typed)?)?;
    let mut command = Command::new("timeout");
    command.args(["--kill-after=10", TIMEOUT_SECONDS]);
    if let Some(flags) = lab {
        command.args(["whyoom", "lab", "run"]).args(flags.split_whitespace()).arg("--");
    }
    // A session of its own, so that what it leaves running can be ended with it.
    command.args(["setsid", "--wait", "bash"]).arg(&script).current_dir(folder);
    command.env("PATH", path).env("COLUMNS", "100").env("LC_ALL", "C.UTF-8").env("NO_COLOR", "1");
    command.env("PYTHONDONTWRITEBYTECODE", "1").env("PYTHONNODEBUGRANGES", "1");
    let output = command.stdin(Stdio::null()).output().context("cannot start a session")?;
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    let printed = String::from_utf8_lossy(&output.stdout);
    // Of what goes to standard error only the lab's own line is left: commands have theirs redirected.
    let mut own = said.lines().filter(|line| line.starts_with("whyoom lab: "));
    let banner = if lab.is_some() { own.next().context("no lab")? } else { "" };
    Ok(format!("{banner}\n{printed}"))
}

fn script_of(typed: &[&str]) -> Result<String> {
    let mut script = FIRST_WORD.to_owned();
    for (place, command) in typed.iter().enumerate() {
        writeln!(script, "printf '\\n%s\\n' '{NEXT}'")?;
        // A group, so that all of a pipe's standard error is shown; not in the background, where `$!`
        // is to be the program's own number.
        let line = match command.strip_suffix(" &") {
            Some(program) => format!("{program} >.said.{place} 2>&1 &\nfirst_word .said.{place}"),
            None => format!("{{ {command}; }} 2>&1"),
        };
        writeln!(script, "{line}")?;
    }
    // What still runs ends with the session, and nothing is left to wait for.
    script.push_str("trap '' TERM\nkill -TERM 0\n");
    Ok(script)
}
