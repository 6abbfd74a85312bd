//! What people have asked for in public for years and no tool gave them: each with the command that prints it, and
//! what must stand in its output.

use std::process::Command;

use anyhow::{Context, Result, ensure};

use harness::{Build, root};

use super::{row::Row, verdicts};

/// A wish, and how it is served.
struct Wish {
    what: &'static str,
    thread: &'static str,
    by: By,
    /// What the answer must say.
    says: &'static [&'static str],
    /// What it must not say.
    never: &'static [&'static str],
}

/// Where an answer comes from.
enum By {
    /// The command with these words, in the checkout.
    Words(&'static [&'static str]),
    /// The verdict on a case.
    Case(&'static str),
}

const FRAGMENTED: &str = "tests/fixtures/snapshots/fragmented-oom.pickle";

const WISHES: &[Wish] = &[
    Wish {
        what: "A fragmentation figure at the out-of-memory",
        thread: "pytorch/pytorch#29554",
        by: By::Words(&["why", FRAGMENTED]),
        says: &["fragmentation"],
        never: &[],
    },
    Wish {
        what: "A glossary of the counters",
        thread: "pytorch/pytorch#32101",
        by: By::Words(&["causes", "reserved"]),
        says: &["reserved"],
        never: &[],
    },
    Wish {
        what: "The list of live allocations",
        thread: "pytorch/pytorch#8549",
        by: By::Words(&["why", FRAGMENTED, "--live"]),
        says: &["MiB", ".py:"],
        never: &[],
    },
    Wish {
        what: "No advice that is already applied",
        thread: "pytorch/pytorch#173049",
        by: By::Case("message-expandable-already-on"),
        says: &["working-set"],
        never: &["export PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True"],
    },
    Wish {
        what: "A cap on library workspaces",
        thread: "pytorch/pytorch#49207",
        by: By::Case(WORKSPACE),
        says: &["library-workspace", "CUBLAS_WORKSPACE_CONFIG"],
        never: &[],
    },
    Wish {
        what: "The name of the orphan",
        thread: "vllm-project/vllm#55510",
        by: By::Case("node-renamed-orphan"),
        // Its process has ended when this is asked, so no line ends it.
        says: &["orphan", "VLLM::EngineCor", "whyoom who"],
        never: &[],
    },
];

/// A program whose libraries' workspaces are what is missing.
const WORKSPACE: &str = "library-workspace-cublas";

/// Checks that the output of each command has what its wish needs.
pub(super) fn check(rows: &[Row]) -> Result<()> {
    for wish in WISHES {
        let (title, said) = wish.answer(rows).with_context(|| wish.what)?;
        for text in wish.says {
            ensure!(said.contains(text), "{}: “{text}” is not in\n{said}", wish.what);
        }
        for text in wish.never {
            ensure!(!said.contains(text), "{}: “{text}” is in\n{said}", wish.what);
        }
        println!("served: {} ({}): {title}", wish.what, wish.thread);
    }
    Ok(())
}

impl Wish {
    /// The command as people type it, and what it prints.
    fn answer(&self, rows: &[Row]) -> Result<(String, String)> {
        match self.by {
            By::Case(name) => {
                let one = rows.iter().find(|one| one.case.name == name);
                let one = one.with_context(|| format!("there is no case {name}"))?;
                Ok((format!("whyoom why … ({name})"), verdicts::said(one)?))
            }
            By::Words(words) => {
                let mut command = Command::new(Build::ready()?.whyoom());
                let output = command.args(words).env("COLUMNS", "100").current_dir(root());
                let output = output.env("NO_COLOR", "1").output()?;
                ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
                let said = String::from_utf8(output.stdout)?;
                Ok((format!("whyoom {}", words.join(" ")), said))
            }
        }
    }
}
