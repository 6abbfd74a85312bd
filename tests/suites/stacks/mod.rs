//! Programs that people run: what decides by values that it reads back ends, and training is what it was.

mod generation;
mod messages;
mod triton;

use std::collections::BTreeMap;

use anyhow::{Context, Result, ensure};
use harness::{Check, Held, Trial, environment, from_str, python, root, text};
use serde::{Deserialize, de::DeserializeOwned};

pub(crate) fn checks() -> Result<Vec<Check>> {
    let mut checks = vec![
        Check::new("generate::greedy", || generate(&[])),
        Check::new("generate::sampled", || generate(&["--sample"])),
        Check::new("training", training),
        Check::new("scaler", scaler),
        Check::new("operators", operators),
    ];
    checks.extend(generation::checks());
    checks.extend(messages::checks());
    checks.extend(triton::checks());
    Ok(checks)
}

fn script(name: &str) -> String {
    text(&root().join("tests/scenarios/stacks").join(name))
}

/// The interpreter with transformers.
fn transformers() -> Result<String> {
    Ok(text(&environment("transformers")?.join("bin/python")))
}

/// The last line that a program printed.
fn last<T: DeserializeOwned>(printed: &str) -> Result<T> {
    from_str(printed.lines().last().context("it printed nothing")?)
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Generated {
    shape: [u64; 2],
    calls: u64,
    first: u64,
}

/// `generate()` ends where the length says, whatever the batch, the prompt and the number of tokens.
fn generate(flags: &[&str]) -> Result<Held> {
    let cases = [(1, 8, 16), (4, 32, 24), (3, 7, 1)];
    for (batch, prompt, new) in cases {
        let numbers = [("--batch", batch), ("--prompt", prompt), ("--new", new)];
        let numbers =
            numbers.iter().flat_map(|(name, value)| [(*name).to_owned(), value.to_string()]);
        let command = [transformers()?, script("generate.py")];
        let command: Vec<String> = command
            .into_iter()
            .chain(numbers)
            .chain(flags.iter().map(|flag| (*flag).to_owned()))
            .collect();
        let ran = Trial::new("8GiB", &command).plain()?;
        let told: Generated = last(&ran.succeeded()?.stdout)?;
        ensure!(told.shape == [batch, prompt + new] && told.calls == new, "{told:?}");
        ensure!(told.first == 5, "the prompt is not what it was: {told:?}");
    }
    Ok(Held::new("as many tokens as were asked for, one model call each")
        .count("cases", cases.len() as u64))
}

/// What the allocator counts in training is the same with small values and without them.
fn training() -> Result<Held> {
    let counted = |within: &[&str]| -> Result<BTreeMap<String, u64>> {
        let command = [python()?, script("trains.py")];
        let command: Vec<String> =
            within.iter().map(|word| (*word).to_owned()).chain(command).collect();
        last(&Trial::new("8GiB", &command).plain()?.succeeded()?.stdout)
    };
    // Without the folder in Python's search path, nothing is overridden.
    let (with, without) = (counted(&[])?, counted(&["env", "-u", "PYTHONPATH"])?);
    ensure!(with == without, "{with:?} against {without:?}");
    Ok(Held::new("allocations and peaks are the same with small values computed and without"))
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Stepped {
    /// Of each parameter.
    steps: Vec<u64>,
}

/// Gradients that were never computed are finite: the optimizer steps, whatever the memory held before.
fn scaler() -> Result<Held> {
    let stepped = |within: &[&str]| -> Result<Vec<u64>> {
        let within = within.iter().map(|word| (*word).to_owned());
        let command: Vec<String> = within.chain([python()?, script("scaler.py")]).collect();
        let told: Stepped = last(&Trial::new("8GiB", &command).plain()?.succeeded()?.stdout)?;
        Ok(told.steps)
    };
    let (with, without) = (stepped(&[])?, stepped(&["env", "-u", "PYTHONPATH"])?);
    ensure!(with == [4, 4], "{with:?}");
    ensure!(without != with, "the memory held no other values: this shows nothing");
    Ok(Held::new(
        "a gradient scaler steps 4 of 4 times, which it would not by what the memory held",
    ))
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Compared {
    equal: u64,
    unequal: BTreeMap<String, u64>,
}

/// Operators whose results differ from the processor's, and why.
const EXCEPTIONS: &[(&str, &[&str])] = &[
    (
        "what is not initialized is not equal",
        &[
            "as_strided",
            "empty",
            "empty_like",
            "empty_permuted",
            "empty_strided",
            "new_empty",
            "new_empty_strided",
        ],
    ),
    ("random", &["randint_like"]),
    ("by way of floating-point values", &["__rpow__", "cov", "isclose", "masked.logsumexp", "pow"]),
    ("made of others inside the library", &["combinations", "mode", "slice"]),
    ("of a type that is not computed", &["hash_tensor"]),
    ("samples of more than 64 KiB", &["nn.functional.one_hot"]),
    ("the samples mix devices", &["tensor_split"]),
];

/// So many samples there are at least.
const LEAST_EQUAL: u64 = 2_880;

/// Operators on integers and booleans give the processor's results, but for exceptions that are named.
fn operators() -> Result<Held> {
    let command = [transformers()?, script("operators.py")];
    let told: Compared = last(&Trial::new("8GiB", &command).plain()?.succeeded()?.stdout)?;
    let known = |name: &str| EXCEPTIONS.iter().any(|(_, names)| names.contains(&name));
    let unknown: Vec<_> = told.unequal.iter().filter(|(name, _)| !known(name)).collect();
    ensure!(
        unknown.is_empty() && told.equal >= LEAST_EQUAL,
        "{} equal, not: {unknown:?}",
        told.equal
    );
    let exceptions: u64 = told.unequal.values().sum();
    Ok(Held::new(format!(
        "{} samples of PyTorch's own are equal to the processor's bit by bit; {exceptions} of {} named operators are not",
        told.equal,
        told.unequal.len()
    ))
    .count("samples", told.equal))
}
