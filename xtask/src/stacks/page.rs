//! `docs/dev/evidence/stacks.md`.

use std::{fmt::Write as _, fs, process::Command};

use anyhow::{Context, Result};
use harness::root;

use super::{
    cell::Cell,
    row::Row,
    sum::{BAR, Sum},
    table::NotTried,
};

const PAGE: &str = "docs/dev/evidence/stacks.md";

/// Writes the page anew.
pub(super) fn write(rows: &[Row<'_>], not_tried: &[NotTried], sum: Sum) -> Result<()> {
    let date = Command::new("date").args(["-u", "+%Y-%m-%d"]).output()?;
    let date = String::from_utf8(date.stdout)?;
    fs::write(root().join(PAGE), page(rows, not_tried, sum, date.trim())?).context(PAGE)
}

fn page(rows: &[Row<'_>], not_tried: &[NotTried], sum: Sum, date: &str) -> Result<String> {
    let mut page = format!(
        "# Programs that people run\n\n\
         Each program runs in four ways: in [the lab](../../lab.md); under [`whyoom fit`](../../fit.md); under [`whyoom run`](../../run.md)\n\
         on a simulated GPU that is too small, where the verdict must name the cause; and with [the pool](../../pool.md).\n\
         Models have random weights. A peak is green within 5 % of the arithmetic. A program is green if the lab,\n\
         `fit` and `run` are. `cargo xtask stacks programs --bless` writes this page and fails below {BAR} green programs.\n\n\
         On {date}, on a simulated GPU: {sum}.\n\n\
         | program | GPUs | peak by hand | lab | fit | run, OOM | pool |\n|---|---|---|---|---|---|---|\n"
    );
    for row in rows {
        let program = row.program;
        let (peak, cells) = (whyoom_trace::Bytes(program.peak.bytes), cells(row));
        writeln!(
            page,
            "| {} | {} x {} | {peak} | {cells} |",
            program.what, program.gpus, program.gpu
        )?;
    }
    page.push_str("\n## What is not green\n\n| program | way | why |\n|---|---|---|\n");
    for row in rows {
        for (way, cell) in row.cells.iter().filter(|(_, cell)| !cell.is_green()) {
            writeln!(
                page,
                "| {} | {} | {} |",
                row.program.what,
                way.name(),
                escaped(cell.words())
            )?;
        }
    }
    for NotTried { what, why } in not_tried {
        writeln!(page, "| {what} | not tried | {} |", escaped(why))?;
    }
    page.push_str("\n## The arithmetic\n\n| program | peak |\n|---|---|\n");
    for row in rows {
        writeln!(page, "| {} | {} |", row.program.what, escaped(&row.program.peak.formula))?;
    }
    Ok(page)
}

fn cells(row: &Row<'_>) -> String {
    let cells = row.cells.iter().map(|(_, cell)| match cell {
        Cell::Red { .. } => "**red**".to_owned(),
        Cell::Green { .. } => cell.to_string(),
    });
    cells.collect::<Vec<_>>().join(" | ")
}

/// In a cell of a table.
fn escaped(words: &str) -> String {
    words.replace('|', "\\|").replace('\n', " ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stacks::table::read;

    #[test]
    fn what_is_red_is_told_with_its_reason() {
        let table = read().unwrap();
        let red = |_| Ok(Cell::Red { seconds: 2.0, why: "a | b".to_owned() });
        let rows = [Row::of(&table.programs[0], red).unwrap()];
        let not_tried = [NotTried { what: "x".to_owned(), why: "no wheel".to_owned() }];
        let page = page(&rows, &not_tried, Sum::of(&rows, 1), "2026-11-17").unwrap();
        assert!(
            page.contains(
                "0 of 2 green in lab, fit and run (0 of them with the pool too), 1 red, 1 not tried"
            ),
            "{page}"
        );
        assert!(page.contains("| x | not tried | no wheel |"), "{page}");
        assert!(page.contains("| lab | a \\| b |") && page.contains("**red**"), "{page}");
    }
}
