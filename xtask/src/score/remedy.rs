//! A remedy applied by a machine: then the program must run, and must not be judged the same again.

use std::{fs, path::Path};

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use super::{
    answer::Answer,
    case::{Apply, Case, Input},
    stage::Stage,
    trial::Run,
};
use crate::tools::why;

/// Applies the remedy as the table says; whether it worked, where it says how.
pub(super) fn apply(stage: &Stage, case: &Case, answer: &Answer) -> Result<Option<bool>> {
    let (Some(apply), Input::Program(source)) = (&case.apply, case.input()?) else {
        return Ok(None);
    };
    // The wrong cause's remedy proves nothing.
    if answer.cause != case.cause {
        return Ok(Some(false));
    }
    let run = Run { source, ..Run::of(case) };
    let changed = changed(stage, case, apply, answer, run);
    let Ok(run) = changed.inspect_err(|error| println!("{}: {error:#}", case.name)) else {
        return Ok(Some(false));
    };
    let (recording, outcome) = run.recorded(stage, case, "remedied")?;
    let again = why(&stage.whyoom(), &[&recording])?;
    let again = Answer::of_why(&again).cause;
    let worked = outcome.success && again != case.cause;
    if !worked {
        let last = outcome.stderr.lines().rev().find(|line| !line.is_empty());
        println!("{}: with the remedy: {again}: {}", case.name, last.unwrap_or_default());
    }
    Ok(Some(worked))
}

fn changed(
    stage: &Stage,
    case: &Case,
    apply: &Apply,
    answer: &Answer,
    mut run: Run,
) -> Result<Run> {
    if apply.setting {
        set(&mut run, answer.paste().context("there is no line to paste")?)?;
    }
    if !apply.replace.is_empty() {
        let folder = stage.fresh(case, "changed")?;
        let name = run.source.file_name().context("a program without a name")?;
        let copy = folder.join(name);
        fs::write(&copy, replaced(case, apply, &run.source)?)?;
        run.source = copy;
    }
    if let Some(arguments) = &apply.arguments {
        run.arguments.clone_from(arguments);
    }
    if let Some(flag) = &apply.fit {
        let largest = largest(stage, case, answer)?;
        println!("{}: the largest {flag} that fits is {largest}", case.name);
        put(&mut run.arguments, flag, &largest.to_string())?;
    }
    Ok(run)
}

/// `export NAME=VALUE`, `unset NAME`, or another way to run.
fn set(run: &mut Run, line: &str) -> Result<()> {
    if let Some(rest) = line.strip_prefix("whyoom run ") {
        let options = rest.split_whitespace().take_while(|word| *word != "--");
        run.options = options.map(str::to_owned).collect();
        return Ok(());
    }
    if let Some(name) = line.strip_prefix("unset ") {
        run.environment.retain(|(known, _)| known != name);
        return Ok(());
    }
    let setting = line.strip_prefix("export ").and_then(|rest| rest.split_once('='));
    let (name, value) = setting.with_context(|| format!("{line} sets nothing"))?;
    run.environment.retain(|(known, _)| known != name);
    run.environment.push((name.to_owned(), value.trim_matches(['"', '\'']).to_owned()));
    Ok(())
}

fn replaced(case: &Case, apply: &Apply, source: &Path) -> Result<String> {
    let mut text = fs::read_to_string(source)?;
    for (old, new) in &apply.replace {
        ensure!(text.contains(old), "{} does not say {old}", source.display());
        text = text.replace(old, new);
    }
    let says = |wanted: &String| {
        let news: String = apply.replace.iter().map(|(_, new)| new.to_lowercase()).collect();
        wanted.to_lowercase().split('|').any(|one| news.contains(one))
    };
    ensure!(case.remedy.iter().any(says), "what is replaced is not what the remedy says");
    Ok(text)
}

/// What the line with `whyoom fit` finds. It needs no lab: it makes its own.
fn largest(stage: &Stage, case: &Case, answer: &Answer) -> Result<u64> {
    let is_fit = |line: &&str| line.starts_with("whyoom fit ");
    let mut lines = answer.remedies.iter().filter_map(|advice| advice.paste.as_deref());
    let line = lines.find(is_fit).context("no remedy is a line with whyoom fit")?;
    let line = line.replacen("whyoom fit", &format!("{} fit --json", stage.whyoom().display()), 1);
    let output = std::process::Command::new("timeout")
        .args(["--kill-after=10", "200", "sh", "-c", &line])
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .envs(&case.environment)
        .output()?;
    let complaint = String::from_utf8_lossy(&output.stderr);
    let document: Value = serde_json::from_slice(&output.stdout)
        .with_context(|| format!("{line}: {}", complaint.trim()))?;
    let value = &document["vary"]["largest"][0]["value"];
    value.as_u64().with_context(|| format!("{line} names none: {}", document["vary"]))
}

/// Puts a value in the place of an argument's.
fn put(arguments: &mut [String], flag: &str, value: &str) -> Result<()> {
    let joined = format!("{flag}=");
    for index in 0..arguments.len() {
        if arguments[index] == flag && index + 1 < arguments.len() {
            arguments[index + 1] = value.to_owned();
            return Ok(());
        }
        if arguments[index].starts_with(&joined) {
            arguments[index] = format!("{joined}{value}");
            return Ok(());
        }
    }
    anyhow::bail!("the program has no argument {flag}")
}
