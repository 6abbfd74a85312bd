//! Other real clients: cuda-bindings and cudarc for the driver, nvitop, gpustat and nvidia-ml-py for
//! NVML, and every fault on demand as one of them sees it.

use std::collections::BTreeMap;

use anyhow::{Context, Result, ensure};
use harness::{Build, Check, Held, Trial, environment, root, text};
use serde::Deserialize;

/// A client, the lab that it needs, and how many checks it makes at the least: one that makes none
/// shows nothing.
struct Client {
    name: &'static str,
    lab: &'static [&'static str],
    program: Program,
    checks: u64,
}

enum Program {
    /// A file of `tests/scenarios/clients`, which counts its checks by family.
    Script(&'static str),
    /// The fault, of which `faults.py` knows what must be seen.
    Fault(&'static str),
    /// A program of the build.
    Built(&'static str),
}

const TWO: &[&str] = &["--gpus", "2"];

const CLIENTS: &[Client] = &[
    client("driver_api", TWO, Program::Script("driver_api.py"), 265),
    client("monitors", TWO, Program::Script("monitors.py"), 34),
    client("cudarc", TWO, Program::Built("whyoom-lab-client"), 54),
    fault("fail", &["--fault", "fail=3", "--memory", "8GiB"], 1),
    fault("ecc", &["--fault", "ecc", "--memory", "8GiB"], 1),
    fault("orphan", &["--fault", "orphan=1GiB", "--memory", "8GiB"], 2),
    fault("ghost", &["--fault", "ghost=1GiB", "--memory", "8GiB"], 2),
    fault("stuck", &["--fault", "stuck=1GiB", "--memory", "8GiB"], 2),
    fault("tenant", &["--fault", "tenant=1GiB@1s", "--memory", "8GiB"], 1),
    fault("slow-sync", &["--fault", "slow-sync=50ms", "--memory", "8GiB"], 1),
    fault("busy", &["--kernel", "nothing=busy:200ms", "--memory", "8GiB"], 6),
];

const fn client(
    name: &'static str,
    lab: &'static [&'static str],
    program: Program,
    checks: u64,
) -> Client {
    Client { name, lab, program, checks }
}

const fn fault(name: &'static str, lab: &'static [&'static str], checks: u64) -> Client {
    client(name, lab, Program::Fault(name), checks)
}

/// The line that each prints.
#[derive(Debug, Deserialize)]
struct Summary {
    suite: String,
    checks: u64,
    /// Only of those that count by family.
    families: Option<BTreeMap<String, u64>>,
    failed: Vec<String>,
    holds: bool,
}

pub(super) fn checks() -> Vec<Check> {
    let check = |client: &'static Client| {
        Check::new(format!("clients::{}", client.name), move || client.run())
    };
    CLIENTS.iter().map(check).collect()
}

impl Client {
    fn run(&self) -> Result<Held> {
        let summary: Summary = Trial::on(self.lab, &self.command()?).plain()?.figures()?;
        ensure!(summary.holds && summary.failed.is_empty(), "{summary:?}");
        let at_least = self.checks;
        ensure!(summary.checks >= at_least, "{} of {at_least} checks", summary.checks);
        if !matches!(self.program, Program::Built(_)) {
            let families = summary.families.context("it does not count by family")?;
            let counted: u64 = families.values().sum();
            ensure!(counted == summary.checks, "{families:?} are not {}", summary.checks);
        }
        let figure = format!("{} checks of {} hold", summary.checks, summary.suite);
        Ok(Held::new(figure).count("checks", summary.checks))
    }

    fn command(&self) -> Result<Vec<String>> {
        let script = |name: &str| {
            let python = text(&environment("clients")?.join("bin/python"));
            anyhow::Ok(vec![python, text(&root().join("tests/scenarios/clients").join(name))])
        };
        match self.program {
            Program::Script(name) => script(name),
            Program::Fault(name) => Ok([script("faults.py")?, vec![name.to_owned()]].concat()),
            Program::Built(name) => Ok(vec![text(&Build::ready()?.file(name))]),
        }
    }
}
