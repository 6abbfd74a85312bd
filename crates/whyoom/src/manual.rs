//! `whyoom completions` and `whyoom man`.

use std::io::{self, Write};

use anyhow::{Context, Result};
use clap::CommandFactory;
use clap_complete::Shell;

use crate::arguments::Arguments;

pub(crate) fn completions(shell: Shell) -> Result<()> {
    // The generator panics where it cannot write, so it writes into memory.
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Arguments::command(), "whyoom", &mut script);
    Ok(io::stdout().write_all(&script)?)
}

/// The manual page of the program, or of one of its commands.
pub(crate) fn page(command: &[String]) -> Result<()> {
    let mut program = Arguments::command();
    program.build();
    let mut page = &program;
    for name in command {
        let found = page.find_subcommand(name);
        page = found.with_context(|| format!("there is no command '{}'", command.join(" ")))?;
    }
    let mut manual = Vec::new();
    clap_mangen::Man::new(page.clone()).render(&mut manual)?;
    Ok(io::stdout().write_all(&manual)?)
}
