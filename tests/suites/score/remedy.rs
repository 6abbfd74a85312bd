//! The line that was printed, applied by a machine as it stands; and the author's own fix, which shows that
//! the truth of a case is true. With either the program must run, and must not be judged the same again.

use std::{fs, process::Command};

use anyhow::{Context, Result, bail, ensure};
use harness::{
    documents::{Fit, Why},
    from_slice,
    score::{Answer, Case, Fix, Printed},
};

use super::program::Program;

/// Applies the first line to paste, where a machine can.
pub(super) fn apply(case: &Case, answer: &Answer, program: &Program<'_>) -> Result<Printed> {
    let Some(line) = answer.paste() else { return Ok(Printed::None) };
    let mut changed = program.clone();
    let is_fit = line.starts_with("whyoom fit ");
    // A search takes several runs: it is made where the table asks for it.
    if is_fit && !case.applied {
        return Ok(Printed::None);
    }
    let applied = if is_fit { search(case, line, &mut changed) } else { set(line, &mut changed) };
    let line = line.to_owned();
    Ok(match applied {
        Ok(false) => Printed::None,
        Err(error) => Printed::Failed { line, how: format!("{error:#}") },
        Ok(true) => match runs(case, &changed, "applied")? {
            None => Printed::Worked { line },
            Some(how) => Printed::Failed { line, how },
        },
    })
}

/// With the author's fix the program runs: else the case's truth is not true.
pub(super) fn check_truth(case: &Case, program: &Program<'_>) -> Result<()> {
    let Some(fix) = &case.fix else { return Ok(()) };
    let mut changed = program.clone();
    if !fix.replace.is_empty() {
        let name = program.source.file_name().context("a program without a name")?;
        let copy = program.folder("changed")?.join(name);
        fs::write(&copy, replaced(fix, program)?)?;
        changed.source = copy;
    }
    if let Some(arguments) = &fix.arguments {
        changed.arguments.clone_from(arguments);
    }
    match runs(case, &changed, "fixed")? {
        None => Ok(()),
        Some(how) => bail!("does not help: {how}"),
    }
}

/// Runs it; what is wrong then, if anything.
fn runs(case: &Case, program: &Program<'_>, name: &str) -> Result<Option<String>> {
    let (recording, ran) = program.recorded(name)?;
    let again = Why::ask(harness::Build::ready()?, &[&recording])?.verdict;
    if ran.status == 0 && again.cause != case.cause {
        return Ok(None);
    }
    Ok(Some(format!("it ends with {}, judged {}", ran.status, again.cause)))
}

fn replaced(fix: &Fix, program: &Program<'_>) -> Result<String> {
    let mut text = fs::read_to_string(&program.source)?;
    for (old, new) in &fix.replace {
        ensure!(text.contains(old), "{} does not say {old}", program.source.display());
        text = text.replace(old, new);
    }
    Ok(text)
}

/// `export NAME=VALUE`, `unset NAME`, or another way to run; false where it is none of these.
fn set(line: &str, program: &mut Program<'_>) -> Result<bool> {
    if let Some(rest) = line.strip_prefix("whyoom run --pool") {
        let options = rest.split_whitespace().take_while(|word| *word != "--");
        program.options = std::iter::once("--pool").chain(options).map(str::to_owned).collect();
        return Ok(true);
    }
    if let Some(name) = line.strip_prefix("unset ") {
        program.environment.retain(|(known, _)| known != name);
        return Ok(true);
    }
    let Some(setting) = line.strip_prefix("export ") else { return Ok(false) };
    // The whole assignment is one word of the shell.
    let setting = setting.trim_matches('\'');
    let (name, value) = setting.split_once('=').with_context(|| format!("{line} sets nothing"))?;
    program.environment.retain(|(known, _)| known != name);
    let value = value.trim_matches(['"', '\'']).to_owned();
    program.environment.push((name.to_owned(), value));
    Ok(true)
}

/// Runs the search that is printed, and puts its value in the place that the line itself names. It needs no
/// lab: it makes its own.
fn search(case: &Case, line: &str, program: &mut Program<'_>) -> Result<bool> {
    let whyoom = harness::Build::ready()?.whyoom();
    let command = line.replacen("whyoom fit", &format!("{} fit --json", whyoom.display()), 1);
    let output = Command::new("timeout")
        .args(["--kill-after=10", "200", "sh", "-c", &command])
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .envs(&case.environment)
        .output()?;
    let complaint = String::from_utf8_lossy(&output.stderr);
    let document: Fit = from_slice(&output.stdout).with_context(|| complaint.trim().to_owned())?;
    let vary = document.vary.context("it varies nothing")?;
    let value = vary.largest.first().and_then(|largest| largest.value).context("it names none")?;
    let place = format!("{{{}}}", vary.name);
    let words = line.split(" -- ").nth(1).context("it names no program")?;
    let source = program.source.display().to_string();
    let words = words.split_whitespace().skip_while(|word| *word != source).skip(1);
    let arguments: Vec<String> = words.map(str::to_owned).collect();
    ensure!(arguments.iter().any(|word| word.contains(&place)), "{line} has no place {place}");
    program.arguments =
        arguments.iter().map(|word| word.replace(&place, &value.to_string())).collect();
    println!("the largest {} that fits is {value}", vary.name);
    Ok(true)
}
