//! `cargo xtask arrows`: the direction of dependencies between crates.

use std::fs;

use anyhow::{Result, bail};
use cargo_metadata::MetadataCommand;

use harness::{Held, root};

/// Which crates of ours each may use. Tests and benchmarks are bound by it too.
const MAY_USE: &[(&str, &[&str])] = &[
    ("whyoom-trace", &[]),
    ("whyoom-files", &[]),
    ("whyoom-redact", &[]),
    ("whyoom-recording", &["whyoom-files", "whyoom-redact", "whyoom-trace"]),
    ("whyoom-stacks", &[]),
    ("whyoom-symbols", &["whyoom-files", "whyoom-recording", "whyoom-trace"]),
    ("whyoom-recorder", &["whyoom-recording", "whyoom-redact", "whyoom-stacks", "whyoom-trace"]),
    ("whyoom-sources", &["whyoom-files", "whyoom-recording", "whyoom-redact", "whyoom-trace"]),
    ("whyoom-memory", &["whyoom-trace"]),
    ("whyoom-allocators", &["whyoom-trace"]),
    ("whyoom-causes", &["whyoom-allocators", "whyoom-memory", "whyoom-trace"]),
    ("whyoom-exports", &["whyoom-memory", "whyoom-trace"]),
    // Events are for its tests.
    ("whyoom-fit", &["whyoom-allocators", "whyoom-trace"]),
    ("whyoom-gpu", &[]),
    ("whyoom-pool", &["whyoom-allocators", "whyoom-gpu", "whyoom-trace"]),
    ("whyoom-node", &["whyoom-files", "whyoom-gpu", "whyoom-redact", "whyoom-trace"]),
    ("whyoom-tui", &["whyoom-files", "whyoom-gpu", "whyoom-node", "whyoom-redact", "whyoom-trace"]),
    (
        "whyoom-report",
        &[
            "whyoom-causes",
            "whyoom-gpu",
            "whyoom-memory",
            "whyoom-node",
            "whyoom-redact",
            "whyoom-trace",
        ],
    ),
    (
        "whyoom",
        &[
            "whyoom-allocators",
            "whyoom-causes",
            "whyoom-exports",
            "whyoom-files",
            "whyoom-fit",
            "whyoom-gpu",
            "whyoom-lab-calibrate",
            "whyoom-lab-core",
            "whyoom-memory",
            "whyoom-node",
            "whyoom-recording",
            "whyoom-redact",
            "whyoom-report",
            "whyoom-sources",
            "whyoom-symbols",
            "whyoom-trace",
            "whyoom-tui",
        ],
    ),
    ("whyoom-lab-abi", &[]),
    ("whyoom-lab-core", &["whyoom-files", "whyoom-trace"]),
    ("whyoom-lab-calibrate", &["whyoom-lab-core"]),
    ("whyoom-lab-cuda", &["whyoom-lab-abi", "whyoom-lab-core", "whyoom-trace"]),
    ("whyoom-lab-cudart", &["whyoom-lab-abi"]),
    ("whyoom-lab-nvml", &["whyoom-lab-abi", "whyoom-lab-core"]),
    ("whyoom-lab-cublas", &["whyoom-lab-abi"]),
    ("whyoom-lab-cublaslt", &["whyoom-lab-abi"]),
    ("whyoom-lab-cudart12", &["whyoom-lab-abi"]),
    ("whyoom-lab-cublas12", &["whyoom-lab-abi"]),
    ("whyoom-lab-cublaslt12", &["whyoom-lab-abi"]),
    ("whyoom-lab-cudnn", &["whyoom-lab-abi"]),
    ("whyoom-lab-nccl", &["whyoom-files", "whyoom-lab-abi"]),
    ("whyoom-lab-client", &[]),
    (
        "whyoom-tests",
        &[
            "whyoom-allocators",
            "whyoom-causes",
            "whyoom-lab-core",
            "whyoom-memory",
            "whyoom-recording",
            "whyoom-sources",
            "whyoom-trace",
        ],
    ),
    (
        "xtask",
        &[
            "whyoom-tests",
            "whyoom-allocators",
            "whyoom-causes",
            "whyoom-lab-core",
            "whyoom-memory",
            "whyoom-recording",
            "whyoom-sources",
            "whyoom-symbols",
            "whyoom-trace",
        ],
    ),
];

/// Crates that only binaries may use: libraries have errors of their own.
const BINARIES_ONLY: &[&str] = &["anyhow", "clap"];
const BINARIES: &[&str] = &["whyoom", "whyoom-lab-client", "whyoom-tests", "xtask"];

pub(crate) fn run() -> Result<Held> {
    let metadata = MetadataCommand::new().current_dir(root()).no_deps().exec()?;
    let (mut arrows, mut wrong) = (0, Vec::new());
    for package in &metadata.packages {
        let name = package.name.as_str();
        let Some((_, allowed)) = MAY_USE.iter().find(|(known, _)| *known == name) else {
            wrong.push(format!("{name} is not in the table of xtask/src/arrows.rs"));
            continue;
        };
        let mut used = Vec::new();
        for dependency in &package.dependencies {
            let target = dependency.name.as_str();
            if MAY_USE.iter().any(|(known, _)| *known == target) {
                arrows += 1;
                used.push(target);
                if !allowed.contains(&target) {
                    wrong.push(format!("{name} → {target}"));
                }
            }
            if BINARIES_ONLY.contains(&target) && !BINARIES.contains(&name) {
                wrong.push(format!("{name} → {target}, which is for binaries"));
            }
        }
        println!("{name:<16} → {}", used.join(", "));
    }
    let causes = between_causes(&mut wrong)?;
    if !wrong.is_empty() {
        bail!("{}", wrong.join("; "));
    }
    let crates = metadata.packages.len();
    Ok(Held::new(format!(
        "{crates} crates, {arrows} arrows, all one way; {causes} causes, none uses another"
    )))
}

/// What two causes need is beside the catalogue: a cause file explains one thing and knows of no other cause.
fn between_causes(wrong: &mut Vec<String>) -> Result<usize> {
    let mut count = 0;
    for entry in fs::read_dir(root().join("crates/causes/src/catalogue"))? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if name == "mod.rs" {
            continue;
        }
        count += 1;
        let text = fs::read_to_string(&path)?;
        // A file's own tests look at the file.
        let code = text.replace("use super::*;", "");
        if code.contains("super::") || code.contains("catalogue::") {
            wrong.push(format!("the cause {name} uses another cause"));
        }
    }
    Ok(count)
}
