//! `fit`: whether a program fits. The only tool that runs something.

mod answer;

use std::time::Duration;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use self::answer::Answer;
use crate::{
    refusal::Refusal,
    room::Room,
    tool::{Rules, Tool},
    whyoom::Question,
};

/// How long a program runs where nobody says so.
const PROGRAM_SECONDS: u32 = 600;
/// A program is run several times where a value is varied, or a GPU of another family is asked for.
const ALL_RUNS: Duration = Duration::from_secs(3600);

pub(crate) struct Fit;

/// A command, and the GPUs that it is to fit.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Input {
    /// The program and its arguments, one word each; no shell reads them. The first words must be ones that the
    /// person allowed
    command: Vec<String>,
    /// GPU models, e.g. t4, l4, rtx-4090, a100; or all
    gpu: Vec<String>,
    /// Number of GPUs visible to the program
    gpus: Option<u16>,
    /// Memory per GPU instead of the model's, e.g. 8GiB
    memory: Option<String>,
    /// Find the largest value that fits, e.g. batch=1..512, with {batch} in the command
    vary: Option<String>,
    /// What must hold on every GPU, e.g. peak<22GiB; also reserved, allocated, headroom
    #[serde(default)]
    assert: Vec<String>,
    /// Stop the program after so many steps instead of when they repeat
    steps: Option<u32>,
    /// End the program after so many seconds; default: 600
    time_limit_seconds: Option<u32>,
}

impl Tool for Fit {
    const NAME: &'static str = "fit";
    const ABOUT: &'static str = "Check on which GPUs a program fits and the largest batch that does, without a GPU. RUNS \
         THE COMMAND on a simulated GPU, so the person must have allowed its first words when the server was started.";
    const RUNS_PROGRAM: bool = true;
    type Input = Input;
    type Answer = Answer;

    fn question(input: Input, rules: &Rules) -> Result<Question, Refusal> {
        rules.allowed.check(&input.command)?;
        let seconds = input.time_limit_seconds.unwrap_or(PROGRAM_SECONDS);
        let mut arguments = vec!["fit".to_owned(), "--json".to_owned()];
        arguments.push(format!("--time-limit={seconds}s"));
        arguments.extend(input.gpu.iter().map(|name| format!("--gpu={name}")));
        arguments.extend(input.gpus.map(|count| format!("--gpus={count}")));
        arguments.extend(input.memory.map(|size| format!("--memory={size}")));
        arguments.extend(input.vary.map(|range| format!("--vary={range}")));
        arguments.extend(input.assert.iter().map(|one| format!("--assert={one}")));
        arguments.extend(input.steps.map(|steps| format!("--steps={steps}")));
        arguments.push("--".to_owned());
        arguments.extend(input.command);
        Ok(Question { arguments, runs_program: true, answered: &[0, 3], ..rules.reading(ALL_RUNS) })
    }

    fn answer(document: &Value, room: Room) -> serde_json::Result<Answer> {
        answer::answer(document, room)
    }
}
