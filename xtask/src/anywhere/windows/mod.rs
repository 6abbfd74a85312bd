//! The command for Windows, built here and run under Wine: what it prints and writes is what the command on Linux does.

mod cases;
mod compare;
pub(super) mod wine;

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context, Result, ensure};
use harness::{Build, Held, empty_folder, must_succeed, root, two_at_a_time};

use super::Page;

use self::{
    cases::Case,
    compare::{Answer, difference},
    wine::Wine,
};

/// Rust's name for Windows as MinGW builds for it.
const TARGET: &str = "x86_64-pc-windows-gnu";
/// Differences beyond these say nothing new.
const MOST_SHOWN: usize = 10;

pub(super) fn run(_: &Page) -> Result<Held> {
    let folder = empty_folder("anywhere-windows")?;
    let pair = Pair { native: native(&folder)?, wine: Wine::with(&built()?, &folder)?, folder };
    let (cases, skipped) = cases::all()?;
    let outcomes = two_at_a_time(&cases, |case| pair.compare(case));
    let mut table: BTreeMap<&str, (usize, usize)> = BTreeMap::new();
    let mut wrong = Vec::new();
    for (case, outcome) in cases.iter().zip(outcomes) {
        let (equal, all) = table.entry(case.kind).or_default();
        *all += 1;
        match outcome {
            Ok(()) => *equal += 1,
            Err(error) => wrong.push(format!("{}: {error:#}", case.words.join(" "))),
        }
    }
    println!("{:<42} {:>6} {:>6}", "", "equal", "of");
    for (kind, (equal, all)) in &table {
        println!("{kind:<42} {equal:>6} {all:>6}");
    }
    skipped.iter().for_each(|skipped| println!("skipped: {skipped}"));
    wrong.iter().take(MOST_SHOWN).for_each(|wrong| println!("\ndiffers: {wrong}"));
    ensure!(wrong.is_empty(), "{} of {} differ, or cannot run", wrong.len(), cases.len());
    ensure!(!cases.is_empty(), "nothing was compared");
    let refused = pair.wine.refuses_what_needs_linux()?;
    let figures: Vec<String> =
        table.iter().map(|(kind, (equal, _))| format!("{equal} {kind}")).collect();
    let without = if skipped.is_empty() { String::new() } else { "; without ../shared".to_owned() };
    Ok(Held::new(format!(
        "under Wine as on Linux: {}; {refused} commands say that they need Linux{without}",
        figures.join(", ")
    )))
}

/// The command on Linux in a folder of its own: without the simulated GPU, which Windows has not either.
fn native(folder: &Path) -> Result<PathBuf> {
    let alone = folder.join("whyoom");
    fs::copy(Build::ready()?.whyoom(), &alone)?;
    Ok(alone)
}

/// The command for Windows. For work on these commands a quick build is enough, as of the rest.
fn built() -> Result<PathBuf> {
    ensure!(
        Command::new("x86_64-w64-mingw32-gcc").arg("--version").output().is_ok(),
        "there is no linker for Windows: apt-get install gcc-mingw-w64-x86-64"
    );
    let mut build = Command::new(env!("CARGO"));
    build.args(["build", "--quiet", "--locked", "--target", TARGET, "--package", "whyoom"]);
    let profile = if Build::is_given() { "debug" } else { "release" };
    if profile == "release" {
        build.arg("--release");
    }
    must_succeed(build.current_dir(root()))
        .with_context(|| format!("is Rust's library there? rustup target add {TARGET}"))?;
    Ok(harness::target().join(TARGET).join(profile).join("whyoom.exe"))
}

/// The command on both systems.
struct Pair {
    native: PathBuf,
    wine: Wine,
    folder: PathBuf,
}

impl Pair {
    /// An error that says what differs, where anything does.
    fn compare(&self, case: &Case) -> Result<()> {
        let on_linux = self.answer(case, "linux", || Command::new(&self.native))?;
        let on_windows = self.answer(case, "windows", || self.wine.command())?;
        match difference(&on_linux, &on_windows) {
            None => Ok(()),
            Some(difference) => anyhow::bail!("{difference}"),
        }
    }

    /// What a command answers to a case, with the file that it writes.
    fn answer(
        &self,
        case: &Case,
        system: &str,
        command: impl FnOnce() -> Command,
    ) -> Result<Answer> {
        let mut command = command();
        command.args(&case.words).current_dir(root().join(cases::FOLDER));
        // The same words on both, in one width, whoever asks.
        for name in ["HOME", "LANG", "LC_CTYPE", "COLUMNS", "NO_COLOR", "CLICOLOR_FORCE"] {
            command.env_remove(name);
        }
        command.env("LC_ALL", "C.UTF-8").env("HOME", &self.folder);
        let Some(written) = &case.writes else { return Answer::of(&mut command, None) };
        let own = self.folder.join(system);
        fs::create_dir_all(&own)?;
        let file = own.join(format!("{}-{written}", case.number));
        // Under Wine the whole file system is drive Z, and slashes are understood.
        command.arg("-o").arg(&file);
        Answer::of(&mut command, Some(&file))
    }
}
