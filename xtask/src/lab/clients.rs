//! Other real clients: cuda-bindings and cudarc for the driver, nvitop, gpustat and nvidia-ml-py for
//! NVML, and every fault on demand as one of them sees it.

use anyhow::{Context, Result, ensure};

use super::bench::Bench;
use crate::tools::{environment, root};

/// Each fault with the flag that asks for it; the script knows what must then be seen.
const FAULTS: &[(&str, &[&str])] = &[
    ("fail", &["--fault", "fail=3"]),
    ("ecc", &["--fault", "ecc"]),
    ("orphan", &["--fault", "orphan=1GiB"]),
    ("ghost", &["--fault", "ghost=1GiB"]),
    ("stuck", &["--fault", "stuck=1GiB"]),
    ("tenant", &["--fault", "tenant=1GiB@1s"]),
    ("slow-sync", &["--fault", "slow-sync=50ms"]),
    ("busy", &["--kernel", "nothing=busy:200ms"]),
];

pub(super) fn run(bench: &Bench) -> Result<String> {
    let python = environment("clients")?.join("bin/python").display().to_string();
    let script =
        |name: &str| root().join("tests/scenarios/clients").join(name).display().to_string();
    let two = ["--gpus", "2"];
    let mut checks = 0;
    for name in ["driver_api.py", "monitors.py"] {
        checks += checked(bench, &two, &[python.clone(), script(name)])?;
    }
    let cudarc = bench.binaries.join("whyoom-lab-client").display().to_string();
    checks += checked(bench, &two, &[cudarc])?;
    for (fault, flags) in FAULTS {
        let flags = [*flags, &["--memory", "8GiB"]].concat();
        checks += checked(bench, &flags, &[python.clone(), script("faults.py"), (*fault).into()])?;
    }
    Ok(format!("{checks} checks by three clients and three monitors hold"))
}

fn checked(bench: &Bench, flags: &[&str], command: &[String]) -> Result<u64> {
    let figures = bench.run(flags, command)?.figures().with_context(|| command.join(" "))?;
    ensure!(figures["holds"] == true, "{figures}");
    let checks = figures["checks"].as_u64().context("no count of checks")?;
    println!("{:<40} {checks} checks", figures["suite"].as_str().unwrap_or_default());
    Ok(checks)
}
