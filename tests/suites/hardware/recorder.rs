//! The recorder beside other libraries that stand before the driver, and after captures that fail.

use std::process::Command;

use anyhow::{Result, ensure};
use harness::{
    CProgram, Held, Trial, device_runs, must_succeed, once, root, scratch, stamp_of, text,
};
use serde::Deserialize;
use whyoom_allocators::Step;
use whyoom_trace::PoolId;

use super::{Row, script};

pub(super) const ROWS: &[Row] = &[
    ("quota::dlsym", || quota("dlsym")),
    ("quota::proc-address", || quota("proc")),
    ("captures::unjoined", unjoined),
    ("refusals::graph", || refused_call("graph", "graph-nodes=1MiB", "instantiating a CUDA graph")),
    ("refusals::map", || refused_call("map", "fail-map=1", "mapping physical memory")),
];

/// Loads a library behind what the lab loads: `sh -c BEHIND LIBRARY COMMAND…`
const BEHIND: &str = r#"LD_PRELOAD="$LD_PRELOAD:$0" exec "$@""#;
const QUOTA: u64 = 1 << 30;

/// What asks.c says.
#[derive(Debug, PartialEq, Deserialize)]
struct Asks {
    /// Blocks of 64 MiB.
    blocks: u64,
    refused: i32,
}

/// A quota that a preloaded library keeps is kept under `whyoom run`.
fn quota(way: &str) -> Result<Held> {
    let source = root().join("tests/scenarios/hardware/quota.c");
    let library = scratch("programs")?.join("libquota.so");
    once("quota", &stamp_of(std::slice::from_ref(&source))?, || {
        let mut compiler = Command::new("cc");
        compiler.args(["-O1", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", "-o"]);
        must_succeed(compiler.arg(&library).arg(&source).arg("-ldl"))
    })?;
    let program = text(&CProgram::new("tests/scenarios/hardware/asks.c")?.built()?);
    let mut trial = Trial::new("4GiB", &[program, way.to_owned()]);
    trial = trial.with("WHYOOM_QUOTA", QUOTA.to_string());
    trial.within =
        ["sh", "-c", BEHIND].map(str::to_owned).into_iter().chain([text(&library)]).collect();
    let expected = Asks { blocks: 16, refused: 2 };
    let plain: Asks = trial.plain()?.figures()?;
    ensure!(plain == expected, "without the recorder: {plain:?}");
    let recorded: Asks = trial.recorded(&format!("hardware/quota-{way}"))?.ran.figures()?;
    ensure!(recorded == expected, "recorded: {recorded:?}");
    Ok(Held::new("a quota of 1 GiB is 16 blocks of 64 MiB, recorded or not"))
}

/// What refuses.c says.
#[derive(Debug, Deserialize)]
struct Refuses {
    answer: i32,
}

/// A call that is no allocation and finds no memory is a failure, and the verdict names it.
fn refused_call(way: &str, fault: &str, purpose: &str) -> Result<Held> {
    let program = text(&CProgram::new("tests/scenarios/hardware/refuses.c")?.built()?);
    let lab = ["--memory", "4GiB", "--fault", fault];
    let trial = Trial::on(&lab, &[program, way.to_owned()]);
    let recorded = trial.recorded(&format!("hardware/refuses-{way}"))?;
    let said: Refuses = recorded.ran.figures()?;
    ensure!(said.answer == 2, "{said:?}");
    let why = recorded.verdict()?;
    ensure!(why.incidents_seen == 1, "{} failures", why.incidents_seen);
    let evidence = why.verdict.evidence.to_string();
    ensure!(evidence.contains(purpose), "{}: {evidence}", why.verdict.headline);
    Ok(Held::new(format!("{}: {}", why.verdict.cause, why.verdict.headline)))
}

/// What unjoined.py says.
#[derive(Debug, Deserialize)]
struct Unjoined {
    failed_with: String,
}

/// After a capture that failed because a stream did not join, memory is nobody's graph's.
fn unjoined() -> Result<Held> {
    let recorded = script("unjoined.py", &["--memory", "4GiB"])?.recorded("hardware/unjoined")?;
    let said: Unjoined = recorded.ran.figures()?;
    ensure!(said.failed_with.contains("unjoined"), "{said:?}");
    let runs = device_runs(&recorded.folder)?;
    let in_graph = |step: &&Step| match step {
        Step::Alloc { request, .. } => request.pool != PoolId(0),
        _ => false,
    };
    let in_graphs = runs.iter().flat_map(|run| &run.workload.steps).filter(in_graph).count();
    ensure!(in_graphs == 0, "{in_graphs} blocks count as a graph's");
    Ok(Held::new("what is allocated after a failed capture belongs to no graph"))
}
