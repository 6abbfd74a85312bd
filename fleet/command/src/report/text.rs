//! The report for a terminal: the answer first.

use std::fmt::Write as _;

use whyoom_redact::terminal::{Column as TableColumn, Table};

use super::{
    figures::{Figures, Share},
    words::counted,
};

const WIDTH: usize = 100;

/// The report.
pub(crate) fn text(figures: &Figures, rows: usize) -> String {
    let mut out = String::new();
    // Writing into a string does not fail.
    let _ = write(&mut out, figures, rows);
    out
}

fn write(out: &mut String, figures: &Figures, rows: usize) -> std::fmt::Result {
    if figures.incidents == 0 {
        return writeln!(out, "No incident in these days.");
    }
    let (incidents, nodes) = (figures.incidents, figures.nodes);
    writeln!(out, "{} on {}", counted(incidents, "incident"), counted(nodes, "node"))?;
    headline(out, figures)?;
    shares(out, "cause", &figures.causes, rows)?;
    if !figures.weeks.is_empty() {
        let mut table = Table::new([
            TableColumn::words("week of"),
            TableColumn::numbers("incidents"),
            TableColumn::words("most often"),
        ]);
        for week in &figures.weeks {
            let most = week.causes.iter().max_by_key(|(_, count)| **count);
            let most = most.map(|(cause, count)| format!("{cause} ({count})")).unwrap_or_default();
            table.row([week.monday.clone(), week.incidents.to_string(), most]);
        }
        print(out, &table)?;
    }
    let mut table = Table::new([
        TableColumn::words("namespace"),
        TableColumn::words("workload"),
        TableColumn::words("cause"),
        TableColumn::numbers("incidents"),
    ]);
    for one in figures.workloads.iter().take(rows) {
        table.row([
            one.namespace.clone(),
            one.workload.clone(),
            one.cause.clone(),
            one.incidents.to_string(),
        ]);
    }
    if !figures.workloads.is_empty() {
        print(out, &table)?;
    }
    shares(out, "user", &figures.users, rows)?;
    shares(out, "fix that was shown", &figures.remedies, rows)?;
    writeln!(
        out,
        "\nGPU-hours of the runs that ended so: at most {:.1}, known of {} of {} incidents",
        figures.gpu_hours_at_most, figures.gpu_hours_known_of, figures.incidents
    )?;
    writeln!(out, "Something was left on the GPU: {} incidents", figures.dirty)?;
    let repeating: u64 = figures.repeating.iter().map(|one| one.incidents).sum();
    writeln!(
        out,
        "The same workload with the same cause, three times or more: {repeating} incidents of {} workloads",
        figures.repeating.len()
    )
}

/// Which one change would have stopped most of it.
fn headline(out: &mut String, figures: &Figures) -> std::fmt::Result {
    if figures.with_history == 0 {
        return writeln!(
            out,
            "No incident has a history of allocations, so no setting could be tried by replay \
             (record with whyoom run, or let frameworks write snapshots)."
        );
    }
    let Some(best) = figures.served_by.first() else {
        return writeln!(
            out,
            "No setting that was tried by replay would have served a request that failed ({} of {} incidents have a \
             history)",
            figures.with_history, figures.incidents
        );
    };
    writeln!(
        out,
        "{} would have served {:.1} % of the requests that failed ({} of the {} incidents with a history; \
         {} have none)",
        best.name,
        100.0 * best.share,
        best.incidents,
        figures.with_history,
        figures.incidents - figures.with_history,
    )
}

fn shares(out: &mut String, heading: &str, all: &[Share], rows: usize) -> std::fmt::Result {
    if all.is_empty() {
        return Ok(());
    }
    let mut table = Table::new([
        TableColumn::words(heading),
        TableColumn::numbers("incidents"),
        TableColumn::numbers("share"),
    ]);
    for one in all.iter().take(rows) {
        let share = format!("{:.1} %", 100.0 * one.share);
        table.row([one.name.clone(), one.incidents.to_string(), share]);
    }
    print(out, &table)
}

fn print(out: &mut String, table: &Table) -> std::fmt::Result {
    writeln!(out)?;
    for line in table.lines(WIDTH) {
        writeln!(out, "{line}")?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use whyoom_incident::Incident;

    use super::*;

    fn said(has_history: bool, served_by: Option<&str>) -> String {
        let incident: Incident = serde_json::from_value(serde_json::json!({
            "id": "a", "time": 0, "cluster": "", "node": "n", "source": "snapshot", "file": "f", "cause": "growth",
            "strength": "explains", "headline": "h", "version": "0", "verdict": "{}",
            "has_history": has_history, "served_by": served_by,
        }))
        .unwrap();
        text(&Figures::of(&[incident]), 10)
    }

    #[test]
    fn no_history_is_not_the_same_as_no_setting() {
        assert!(said(false, None).contains("No incident has a history"));
        assert!(said(true, Some("")).contains("No setting that was tried by replay"));
        assert!(
            said(true, Some("stitch;expandable")).contains("expandable would have served 100.0 %")
        );
        assert_eq!(text(&Figures::of(&[]), 10), "No incident in these days.\n");
    }
}
