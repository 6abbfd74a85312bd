//! The direction of dependencies between crates.

use cargo_metadata::Package;

/// Which crates of ours each may use. Tests and benchmarks are bound by it too.
const MAY_USE: &[(&str, &[&str])] = &[
    ("whyoom-trace", &[]),
    ("whyoom-files", &[]),
    ("whyoom-bounded", &[]),
    ("whyoom-link", &[]),
    ("whyoom-redact", &[]),
    ("whyoom-recording", &["whyoom-files", "whyoom-redact", "whyoom-trace"]),
    ("whyoom-stacks", &[]),
    ("whyoom-symbols", &["whyoom-files", "whyoom-recording", "whyoom-trace"]),
    (
        "whyoom-recorder",
        &["whyoom-link", "whyoom-recording", "whyoom-redact", "whyoom-stacks", "whyoom-trace"],
    ),
    ("whyoom-sources", &["whyoom-files", "whyoom-recording", "whyoom-redact", "whyoom-trace"]),
    ("whyoom-memory", &["whyoom-trace"]),
    ("whyoom-allocators", &["whyoom-trace"]),
    ("whyoom-causes", &["whyoom-allocators", "whyoom-memory", "whyoom-redact", "whyoom-trace"]),
    ("whyoom-exports", &["whyoom-memory", "whyoom-trace"]),
    // Events are for its tests.
    ("whyoom-diff", &["whyoom-memory", "whyoom-trace"]),
    ("whyoom-fit", &["whyoom-allocators", "whyoom-trace"]),
    ("whyoom-flight", &["whyoom-files", "whyoom-memory", "whyoom-sources", "whyoom-trace"]),
    ("whyoom-gpu", &[]),
    (
        "whyoom-doctor",
        &[
            "whyoom-allocators",
            "whyoom-files",
            "whyoom-gpu",
            "whyoom-lab-calibrate",
            "whyoom-trace",
        ],
    ),
    ("whyoom-pool", &["whyoom-allocators", "whyoom-gpu", "whyoom-link", "whyoom-trace"]),
    ("whyoom-node", &["whyoom-files", "whyoom-gpu", "whyoom-redact", "whyoom-trace"]),
    ("whyoom-tui", &["whyoom-files", "whyoom-gpu", "whyoom-node", "whyoom-redact", "whyoom-trace"]),
    ("whyoom-attach", &["whyoom-files"]),
    ("whyoom-mcp", &["whyoom-bounded", "whyoom-files", "whyoom-redact", "whyoom-trace"]),
    (
        "whyoom-report",
        &[
            "whyoom-causes",
            "whyoom-diff",
            "whyoom-memory",
            "whyoom-redact",
            "whyoom-sources",
            "whyoom-trace",
        ],
    ),
    (
        "whyoom-reading",
        &[
            "whyoom-allocators",
            "whyoom-causes",
            "whyoom-diff",
            "whyoom-files",
            "whyoom-flight",
            "whyoom-memory",
            "whyoom-recording",
            "whyoom-redact",
            "whyoom-report",
            "whyoom-sources",
            "whyoom-trace",
        ],
    ),
    (
        "whyoom-browser",
        &[
            "whyoom-causes",
            "whyoom-diff",
            "whyoom-reading",
            "whyoom-redact",
            "whyoom-report",
            "whyoom-sources",
            "whyoom-trace",
        ],
    ),
    (
        "whyoom",
        &[
            "whyoom-allocators",
            "whyoom-attach",
            "whyoom-causes",
            "whyoom-doctor",
            "whyoom-exports",
            "whyoom-files",
            "whyoom-diff",
            "whyoom-fit",
            "whyoom-flight",
            "whyoom-gpu",
            "whyoom-lab-calibrate",
            "whyoom-lab-core",
            "whyoom-mcp",
            "whyoom-memory",
            "whyoom-node",
            "whyoom-reading",
            "whyoom-recording",
            "whyoom-redact",
            "whyoom-report",
            "whyoom-sources",
            "whyoom-symbols",
            "whyoom-trace",
            "whyoom-tui",
        ],
    ),
    ("whyoom-incident", &[]),
    ("whyoom-logs", &["whyoom-files", "whyoom-sources"]),
    ("whyoom-archive", &["whyoom-files", "whyoom-incident"]),
    ("whyoom-judge", &["whyoom-bounded"]),
    (
        "whyoom-agent",
        &[
            "whyoom-archive",
            "whyoom-files",
            "whyoom-incident",
            "whyoom-judge",
            "whyoom-logs",
            "whyoom-redact",
        ],
    ),
    (
        "whyoom-fleet",
        &[
            "whyoom-agent",
            "whyoom-allocators",
            "whyoom-archive",
            "whyoom-causes",
            "whyoom-files",
            "whyoom-incident",
            "whyoom-judge",
            "whyoom-logs",
            "whyoom-redact",
        ],
    ),
    ("whyoom-lab-abi", &[]),
    ("whyoom-lab-core", &["whyoom-files", "whyoom-lab-ptx", "whyoom-trace"]),
    ("whyoom-lab-ptx", &[]),
    ("whyoom-lab-calibrate", &["whyoom-lab-core"]),
    ("whyoom-lab-cuda", &["whyoom-lab-abi", "whyoom-lab-core", "whyoom-link", "whyoom-trace"]),
    ("whyoom-lab-cudart", &["whyoom-lab-abi", "whyoom-link"]),
    ("whyoom-lab-nvml", &["whyoom-lab-abi", "whyoom-lab-core", "whyoom-link"]),
    ("whyoom-lab-cublas", &["whyoom-lab-abi", "whyoom-link"]),
    ("whyoom-lab-cublaslt", &["whyoom-lab-abi", "whyoom-link"]),
    ("whyoom-lab-cudart12", &["whyoom-lab-abi", "whyoom-link"]),
    ("whyoom-lab-cublas12", &["whyoom-lab-abi", "whyoom-link"]),
    ("whyoom-lab-cublaslt12", &["whyoom-lab-abi", "whyoom-link"]),
    ("whyoom-lab-cudnn", &["whyoom-lab-abi", "whyoom-link"]),
    ("whyoom-lab-nccl", &["whyoom-lab-abi", "whyoom-link"]),
    ("whyoom-lab-client", &[]),
    (
        "whyoom-tests",
        &[
            "whyoom-allocators",
            "whyoom-archive",
            "whyoom-causes",
            "whyoom-flight",
            "whyoom-incident",
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
const BINARIES: &[&str] = &["whyoom", "whyoom-fleet", "whyoom-lab-client", "whyoom-tests", "xtask"];

/// Counts the dependencies of a crate on others of ours; appends those that the table does not allow.
pub(super) fn check(package: &Package, wrong: &mut Vec<String>) -> usize {
    let name = package.name.as_str();
    let Some((_, allowed)) = MAY_USE.iter().find(|(known, _)| *known == name) else {
        wrong.push(format!("{name} is not in the table of xtask/src/arrows/crates.rs"));
        return 0;
    };
    let mut used = Vec::new();
    for dependency in &package.dependencies {
        let target = dependency.name.as_str();
        if MAY_USE.iter().any(|(known, _)| *known == target) {
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
    used.len()
}
