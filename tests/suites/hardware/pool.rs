//! The pool on devices that cannot do all it would like.

use anyhow::{Context, Result, ensure};
use harness::{Held, Trial};
use serde::Deserialize;

use super::{Row, script};

const POOL: &[&str] = &["--pool"];

pub(super) const ROWS: &[Row] = &[
    ("peers::copies", copies),
    ("mapping::refused", refused_mapping),
    ("pages::none", || without_pages("no-virtual-memory", "does not support virtual memory")),
    ("pages::coarse", || without_pages("granularity=4MiB", "in units of 4194304 bytes")),
    ("pages::fine", fine_pages),
    ("graphs::registration", registration),
];

/// What two_gpus.py says.
#[derive(Debug, Deserialize)]
struct TwoGpus {
    copied: bool,
    backend: String,
}

/// Copies between devices that do not reach each other work as without the pool.
fn copies() -> Result<Held> {
    let trial = script("two_gpus.py", &["--gpus", "2", "--memory", "4GiB", "--fault", "no-peers"])?;
    let plain: TwoGpus = trial.plain()?.figures()?;
    ensure!(plain.copied && plain.backend == "native", "{plain:?}");
    let pooled: TwoGpus = trial.recorded_with("hardware/copies", POOL)?.ran.figures()?;
    ensure!(pooled.copied && pooled.backend == "pluggable", "{pooled:?}");
    Ok(Held::new("a tensor goes to a GPU without peer access, with the pool as without"))
}

/// What refused.py says.
#[derive(Debug, Deserialize)]
struct Refused {
    caught: String,
    /// What was reserved after the failure, and what the smaller request got.
    reserved_bytes: u64,
    smaller_bytes: u64,
}

/// A mapping that the device refuses is out of memory, and nothing of the request stays.
fn refused_mapping() -> Result<Held> {
    // Of 512 pages the fourth is refused, and so is the next attempt's first.
    let lab = ["--memory", "4GiB", "--fault", "fail-map=5-6"];
    let said: Refused =
        script("refused.py", &lab)?.recorded_with("hardware/refused", POOL)?.ran.figures()?;
    ensure!(said.caught == "OutOfMemoryError", "{said:?}");
    ensure!(said.reserved_bytes <= 4 << 20 && said.smaller_bytes == 64 << 20, "{said:?}");
    Ok(Held::new("the request gives everything back, and a smaller one is served"))
}

/// What allocates.py says.
#[derive(Debug, Deserialize)]
struct Allocates {
    allocated: u64,
    backend: String,
}

fn allocates(fault: &str, name: &str) -> Result<(Allocates, String)> {
    let trial = script("allocates.py", &["--memory", "4GiB", "--fault", fault])?;
    let ran = trial.recorded_with(&format!("hardware/{name}"), POOL)?.ran;
    Ok((ran.figures()?, ran.stderr))
}

/// Where memory cannot be mapped by pages, one line says so, and PyTorch and CUDA programs keep what they had.
fn without_pages(fault: &str, why: &str) -> Result<Held> {
    let (said, stderr) = allocates(fault, fault)?;
    ensure!(said.allocated == 4 << 20 && said.backend == "native", "{said:?}");
    let lines: Vec<&str> = stderr.lines().filter(|line| line.contains("the pool is off")).collect();
    ensure!(lines.len() == 1 && lines[0].contains(why), "{stderr}");
    let program = harness::CProgram::new("tests/scenarios/hardware/asks.c")?.built()?;
    let words = [program.to_string_lossy().into_owned(), "dlsym".to_owned()];
    let trial = Trial::on(&["--memory", "4GiB", "--fault", fault], &words);
    let plain = trial.plain()?.succeeded()?.stdout.clone();
    let ran = trial.recorded_with(&format!("hardware/{fault}-c"), POOL)?.ran;
    ensure!(ran.succeeded()?.stdout == plain, "{ran:?} in place of {plain}");
    let lines = ran.stderr.lines().filter(|line| line.contains("the pool is off")).count();
    ensure!(lines == 1, "{}", ran.stderr);
    Ok(Held::new(format!("one line ({why}), and the programs run as without")))
}

/// Smaller units are none of the pool's business.
fn fine_pages() -> Result<Held> {
    let (said, stderr) = allocates("granularity=64KiB", "fine")?;
    ensure!(said.backend == "pluggable" && said.allocated == 4 << 20, "{said:?}: {stderr}");
    Ok(Held::new("units of 64 KiB make up the pool's pages"))
}

/// NCCL is told not to register buffers in graphs, unless the user said otherwise.
fn registration() -> Result<Held> {
    let shell = ["sh", "-c", "printf %s \"$NCCL_GRAPH_REGISTER\""];
    let trial = Trial::new("4GiB", &shell);
    let told = trial.recorded_with("hardware/nccl", POOL)?.ran;
    let own = trial.with("NCCL_GRAPH_REGISTER", "1").recorded_with("hardware/nccl-own", POOL)?.ran;
    let said = (told.stdout.as_str(), own.stdout.as_str());
    ensure!(said == ("0", "1"), "{said:?}");
    told.succeeded().context("the shell")?;
    Ok(Held::new("NCCL_GRAPH_REGISTER=0, and a value of one's own stays"))
}
