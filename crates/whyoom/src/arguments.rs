//! What can be typed.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};
use clap_complete::Shell;

/// Why did CUDA run out of memory?
#[derive(Debug, Parser)]
#[command(
    name = "whyoom",
    version,
    about = "Why did CUDA run out of memory? Answered from your own run.",
    after_help = "Start with:  whyoom why train.log"
)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Say why memory ran out, from a PyTorch snapshot, a log or a pasted traceback
    Why(WhyArguments),
    /// Explain the causes in general, and the counters that people meet
    Causes(CausesArguments),
    /// Print a shell's completions
    #[command(
        after_help = "Example:\n  whyoom completions bash > ~/.local/share/bash-completion/completions/whyoom"
    )]
    Completions {
        /// The shell
        shell: Shell,
    },
    /// Print the manual page, of the program or of one command
    #[command(after_help = "Example:\n  whyoom man why | man -l -")]
    Man {
        /// The command
        command: Option<String>,
    },
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  whyoom why oom.pickle                    a snapshot of torch.cuda.memory._dump_snapshot
  whyoom why train.log                     a log of any length, of one rank or many
  whyoom why < traceback.txt               a pasted traceback
  whyoom why rank0.pickle rank1.pickle     several ranks, one verdict
  whyoom why oom.pickle train.log --json   both together, for a program

Exit status:
  0  a verdict was given, whichever it is
  1  an input could not be read
  2  the arguments are wrong")]
pub(crate) struct WhyArguments {
    /// Snapshots (.pickle) and logs; - or nothing reads standard input
    pub(crate) files: Vec<PathBuf>,
    /// Print JSON (schema: docs/json.md)
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  whyoom causes                     all causes, and a glossary
  whyoom causes fragmented-cache    one of them in full")]
pub(crate) struct CausesArguments {
    /// The cause's id
    pub(crate) id: Option<String>,
    /// Print JSON (schema: docs/json.md)
    #[arg(long)]
    pub(crate) json: bool,
}
