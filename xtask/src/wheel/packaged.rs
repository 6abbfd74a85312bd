//! What the wheel holds.

use std::{path::Path, process::Command};

use anyhow::Result;
use whyoom_lab_core::session::built_libraries;

use super::output;

/// What `whyoom run` preloads.
const PRELOADED: [&str; 2] = ["libwhyoom_recorder.so", "libwhyoom_pool.so"];
/// Where the pool's headers are, and what the wheel installs of them.
pub(super) const HEADERS_FOLDER: &str = "crates/pool/include";
pub(super) const HEADERS: [&str; 2] = ["whyoom_pool.h", "whyoom_pool.hpp"];
pub(super) const LICENCES: [&str; 2] = ["LICENSE-APACHE", "LICENSE-MIT"];

/// Where shells look for completions, below `share`.
const COMPLETIONS: [(&str, &str); 3] = [
    ("bash", "bash-completion/completions/whyoom"),
    ("zsh", "zsh/site-functions/_whyoom"),
    ("fish", "fish/vendor_completions.d/whyoom.fish"),
];

/// The libraries, by the names under which they are built and installed.
pub(super) fn libraries() -> impl Iterator<Item = &'static str> {
    built_libraries().chain(PRELOADED)
}

/// What the command says of itself: files below `share`, and the words that print each.
pub(super) fn generated(whyoom: &Path) -> Result<Vec<(String, Vec<String>)>> {
    let completion = |(shell, path): &(&str, &str)| {
        ((*path).to_owned(), vec!["completions".to_owned(), (*shell).to_owned()])
    };
    let mut files: Vec<_> = COMPLETIONS.iter().map(completion).collect();
    for command in commands(whyoom)? {
        let name = [&["whyoom".to_owned()], command.as_slice()].concat().join("-");
        let words = [&["man".to_owned()], command.as_slice()].concat();
        files.push((format!("man/man1/{name}.1"), words));
    }
    Ok(files)
}

/// The program, its commands and theirs, as its help lists them.
fn commands(whyoom: &Path) -> Result<Vec<Vec<String>>> {
    let mut found = vec![Vec::new()];
    let mut next = 0;
    while let Some(command) = found.get(next).cloned() {
        let help = output(Command::new(whyoom).args(&command).arg("--help"))?;
        found.extend(listed(&help).map(|name| [command.as_slice(), &[name.to_owned()]].concat()));
        next += 1;
    }
    Ok(found)
}

/// The names under `Commands:` in a help.
fn listed(help: &str) -> impl Iterator<Item = &str> {
    let list = help.lines().skip_while(|line| *line != "Commands:").skip(1);
    let names = list.take_while(|line| !line.is_empty()).filter(|line| !line.starts_with("   "));
    names.filter_map(|line| line.split_whitespace().next()).filter(|name| *name != "help")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_help_lists_its_commands() {
        let help = "About\n\nUsage: x\n\nCommands:\n  run   Run it\n          and more\n  lab   Lab\n  \
                    help  Help\n\nOptions:\n  -h  Help\n";
        assert_eq!(listed(help).collect::<Vec<_>>(), ["run", "lab"]);
        assert_eq!(listed("Usage: x\n").count(), 0);
    }
}
