//! The tests of all crates, built for another processor and run in an emulator.

use anyhow::{Context, Result, ensure};
use harness::{Architecture, root, zig_variables};

use super::system::System;

/// Tests that the emulator cannot run, with the reason. qemu 7.2 was tried.
const LEFT_OUT: &[(&str, &str)] = &[
    (
        "package(whyoom-lab-core) and test(/^backing::tests::(a_copy_of_what|zeros_reach)/)",
        "the emulator takes advice on memory (madvise) and does nothing",
    ),
    (
        "package(whyoom-recording) and test(/^fork::a_(child_cannot|guard_knows)/)",
        "likewise: memory that a child finds empty (MADV_WIPEONFORK)",
    ),
    ("package(whyoom-recorder) and test(=a_forked_child_has_a_part_of_its_own)", "likewise"),
    (
        "package(whyoom-recorder) and test(/::what_the_program_sets_later_is_told$/)",
        "the emulator has no process_vm_readv",
    ),
    (
        "package(whyoom-stacks) and test(=memory::tests::an_unmapped_address_is_no_fault)",
        "likewise",
    ),
    (
        "package(whyoom-stacks) and test(=a_stack_that_is_not_the_threads_is_read_with_care)",
        "likewise",
    ),
    ("package(whyoom-pool) and test(/^the_c(pp)?_header$/)", "this machine's C compiler"),
    (
        "package(whyoom-stacks) and test(=libraries_can_take_each_others_place)",
        "this machine's C compiler",
    ),
    (
        "package(whyoom-stacks) and test(=python_frames_are_what_python_says)",
        "this machine's Python",
    ),
    ("package(whyoom-redact) and test(/::nothing_takes_long_or_panics$/)", "a limit in seconds"),
    (
        "package(whyoom-exports) and test(/^(parquet|test_trace)::tests::(the_schema|every_format)/)",
        "a quarter of an hour each",
    ),
    (
        "package(/^whyoom-(agent|archive|fleet|incident|judge|logs)$/)",
        "not in the wheel; and the emulator has no openat2",
    ),
    (
        "package(whyoom-files) and test(/::below_a_folder_no_link_is_followed$/)",
        "the emulator has no openat2",
    ),
    ("package(whyoom-mcp) and test(/^folders::/)", "the emulator has no openat2"),
    ("package(whyoom-bounded)", "the emulator itself needs the memory that is limited"),
    ("package(whyoom)", "starts the command hundreds of times, at seconds each"),
];

/// Runs them: how many, and how many were left out.
pub(super) fn run(architecture: Architecture) -> Result<String> {
    let left_out: Vec<String> =
        LEFT_OUT.iter().map(|(filter, _)| format!("not ({filter})")).collect();
    let mut nextest = System::emulated(architecture)?.command(env!("CARGO"));
    nextest.args([
        "nextest",
        "run",
        "--workspace",
        "--exclude",
        "xtask",
        "--exclude",
        "whyoom-tests",
    ]);
    nextest.args(["--locked", "--no-fail-fast", "--cargo-quiet", "--status-level", "fail"]);
    nextest.args(["--target", &architecture.triple()]).envs(zig_variables(architecture)?);
    if !left_out.is_empty() {
        nextest.args(["-E", &left_out.join(" and ")]);
    }
    let ended = nextest.current_dir(root()).output()?;
    let said = String::from_utf8_lossy(&ended.stderr);
    ensure!(ended.status.success(), "{said}");
    let summary =
        said.lines().find_map(|line| line.split_once("] ").filter(|_| line.contains("Summary [")));
    let (_, summary) = summary.context("nextest has no summary")?;
    for (filter, why) in LEFT_OUT {
        println!("not emulated: {filter}: {why}");
    }
    println!("{}, emulated: {}", architecture.name(), summary.trim());
    Ok(format!("{} on {}", summary.trim(), architecture.name()))
}
