//! What the three monitors showed, as docs/dev/evidence/who-peers.md keeps it.

use anyhow::{Context, Result, ensure};
use harness::root;

const PAGE: &str = "docs/dev/evidence/who-peers.md";

const HEAD: &str = "\
# Comparison with GPU monitors

This table shows what `whyoom who`, nvitop 1.7.2 (`nvitop --once`) and gpustat 1.1.1 (`gpustat --show-all
--show-full-cmd`) print in nine situations. `cargo xtask who peers --bless` creates each situation on a
simulated GPU and writes this page.

\"Lists it\" means that the monitor lists the process. \"Says\" quotes the words next to the process that
describe the problem. \"Does not report it\" means that the output contains no such words. The MPS server
and its control program are stand-ins with the same names. The process in uninterruptible sleep is the
parent of a vfork, which SIGKILL terminates.

| situation | whyoom who | nvitop | gpustat |
|---|---|---|---|
";

/// One situation.
pub(super) struct Row {
    pub(super) situation: &'static str,
    pub(super) whyoom: String,
    pub(super) nvitop: String,
    pub(super) gpustat: String,
}

/// The whole page.
pub(super) fn markdown(rows: &[Row]) -> String {
    let line = |row: &Row| {
        let cells = [row.situation, &row.whyoom, &row.nvitop, &row.gpustat];
        format!("| {} |\n", cells.map(|cell| cell.replace('|', "\\|")).join(" | "))
    };
    rows.iter().map(line).fold(HEAD.to_owned(), |page, line| page + &line)
}

/// Sees that the page is as it was; writes it where `WHYOOM_BLESS` is 1.
pub(super) fn keep(page: &str) -> Result<()> {
    let path = root().join(PAGE);
    if std::env::var("WHYOOM_BLESS").is_ok_and(|bless| bless == "1") {
        std::fs::write(&path, page)?;
    }
    let kept = std::fs::read_to_string(&path).with_context(|| PAGE)?;
    ensure!(kept == page, "{PAGE} is out of date: cargo xtask who peers --bless");
    Ok(())
}
