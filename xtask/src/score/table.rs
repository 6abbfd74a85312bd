//! The score as a terminal shows it.

use harness::score::SETS;

use super::{
    figures::{COLUMNS, Figures},
    matrix::Matrix,
    row::Row,
};

/// What is wrong with an answer, a line each.
pub(super) fn faults(row: &Row) -> Vec<String> {
    let Some(scored) = &row.scored else {
        return vec![format!("could not be tried: {}", row.failed.as_deref().unwrap_or("?"))];
    };
    let faults = scored.grade.faults.iter();
    faults.flat_map(|(part, all)| all.iter().map(move |one| format!("{part}: {one}"))).collect()
}

/// Everything, when all are known.
pub(super) fn print(rows: &[Row]) {
    println!("\n{}", Matrix::of(rows).text());
    let mut table = vec![COLUMNS.map(str::to_owned)];
    for set in SETS {
        table.push(Figures::of(rows.iter().filter(|row| row.case.set == *set)).row(set));
    }
    table.push(Figures::of(rows.iter()).row("all"));
    for [set, cause, bytes, advice, alarms, printed, truths, seconds] in table {
        println!(
            "{set:<12} {cause:<22} {bytes:<17} {advice:<24} {alarms:<13} {printed:<26} {truths:<35} {seconds}"
        );
    }
}
