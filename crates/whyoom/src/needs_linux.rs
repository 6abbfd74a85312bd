//! What needs Linux, as whyoom has it on other systems: each command is in the help, and says what to do instead.

use std::ffi::OsString;

use anyhow::Result;
use clap::Args;

use crate::misuse::Misuse;

/// Whatever is typed behind such a command.
#[derive(Debug, Args)]
#[command(after_help = "This command needs Linux.

Exit status:
  2  always")]
pub(crate) struct AnyWords {
    /// As on Linux
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    words: Vec<OsString>,
}

/// The arguments of these commands, under the names that they have on Linux.
pub(crate) mod arguments {
    pub(crate) use super::AnyWords as AttachArguments;
    pub(crate) use super::AnyWords as DoctorArguments;
    pub(crate) use super::AnyWords as FitArguments;
    pub(crate) use super::AnyWords as LabArguments;
    pub(crate) use super::AnyWords as McpArguments;
    pub(crate) use super::AnyWords as RunArguments;
    pub(crate) use super::AnyWords as TopArguments;
    pub(crate) use super::AnyWords as WhoArguments;
}

/// The commands, and what to do instead of each.
macro_rules! need_linux {
    ($($name:ident: $instead:literal;)*) => {$(
        pub(crate) mod $name {
            pub(crate) fn run(_: &super::AnyWords) -> super::Result<u8> {
                Err(super::refused(stringify!($name), $instead))
            }
        }
    )*};
}

need_linux! {
    run: "use WSL or a Linux container, or take a snapshot inside the program \
          (torch.cuda.memory._dump_snapshot) and pass it to whyoom why";
    attach: "use WSL or a Linux container for the program and for whyoom, or take a snapshot inside the program \
             (torch.cuda.memory._dump_snapshot) and pass it to whyoom why";
    fit: "use WSL or a Linux container, where it needs no GPU either";
    who: "use it on the Linux machine that has the GPU; on Windows the Task Manager shows which processes hold GPU \
          memory (Details, column Dedicated GPU memory)";
    top: "use it on the Linux machine that has the GPU; on Windows the Task Manager shows which processes hold GPU \
          memory (Details, column Dedicated GPU memory)";
    doctor: "run it where the program runs, in WSL or in a Linux container";
    lab: "use WSL or a Linux container: the simulated GPU is made of Linux libraries";
    mcp: "use WSL or a Linux container";
}

fn refused(name: &str, instead: &str) -> anyhow::Error {
    Misuse(format!("whyoom {name} needs Linux: {instead}")).into()
}
