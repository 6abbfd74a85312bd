//! The tables, for a terminal and for a page.

use whyoom_redact::terminal::{Column, Table, grouped};
use whyoom_trace::Bytes;

use super::{
    answer::{FitFrontier, FitGeneration, FitGpu, FitLargest, FitObstacle, FitProcess, FitVary},
    words::{BARELY, amount, short_name, signed},
};
use crate::text::printable;

/// Every process on every GPU. The columns have the names that `--assert` takes.
pub(super) fn table(gpus: &[FitGpu]) -> Table {
    let many = gpus.iter().any(|gpu| gpu.processes.len() > 1);
    let rank = many.then(|| Column::words("rank"));
    let first = [Column::words("GPU"), Column::numbers("memory").expendable(1)];
    let figures = [
        Column::numbers("allocated").expendable(3),
        Column::numbers("reserved").expendable(2),
        Column::numbers("non-PyTorch").expendable(4),
        Column::numbers("headroom"),
        Column::words("fits"),
    ];
    let mut table = Table::new(first.into_iter().chain(rank).chain(figures));
    for gpu in gpus {
        if gpu.failure.is_some() {
            let total = Bytes(gpu.total_bytes).to_string();
            let rank = many.then(|| "-".to_owned());
            let figures = ["-", "-", "-", "-", "no answer"].map(str::to_owned);
            let first = [short_name(gpu.name).to_owned(), total];
            table.row(first.into_iter().chain(rank).chain(figures));
        }
        for (index, process) in gpu.processes.iter().enumerate() {
            let (name, total) = match index {
                0 => (short_name(gpu.name).to_owned(), Bytes(gpu.total_bytes).to_string()),
                _ => (String::new(), String::new()),
            };
            let rank = many.then(|| printable(&process.rank));
            let figures = [
                amount(process.peak_allocated_bytes),
                amount(process.peak_reserved_bytes),
                Bytes(process.outside_bytes).to_string(),
                signed(process.headroom_bytes),
                verdict(process).to_owned(),
            ];
            table.row([name, total].into_iter().chain(rank).chain(figures));
        }
    }
    table
}

fn verdict(process: &FitProcess) -> &'static str {
    match process {
        FitProcess { fits: true, releases_cache: false, .. } => "yes",
        FitProcess { fits: true, .. } => "barely",
        FitProcess { fits_with: Some(_), .. } => "with a setting",
        FitProcess { obstacle: Some(FitObstacle::Unfinished), .. } => "not known",
        _ => "no",
    }
}

pub(super) fn largest_table(vary: &FitVary) -> Table {
    let mut table = Table::new([
        Column::words("GPU"),
        Column::numbers(printable(&vary.name)),
        Column::numbers("reserved").expendable(1),
        Column::numbers("room").expendable(2),
        Column::words("determined by").expendable(3),
    ]);
    vary.largest.iter().for_each(|largest| table.row(cells(largest)));
    table
}

/// A line for each device and combination of the other parameters.
pub(super) fn frontier_table(frontier: &FitFrontier) -> Table {
    let by = frontier.by.iter().map(|name| Column::numbers(printable(name)));
    let found = [
        Column::words("GPU"),
        Column::numbers(printable(&frontier.name)),
        Column::numbers("reserved").expendable(1),
        Column::numbers("room").expendable(2),
        Column::words("determined by").expendable(3),
    ];
    let mut table = Table::new(by.chain(found));
    for row in &frontier.rows {
        for (index, largest) in row.largest.iter().enumerate() {
            let value = |value: &u64| if index == 0 { value.to_string() } else { String::new() };
            table.row(row.values.iter().map(value).chain(cells(largest)));
        }
    }
    table
}

/// Up to how many tokens fit.
pub(super) fn generation_table(generation: &FitGeneration) -> Table {
    let mut table = Table::new([
        Column::words("GPU"),
        Column::numbers("room").expendable(1),
        Column::numbers("new tokens that fit"),
    ]);
    for largest in &generation.largest {
        let tokens = match largest.new_tokens {
            all if all >= generation.new_tokens => format!("all {}", grouped(all)),
            some => grouped(some),
        };
        let room = Bytes(largest.room_bytes).to_string();
        table.row([short_name(largest.gpu).to_owned(), room, tokens]);
    }
    table
}

fn cells(largest: &FitLargest) -> [String; 5] {
    [
        short_name(largest.gpu).to_owned(),
        largest.value.map_or("none".to_owned(), |value| value.to_string()),
        amount(largest.peak_reserved_bytes),
        Bytes(largest.room_bytes).to_string(),
        sureness(largest),
    ]
}

fn sureness(largest: &FitLargest) -> String {
    let word = match largest {
        FitLargest { confirmed: false, run: true, .. } => "run; the next value was not run",
        FitLargest { confirmed: false, .. } => "predicted, not run",
        FitLargest { is_last: true, run: true, .. } => "run; the last value of the range",
        FitLargest { is_last: true, .. } => "a run in another row; the last value of the range",
        FitLargest { implied: true, run: true, .. } => {
            "run; the next value does not fit in another row"
        }
        FitLargest { implied: true, value: None, .. } => {
            "a run in another row; not even the first value fits"
        }
        FitLargest { implied: true, .. } => "runs in other rows",
        FitLargest { value: None, .. } => "run; not even the first value fits",
        FitLargest { releases_cache: true, .. } => return format!("run; {BARELY}"),
        _ => "run; the next value does not fit",
    };
    word.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn process(rank: &str, fits: bool) -> FitProcess {
        FitProcess {
            rank: rank.to_owned(),
            device: 0,
            peak_allocated_bytes: Some(8_429_000_000),
            peak_reserved_bytes: Some(8_690_000_000),
            outside_bytes: 143_130_000,
            peak_bytes: 8_833_130_000,
            headroom_bytes: 3_660_000_000,
            fits,
            releases_cache: false,
            fits_with: None,
            obstacle: None,
        }
    }

    fn gpu(name: &'static str, processes: Vec<FitProcess>) -> FitGpu {
        FitGpu { name, total_bytes: 12 << 30, fits: true, ran_on: name, failure: None, processes }
    }

    #[test]
    fn a_narrow_table_keeps_what_decides() {
        let gpus = [
            gpu("NVIDIA GeForce RTX 3060", vec![process("0", true)]),
            gpu("Tesla T4", vec![process("0", false)]),
        ];
        let first = |width: usize| table(&gpus).lines(width)[..2].join("\n");
        assert_eq!(
            first(usize::MAX),
            "GPU                  memory  allocated  reserved  non-PyTorch  headroom  fits\n\
             GeForce RTX 3060  12.00 GiB   7.85 GiB  8.09 GiB   136.50 MiB  3.41 GiB  yes"
        );
        assert_eq!(
            first(60),
            "GPU                  memory  reserved  headroom  fits\n\
             GeForce RTX 3060  12.00 GiB  8.09 GiB  3.41 GiB  yes"
        );
        assert_eq!(first(40), "GPU               headroom  fits\nGeForce RTX 3060  3.41 GiB  yes");
        let ranks = [gpu("Tesla T4", vec![process("0", true), process("1", true)])];
        assert!(table(&ranks).lines(40)[0].contains("rank"));
    }
}
