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
    program::{Program, Recordings, verdict_document, who_document},
    remedy,
    truth::Truth,
};

/// Runs a case, asks why, applies the line that was printed, and the author's own fix.
pub(super) fn scored(case: &Case) -> Result<Scored> {
    match case.input()? {
        Input::Files(files) => {
            let paths: Vec<&Path> = files.iter().map(PathBuf::as_path).collect();
            let answer = Answer::of_why(&Why::ask(Build::ready()?, &paths)?);
            let none = Recordings::default();
            finished(case, answer, &Truth::default(), Printed::None, &files, &none)
        }
        Input::Program(source) => recorded(case, source),
    }
}

fn recorded(case: &Case, source: PathBuf) -> Result<Scored> {
    let stage = SceneStage::ready()?;
    let recordings = Recordings::default();
    let program = Program::of(case, &stage, &recordings, source);
    let (recording, ran) = program.recorded("recording")?;
    let truth = Truth::of(&ran.stdout);
    if case.who {
        let said = who_document(recording.parent().context("no folder")?);
        let document = Who::parse(&fs::read(&said)?)
            .with_context(|| format!("whyoom who did not answer: {}", ran.stderr))?;
        let answer = Answer::of_who(&document);
        return finished(case, answer, &truth, truth.printed(), &[said], &recordings);
    }
    let by_scene = verdict_document(recording.parent().context("no folder")?);
    let document = match fs::read(&by_scene) {
        Ok(bytes) => Why::parse(&bytes),
        Err(_) => Why::ask(&stage.build, &[&recording]),
    };
    let document = document.with_context(|| format!("nothing was recorded: {}", ran.stderr))?;
    let answer = Answer::of_why(&document);
    remedy::check_truth(case, &program).context("the table's own fix")?;
    let printed = match truth.printed() {
        // The wrong cause's remedy proves nothing.
        Printed::None if answer.cause == case.cause => remedy::apply(case, &answer, &program)?,
        by_scene => by_scene,
    };
    finished(case, answer, &truth, printed, &[recording], &recordings)
}

fn finished(
    case: &Case,
    answer: Answer,
    truth: &Truth,
    printed: Printed,
    judged: &[PathBuf],
    recordings: &Recordings,
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
        recorded: recordings.recorded.get(),
        recordings_reused: recordings.reused.get(),
        judged: judged.iter().map(|path| text(path)).collect(),
    })
}
