//! `--assert`: a memory regression test in one line.

use std::str::FromStr;

use anyhow::{Result, anyhow};
use whyoom_report::{FitAssertion, FitGpu, FitProcess};
use whyoom_trace::Bytes;

use crate::lab::size;

/// A figure, a comparison and an amount: `peak<22GiB`.
#[derive(Clone, Debug)]
pub(crate) struct Assertion {
    text: String,
    figure: Figure,
    /// Whether the figure must lie below the amount; otherwise above.
    below: bool,
    /// Whether it may be equal to it.
    or_equal: bool,
    amount: i64,
}

/// What can be asserted of a process.
#[derive(Clone, Copy, Debug)]
enum Figure {
    Peak,
    Reserved,
    Allocated,
    Headroom,
}

impl Figure {
    const NAMES: [(&str, Self); 4] = [
        ("peak", Self::Peak),
        ("reserved", Self::Reserved),
        ("allocated", Self::Allocated),
        ("headroom", Self::Headroom),
    ];

    fn of(self, process: &FitProcess) -> Option<i64> {
        let signed = |bytes: u64| i64::try_from(bytes).ok();
        match self {
            Self::Peak => signed(process.peak_bytes),
            Self::Reserved => signed(process.peak_reserved_bytes?),
            Self::Allocated => signed(process.peak_allocated_bytes?),
            Self::Headroom => Some(process.headroom_bytes),
        }
    }
}

impl FromStr for Assertion {
    type Err = anyhow::Error;

    fn from_str(text: &str) -> Result<Self> {
        let usage = || {
            anyhow!(
                "write it like peak<22GiB: peak, reserved, allocated or headroom, then < <= > >=, then an amount"
            )
        };
        let (name, rest) = text.split_at(text.find(['<', '>']).ok_or_else(usage)?);
        let figure = Figure::NAMES.iter().find(|(known, _)| *known == name.trim());
        let (below, rest) = (rest.starts_with('<'), &rest[1..]);
        let or_equal = rest.starts_with('=');
        let amount = rest.trim_start_matches('=').trim();
        let amount =
            if amount == "0" { 0 } else { size(amount).map_err(|error| anyhow!("{error}"))? };
        Ok(Self {
            text: text.to_owned(),
            figure: figure.ok_or_else(usage)?.1,
            below,
            or_equal,
            amount: i64::try_from(amount)?,
        })
    }
}

impl Assertion {
    /// Whether it holds for every process on every GPU; with the figure that comes nearest to the edge.
    pub(crate) fn judge(&self, gpus: &[FitGpu]) -> FitAssertion {
        let processes = gpus.iter().flat_map(|gpu| gpu.processes.iter().map(move |one| (gpu, one)));
        let mut figures: Vec<(i64, &str)> = processes
            .filter_map(|(gpu, process)| Some((self.figure.of(process)?, gpu.name)))
            .collect();
        figures.sort_unstable();
        let worst = if self.below { figures.last() } else { figures.first() };
        let found = worst.map_or("no such figure".to_owned(), |(figure, gpu)| {
            let sign = if *figure < 0 { "-" } else { "" };
            format!("{sign}{} on {gpu}", Bytes(figure.unsigned_abs()))
        });
        let holds = worst.is_some_and(|(figure, _)| self.holds(*figure));
        FitAssertion { text: self.text.clone(), holds, found }
    }

    fn holds(&self, figure: i64) -> bool {
        let strictly = if self.below { figure < self.amount } else { figure > self.amount };
        strictly || (self.or_equal && figure == self.amount)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_compares_as_written() {
        let holds =
            |text: &str, figure| text.parse::<Assertion>().expect("an assertion").holds(figure);
        assert!(holds("peak<1KiB", 1023) && !holds("peak<1KiB", 1024));
        assert!(holds("reserved <= 1KiB", 1024) && !holds("headroom>0", 0));
        assert!(holds("headroom>=0", 0) && !holds("headroom>=0", -1));
        for wrong in ["", "peak", "peak<", "depth<1GiB", "peak=1GiB", "peak<many"] {
            assert!(wrong.parse::<Assertion>().is_err(), "{wrong}");
        }
    }
}
