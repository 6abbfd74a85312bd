//! Commands that prepare a check.

use std::process::Command;

use anyhow::{Context, Result, ensure};

/// Runs a command that belongs to the preparation. Its output goes where this process's output goes.
pub fn must_succeed(command: &mut Command) -> Result<()> {
    let status = command.status().with_context(|| words(command))?;
    ensure!(status.success(), "`{}` failed ({status})", words(command));
    Ok(())
}

/// Returns the words of a command, without the variables that it sets: a build sets forty, which would hide the
/// compiler's message.
fn words(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    words.map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failed_command_is_named_without_its_variables() {
        let error = must_succeed(Command::new("false").arg("--word").env("SECRET", "1"));
        let message = error.unwrap_err().to_string();
        assert!(message.starts_with("`false --word` failed"), "{message}");
        assert!(!message.contains("SECRET"), "{message}");
    }
}
