//! One case, run and judged.

use std::{
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result};
use harness::{
    Build, SceneStage,
    documents::{Who, Why},
    score::{Answer, Case, Grade, Input, Known, Printed, Scored},
    text,
};

use super::{
    program::{Program, who_document},
    remedy,
    truth::Truth,
};

/// Runs a case, asks why, applies the line that was printed, and the author's own fix.
pub(super) fn scored(case: &Case) -> Result<Scored> {
    match case.input()? {
        Input::Files(files) => {
            let paths: Vec<&Path> = files.iter().map(PathBuf::as_path).collect();
            let answer = Answer::of_why(&Why::ask(Build::ready()?, &paths)?);
            finished(case, answer, &Truth::default(), Printed::None, &files)
        }
        Input::Program(source) => recorded(case, source),
    }
}

fn recorded(case: &Case, source: PathBuf) -> Result<Scored> {
    let stage = SceneStage::ready()?;
    let program = Program::of(case, &stage, source);
    let (recording, ran) = program.recorded("recording")?;
    let truth = Truth::of(&ran.stdout);
    if case.who {
        let said = who_document(recording.parent().context("no folder")?);
        let document = Who::parse(&fs::read(&said)?)
            .with_context(|| format!("whyoom who did not answer: {}", ran.stderr))?;
        return finished(case, Answer::of_who(&document), &truth, truth.printed(), &[said]);
    }
    let document = Why::ask(&stage.build, &[&recording])
        .with_context(|| format!("nothing was recorded: {}", ran.stderr))?;
    let answer = Answer::of_why(&document);
    remedy::check_truth(case, &program).context("the table's own fix")?;
    let printed = match truth.printed() {
        // The wrong cause's remedy proves nothing.
        Printed::None if answer.cause == case.cause => remedy::apply(case, &answer, &program)?,
        by_scene => by_scene,
    };
    finished(case, answer, &truth, printed, &[recording])
}

fn finished(
    case: &Case,
    answer: Answer,
    truth: &Truth,
    printed: Printed,
    judged: &[PathBuf],
) -> Result<Scored> {
    let (remedy, never) = (truth.fill(&case.remedy), truth.fill(&case.never));
    let known = Known { bytes: truth.bytes(case)?, remedy: &remedy, never: &never };
    let grade = Grade::of(case, known, &answer, &printed);
    Ok(Scored {
        case: case.name.clone(),
        answer,
        grade,
        printed,
        truth_checked: case.fix.is_some(),
        judged: judged.iter().map(|path| text(path)).collect(),
    })
}
