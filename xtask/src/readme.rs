//! `cargo xtask readme`: the commands of the README, run as written, top to bottom, each time in a fresh
//! virtual environment: once with nothing in it, once beside PyTorch.
//!
//! A block that begins with "```console" is run in both; "```console torch" only where PyTorch is. Other
//! blocks are not run. A command ends at the end of its line, or where its last line has no `\`.

use std::{
    os::unix::fs::symlink,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context, Result, ensure};
use harness::{Held, environment, lend, must_succeed, root, scratch};

/// What makes the wheel is run once: the second environment gets the same one.
const MAKES_WHEEL: &str = "cargo xtask wheel";

/// A command of the README.
#[derive(Debug, PartialEq, Eq)]
struct Line {
    command: String,
    needs_torch: bool,
}

pub(crate) fn run() -> Result<Held> {
    let readme = std::fs::read_to_string(root().join("README.md"))?;
    let lines = commands(&readme);
    ensure!(lines.len() >= 3, "the README has only {} commands", lines.len());
    let alone: Vec<&Line> = lines.iter().filter(|line| !line.needs_torch).collect();
    let beside_torch = lines.iter().filter(|line| !line.command.starts_with(MAKES_WHEEL));
    let beside_torch: Vec<&Line> = beside_torch.collect();

    println!("--- without PyTorch");
    execute(&alone, &fresh("without-torch")?)?;
    println!("--- with PyTorch");
    let with_torch = fresh("with-torch")?;
    lend(&environment("torch")?, &with_torch)?;
    execute(&beside_torch, &with_torch)?;
    let (all, first, second) = (lines.len(), alone.len(), beside_torch.len());
    Ok(Held::new(format!(
        "{all} commands, run as written: {first} without PyTorch, {second} with it"
    )))
}

fn fresh(name: &str) -> Result<PathBuf> {
    let environment = scratch("readme")?.join(name);
    if environment.exists() {
        std::fs::remove_dir_all(&environment)?;
    }
    must_succeed(Command::new("python3").args(["-m", "venv"]).arg(&environment))?;
    Ok(environment)
}

fn execute(lines: &[&Line], environment: &Path) -> Result<()> {
    let path = std::env::var("PATH").context("no PATH")?;
    let path = format!("{}:{path}", environment.join("bin").display());
    let desk = desk(environment)?;
    for Line { command, .. } in lines {
        // A build elsewhere would be another build.
        let folder = if command.starts_with("cargo ") { root() } else { desk.clone() };
        let output = Command::new("bash")
            .args(["-euo", "pipefail", "-c", command])
            .env("PATH", &path)
            .current_dir(folder)
            .output()?;
        println!("{} $ {command}", if output.status.success() { "ok    " } else { "FAILED" });
        ensure!(
            output.status.success(),
            "'{command}' failed: {}",
            String::from_utf8_lossy(&output.stderr)
        );
    }
    Ok(())
}

/// A folder that looks like the checkout: what the commands write does not stay there.
fn desk(environment: &Path) -> Result<PathBuf> {
    let desk = environment.join("desk");
    std::fs::create_dir(&desk)?;
    for entry in std::fs::read_dir(root())? {
        let entry = entry?;
        symlink(entry.path(), desk.join(entry.file_name()))?;
    }
    // The wheel may not be made yet.
    let dist = desk.join("dist");
    if !dist.is_symlink() {
        symlink(root().join("dist"), dist)?;
    }
    Ok(desk)
}

/// What follows `$ ` in the README's console blocks.
fn commands(readme: &str) -> Vec<Line> {
    let mut commands = Vec::new();
    let mut block = None;
    let mut lines = readme.lines();
    while let Some(line) = lines.next() {
        if let Some(kind) = line.strip_prefix("```") {
            block = match kind {
                "console" => Some(false),
                "console torch" => Some(true),
                _ => None,
            };
        } else if let (Some(needs_torch), Some(command)) = (block, line.strip_prefix("$ ")) {
            let mut command = command.to_owned();
            while command.ends_with('\\') {
                let Some(next) = lines.next() else { break };
                command = format!("{command}\n{next}");
            }
            commands.push(Line { command, needs_torch });
        }
    }
    commands
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(command: &str, needs_torch: bool) -> Line {
        Line { command: command.to_owned(), needs_torch }
    }

    #[test]
    fn only_console_blocks_hold_commands() {
        let readme =
            "$ no\n```console\n$ one\n$ two\noutput\n$ three\n```\n```sh\n$ not this\n```\n";
        assert_eq!(commands(readme), ["one", "two", "three"].map(|command| line(command, false)));
    }

    #[test]
    fn some_need_torch_and_some_are_longer_than_a_line() {
        let readme =
            "```console torch\n$ one \\\n    more\n```\n```text\n$ no\n```\n```console\n$ two\n```";
        assert_eq!(commands(readme), [line("one \\\n    more", true), line("two", false)]);
    }
}
