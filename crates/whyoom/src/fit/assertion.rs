//! `--assert`: a memory regression test in one line.

use whyoom_report::{FitAssertion, FitGpu, FitObstacle, FitProcess};
use whyoom_trace::Bytes;

use crate::comparison::{self, Comparison};

/// What must hold of a process: `peak<22GiB`.
pub(crate) type Assertion = Comparison<Figure>;

/// What can be asserted of a process.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Figure {
    Peak,
    Reserved,
    Allocated,
    Headroom,
}

impl comparison::Figure for Figure {
    const NAMES: &'static [(&'static str, Self)] = &[
        ("peak", Self::Peak),
        ("reserved", Self::Reserved),
        ("allocated", Self::Allocated),
        ("headroom", Self::Headroom),
    ];
    const EXAMPLE: &'static str = "peak<22GiB";
}

impl Figure {
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

impl Assertion {
    /// Whether it holds for every process on every GPU; with the figure that comes nearest to the edge.
    pub(crate) fn judge(&self, gpus: &[FitGpu]) -> FitAssertion {
        let processes = gpus.iter().flat_map(|gpu| gpu.processes.iter().map(move |one| (gpu, one)));
        let mut figures: Vec<(i64, &str)> = processes
            .filter_map(|(gpu, process)| Some((self.figure.of(process)?, gpu.name)))
            .collect();
        figures.sort_unstable();
        let worst = if self.below { figures.last() } else { figures.first() };
        let found = worst.map_or("no such value".to_owned(), |(figure, gpu)| {
            let sign = if *figure < 0 { "-" } else { "" };
            format!("{sign}{} on {gpu}", Bytes(figure.unsigned_abs()))
        });
        // A device without an answer, or with half of one, bears nothing out.
        let known = gpus.iter().all(is_known);
        let holds = known && worst.is_some_and(|(figure, _)| self.holds(*figure));
        let found = if known { found } else { format!("{found}; not all GPUs have an answer") };
        FitAssertion { text: self.text.clone(), holds, found }
    }
}

fn is_known(gpu: &FitGpu) -> bool {
    let unfinished = |process: &FitProcess| process.obstacle == Some(FitObstacle::Unfinished);
    gpu.failure.is_none() && !gpu.processes.iter().any(unfinished)
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
