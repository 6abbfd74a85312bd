//! Triton's kernels in the lab, against Triton's own interpreter on the processor.

use std::{collections::BTreeMap, process::Command};

use anyhow::{Result, ensure};
use harness::{Check, Held, Trial, empty_folder, must_succeed, python, text};
use serde::Deserialize;

use super::{last, script};

pub(super) fn checks() -> Vec<Check> {
    vec![
        Check::new("triton::kernels::t4", || kernels("t4")),
        Check::new("triton::kernels::deep-rtx-4090", || kernels("rtx-4090")),
        Check::new("triton::kernels::b200", || kernels("b200")),
        Check::new("triton::limits", limits),
        Check::new("triton::wild", wild),
    ]
}

/// Kernels whose results differ, because sums are added up in another order or powers are approximated: by so
/// many units of the last place at most.
const APART: &[(&str, u64)] = &[("float_sums", 8), ("softmax", 32)];

/// Launches of each kernel, of random shapes.
const ROUNDS: &str = "8";
const KERNELS: usize = 13;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Compared {
    launches: u64,
    equal: u64,
    apart: u64,
}

/// A multiplication and an addition stay two, as in the interpreter.
const FUSION: &str = "TRITON_DEFAULT_FP_FUSION";

fn kernels(gpu: &str) -> Result<Held> {
    let folder = empty_folder(&format!("triton-{gpu}"))?;
    let (results, program) = (text(&folder.join("results.pt")), script("triton_kernels.py"));
    let mut interpreted = Command::new(python()?);
    interpreted.args([&program, "--rounds", ROUNDS, "--save", &results]);
    must_succeed(interpreted.env("TRITON_INTERPRET", "1").env(FUSION, "0"))?;
    let command = [&python()?, &program, "--rounds", ROUNDS, "--compare", &results];
    let ran = Trial::on(&["--gpu", gpu], &command)
        .with(FUSION, "0")
        .with("TRITON_CACHE_DIR", folder.join("cache"))
        .plain()?;
    let told: BTreeMap<String, Compared> = last(&ran.succeeded()?.stdout)?;
    ensure!(told.len() == KERNELS, "other kernels than known: {told:?}");
    for (name, Compared { launches, equal, apart }) in &told {
        let allowed = APART.iter().find(|(known, _)| known == name).map_or(0, |(_, most)| *most);
        ensure!(*apart <= allowed, "{name}: {equal} of {launches} are equal, {apart} apart");
    }
    let launches: u64 = told.values().map(|kernel| kernel.launches).sum();
    let equal: u64 = told.values().map(|kernel| kernel.equal).sum();
    let apart = told.values().map(|kernel| kernel.apart).max().unwrap_or(0);
    Ok(Held::new(format!(
        "{equal} of {launches} launches of {KERNELS} kernels are equal to Triton's interpreter bit by bit, \
         the others at most {apart} units of the last place apart"
    ))
    .count("launches", launches))
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Limits {
    small: i64,
    large: i64,
    #[serde(rename = "small floats")]
    small_floats: f64,
    #[serde(rename = "large floats")]
    large_floats: f64,
    #[serde(rename = "tensor cores")]
    tensor_cores: f64,
    captured: i64,
    compiled: Vec<u64>,
}

fn program(parts: &[&str]) -> Result<Trial> {
    let folder = empty_folder(&format!("triton-{}", parts[0]))?;
    // A trial leaves out what the lab says on standard error.
    let shell = ["sh", "-c", r#"exec "$@" 2>&1"#, "-"].map(str::to_owned);
    let mut command: Vec<String> =
        shell.into_iter().chain([python()?, script("triton_limits.py")]).collect();
    command.extend(parts.iter().flat_map(|part| ["--part".to_owned(), (*part).to_owned()]));
    Ok(Trial::new("8GiB", &command)
        .with("TRITON_CACHE_DIR", folder.join("cache"))
        .with("TORCHINDUCTOR_CACHE_DIR", folder.join("inductor")))
}

/// What is too large, uses tensor cores or is replayed does nothing, and the program goes on.
fn limits() -> Result<Held> {
    let parts =
        ["small", "large", "small floats", "large floats", "tensor cores", "captured", "compiled"];
    let ran = program(&parts)?.plain()?;
    let told: Limits = last(&ran.succeeded()?.stdout)?;
    ensure!(
        told.small == 1000 && told.small_floats == 2.5,
        "small ones are not computed: {told:?}"
    );
    ensure!(told.large == 0 && told.large_floats == 0.0, "large ones are not skipped: {told:?}");
    ensure!(told.tensor_cores == 0.0 && told.captured == 0, "{told:?}");
    ensure!(told.compiled == [64, 64], "a compiled model does not train: {told:?}");
    Ok(Held::new(
        "large launches, tensor cores and replayed graphs do nothing; a compiled model trains",
    ))
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Wild {
    beyond: String,
}

/// A kernel that writes where no memory is does not, and the program goes on: its index may be of a kernel that
/// computed nothing.
fn wild() -> Result<Held> {
    let ran = program(&["beyond"])?.plain()?;
    let told: Wild = last(&ran.succeeded()?.stdout)?;
    let line = "the kernel write_behind was ended: it accessed memory that is not there.";
    ensure!(told.beyond == "nothing" && ran.stdout.contains(line), "{told:?}:\n{}", ran.stdout);
    Ok(Held::new("a wild access ends the launch with a line, and not the program"))
}
