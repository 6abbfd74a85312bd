//! `cargo xtask readme`: the commands of the README, run as written, in a fresh virtual environment.

use std::process::Command;

use anyhow::{Context, Result, ensure};

use crate::tools::{root, scratch};

pub(crate) fn run(_: &[String]) -> Result<()> {
    let readme = std::fs::read_to_string(root().join("README.md"))?;
    let commands = commands(&readme);
    ensure!(commands.len() >= 3, "the README has only {} commands", commands.len());

    let environment = scratch("readme")?.join("venv");
    if environment.exists() {
        std::fs::remove_dir_all(&environment)?;
    }
    let made = Command::new("python3").args(["-m", "venv"]).arg(&environment).status()?;
    ensure!(made.success(), "cannot make a virtual environment");
    let path = std::env::var("PATH").context("no PATH")?;
    let path = format!("{}:{path}", environment.join("bin").display());
    for command in &commands {
        let output = Command::new("bash")
            .args(["-euo", "pipefail", "-c", command])
            .env("PATH", &path)
            .current_dir(root())
            .output()?;
        println!("{} $ {command}", if output.status.success() { "ok    " } else { "FAILED" });
        ensure!(
            output.status.success(),
            "'{command}' failed: {}",
            String::from_utf8_lossy(&output.stderr)
        );
    }
    println!("readme: {} commands run as written", commands.len());
    Ok(())
}

/// The lines that start with `$ ` in the README's console blocks.
fn commands(readme: &str) -> Vec<String> {
    let mut commands = Vec::new();
    let mut in_console = false;
    for line in readme.lines() {
        if line.starts_with("```") {
            in_console = line == "```console";
        } else if let Some(command) = line.strip_prefix("$ ").filter(|_| in_console) {
            commands.push(command.to_owned());
        }
    }
    commands
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_console_blocks_hold_commands() {
        let readme = "$ no\n```console\n$ one\noutput\n$ two\n```\n```sh\n$ not this\n```\n";
        assert_eq!(commands(readme), ["one", "two"]);
    }
}
