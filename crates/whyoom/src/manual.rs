//! `whyoom completions` and `whyoom man`.

use std::{
    fs,
    io::{self, Write},
    iter::once,
    path::Path,
};

use anyhow::{Context, Result};
use clap::CommandFactory;
use clap_complete::Shell;
use clap_mangen::{
    Man,
    roff::{Roff, roman},
};

use crate::{arguments::Arguments, misuse::Misuse, nearest::did_you_mean, terminal::print_line};

/// What the parts of help are called that manual pages have sections for.
const EXAMPLES: &str = "Examples:";
const STATUS: &str = "Exit status:";

pub(crate) fn completions(shell: Shell) -> Result<()> {
    // The generator panics where it cannot write, so it writes into memory.
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Arguments::command(), "whyoom", &mut script);
    Ok(io::stdout().write_all(&script)?)
}

/// The manual page of the program, or of one of its commands.
pub(crate) fn page(command: &[String]) -> Result<()> {
    let program = program();
    Ok(io::stdout().write_all(&rendered(found(&program, command)?)?)?)
}

/// Writes the page of the program, or of one of its commands, and those below it, as `man` finds them.
pub(crate) fn write_pages(command: &[String], folder: &Path) -> Result<()> {
    let cannot_write = || format!("cannot write the manual pages into {}", folder.display());
    let program = program();
    let words: Vec<&str> = once("whyoom").chain(command.iter().map(String::as_str)).collect();
    let mut pages = Vec::new();
    every(found(&program, command)?, &words.join(" "), &mut pages);
    fs::create_dir_all(folder).with_context(cannot_write)?;
    for (words, page) in &pages {
        let file = folder.join(format!("{}.1", words.replace(' ', "-")));
        fs::write(file, rendered(page)?).with_context(cannot_write)?;
    }
    print_line(&format!("wrote {} manual pages into {}", pages.len(), folder.display()));
    Ok(())
}

/// A command that people see, and those below it, with the words that lead to each.
fn every<'a>(command: &'a clap::Command, words: &str, seen: &mut Vec<(String, &'a clap::Command)>) {
    seen.push((words.to_owned(), command));
    let shown = command.get_subcommands().filter(|one| !one.is_hide_set());
    for one in shown.filter(|one| one.get_name() != "help") {
        every(one, &format!("{words} {}", one.get_name()), seen);
    }
}

fn program() -> clap::Command {
    let mut program = Arguments::command();
    program.build();
    program
}

fn found<'a>(program: &'a clap::Command, command: &[String]) -> Result<&'a clap::Command> {
    let mut page = program;
    for name in command {
        let found = page.find_subcommand(name);
        page = found.ok_or_else(|| unknown(page, command, name))?;
    }
    Ok(page)
}

/// What help says last, in the sections that manual pages have for it.
fn rendered(page: &clap::Command) -> io::Result<Vec<u8>> {
    let last = page.get_after_help().map(ToString::to_string).unwrap_or_default();
    let parts = || last.split("\n\n");
    let titled = |title| parts().find_map(move |part: &str| part.strip_prefix(title));
    let manual = Man::new(page.clone());
    let mut out = Vec::new();
    manual.render_title(&mut out)?;
    manual.render_name_section(&mut out)?;
    manual.render_synopsis_section(&mut out)?;
    manual.render_description_section(&mut out)?;
    for part in parts().filter(|part| !part.starts_with(EXAMPLES) && !part.starts_with(STATUS)) {
        let mut roff = Roff::new();
        roff.control("PP", []).text([roman(part.replace('\n', " "))]).to_writer(&mut out)?;
    }
    if page.get_arguments().any(|argument| !argument.is_hide_set()) {
        manual.render_options_section(&mut out)?;
    }
    if page.has_subcommands() {
        manual.render_subcommands_section(&mut out)?;
    }
    for (title, heading) in [(EXAMPLES, "EXAMPLES"), (STATUS, "EXIT STATUS")] {
        if let Some(text) = titled(title) {
            as_typed(heading, text, &mut out)?;
        }
    }
    Ok(out)
}

/// A section whose lines stay as they are.
fn as_typed(heading: &str, text: &str, out: &mut Vec<u8>) -> io::Result<()> {
    let mut roff = Roff::new();
    roff.control("SH", [heading]).control("nf", []);
    for line in text.lines().filter(|line| !line.is_empty()) {
        roff.text([roman(line.strip_prefix("  ").unwrap_or(line).trim_start_matches(' '))]);
    }
    roff.control("fi", []).to_writer(out)
}

fn unknown(page: &clap::Command, command: &[String], name: &str) -> Misuse {
    let near =
        did_you_mean(name, page.get_subcommands().map(clap::Command::get_name), "whyoom --help");
    Misuse(format!("unknown command '{}'{near}", command.join(" ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every command that people see, with the words that lead to it.
    fn all() -> Vec<(String, clap::Command)> {
        let program = program();
        let mut seen = Vec::new();
        every(&program, "whyoom", &mut seen);
        assert!(seen.len() > 12, "{}", seen.len());
        seen.into_iter().map(|(words, command)| (words, command.clone())).collect()
    }

    #[test]
    fn every_page_has_a_file_as_man_names_it() {
        let folder = tempfile::tempdir().expect("a folder");
        let pages = folder.path().join("man1");
        write_pages(&[], &pages).expect("all pages");
        for (words, _) in all() {
            let file = pages.join(format!("{}.1", words.replace(' ', "-")));
            assert!(file.metadata().is_ok_and(|page| page.len() > 300), "{words}");
        }
        assert!(write_pages(&["dance".to_owned()], &pages).is_err());
    }

    #[test]
    fn every_command_has_examples_and_tells_its_exit_status() {
        for (words, command) in all() {
            let last = command.get_after_help().map(ToString::to_string).unwrap_or_default();
            let examples = last.split("\n\n").find_map(|part| part.strip_prefix(EXAMPLES));
            let examples = examples.unwrap_or_else(|| panic!("{words}: no examples"));
            let own = examples.lines().filter(|line| line.contains(&words)).count();
            assert!(own > 0, "{words}: its examples are of others");
            assert!(last.contains(STATUS), "{words}: no exit status");
            let longest = last.lines().map(|line| line.chars().count()).max().unwrap_or(0);
            assert!(longest <= 100, "{words}: a line of {longest}");
        }
    }

    #[test]
    fn every_manual_page_has_its_sections() {
        for (words, command) in all() {
            let page = String::from_utf8(rendered(&command).expect("a page")).expect("text");
            for section in ["NAME", "SYNOPSIS", "DESCRIPTION", "EXAMPLES", "\"EXIT STATUS\""] {
                assert_eq!(
                    page.matches(&format!(".SH {section}\n")).count(),
                    1,
                    "{words}: {section}"
                );
            }
        }
    }

    #[test]
    fn every_option_is_explained_in_one_voice() {
        for (words, command) in all() {
            for argument in command.get_arguments() {
                let help = argument.get_help().map(ToString::to_string).unwrap_or_default();
                let begins = help.starts_with(|letter: char| letter.is_uppercase());
                assert!(begins && !help.ends_with('.'), "{words} {}: {help:?}", argument.get_id());
            }
        }
    }
}
