//! `whyoom demo`: five short runs that whyoom carries with it, each with its verdict.

mod carried;
mod live;
mod page;
mod stories;

use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use whyoom_files::temporary;

use self::stories::{STORIES, Story};
use crate::{
    arguments::{DemoArguments, WhyArguments},
    misuse::Misuse,
    nearest::did_you_mean,
    terminal::print_line,
    why,
};

pub(crate) fn run(arguments: &DemoArguments) -> Result<()> {
    match arguments.name.as_deref() {
        Some(name) => play(find(name)?, arguments),
        None if arguments.all => STORIES.iter().try_for_each(|story| play(story, arguments)),
        None => {
            list();
            Ok(())
        }
    }
}

fn find(name: &str) -> Result<&'static Story> {
    if let Some(story) = STORIES.iter().find(|story| story.name == name) {
        return Ok(story);
    }
    let names = STORIES.iter().map(|story| story.name);
    bail!(Misuse(format!("unknown story '{name}'{}", did_you_mean(name, names, "whyoom demo"))))
}

fn list() {
    print_line("Five short runs with their verdicts. No GPU and no PyTorch needed.\n");
    let longest = STORIES.iter().map(|story| story.name.len()).max().unwrap_or(0);
    for Story { name, question, .. } in STORIES {
        print_line(&format!("  whyoom demo {name:longest$}  {question}"));
    }
    print_line("\nStart with: whyoom demo fragmented");
    print_line("All of them: whyoom demo --all");
}

/// Tells a story: what the program does, the verdict, and what to type for one's own.
fn play(story: &Story, arguments: &DemoArguments) -> Result<()> {
    let folder = tempfile::tempdir_in(temporary::folder())
        .context("cannot create a temporary folder (see TMPDIR)")?;
    // The verdict and the report name their input by its last part.
    let recording = folder.path().join(story.name);
    carried::unpack_into(story.recording, &recording)
        .with_context(|| format!("cannot unpack the recording in {}", folder.path().display()))?;
    let report = report_of(story, arguments);
    if !arguments.json {
        introduce(story);
    }
    // The same as `whyoom why FOLDER`.
    let verdict = WhyArguments {
        files: vec![recording],
        live: None,
        machine: None,
        verbose: arguments.verbose,
        json: arguments.json,
        timeline: false,
        no_symbols: false,
        sarif: None,
        report: report.clone(),
        // A file that this command named may be its own of an hour ago.
        force: arguments.report_file().is_none(),
    };
    why::print(&verdict, (&verdict.files, None), &format!("whyoom demo {} --verbose", story.name))?;
    if !arguments.json {
        conclude(story, report.is_some());
    }
    if let Some(report) = report.filter(|_| arguments.open) {
        page::open(&report);
    }
    Ok(())
}

/// The report's file, where one is wanted.
fn report_of(story: &Story, arguments: &DemoArguments) -> Option<PathBuf> {
    let wanted = arguments.report.is_some() || arguments.open;
    let own_name = || format!("whyoom-demo-{}.html", story.name).into();
    wanted.then(|| arguments.report_file().cloned().unwrap_or_else(own_name))
}

fn introduce(story: &Story) {
    print_line(&format!("{}: {}\n\n{}\n", story.name, story.question, story.about));
    for (number, line) in story.excerpt() {
        print_line(format!("  {number:>3} | {line}").trim_end());
    }
    print_line(&format!(
        "\nThis PyTorch program was recorded on a simulated GPU with 4 GiB:\n  $ {}\nwhyoom why \
         reads the recording now:\n",
        story.recorded_with
    ));
}

fn conclude(story: &Story, has_report: bool) {
    if let Some(live) = story.live {
        live::show(live);
    }
    print_line("\nOn your own program:");
    let longest = story.next.iter().map(|(command, _)| command.len()).max().unwrap_or(0);
    for (command, purpose) in story.next {
        print_line(&format!("  {command:longest$}  {purpose}"));
    }
    if !has_report {
        print_line(&format!(
            "The report of this run, in a browser: whyoom demo {} --open",
            story.name
        ));
    }
    print_line("");
}
