//! What a comparison of two runs needs beside the peak: what stays from iteration to iteration, which is what is live
//! when one begins, and the peak of each phase. Two runs may peak in other phases; then it is these that compare.

use whyoom_trace::{Address, Bytes};

use crate::{
    block::{ByAddress, LiveBlock},
    iterations::Iterations,
    live_copy::LiveCopy,
    peak::Peak,
    signs::Phase,
    totals::Totals,
};

/// What was live when the last iteration began, and when most was allocated in each phase.
#[derive(Debug, Default)]
pub(crate) struct Steady {
    totals: Totals,
    copy: LiveCopy,
    /// The boundary that was copied last: who found it, and how many that had found by then.
    copied: Option<(usize, u64)>,
    phases: [Peak; Phase::ALL.len()],
}

impl Steady {
    /// Notes that a block came, changed or went.
    pub(crate) fn note(&mut self, address: Address, block: Option<LiveBlock>) {
        self.copy.note(address, block);
        self.phases.iter_mut().for_each(|peak| peak.note(address, block));
    }

    pub(crate) fn relabel(&mut self, address: Address, block: LiveBlock) {
        self.copy.relabel(address, block);
        self.phases.iter_mut().for_each(|peak| peak.relabel(address, block));
    }

    /// Takes the present after an allocation in a phase.
    pub(crate) fn rise(
        &mut self,
        phase: Phase,
        (totals, time): (Totals, whyoom_trace::Time),
        live: &ByAddress<LiveBlock>,
    ) {
        self.phases[phase as usize].rise(totals, time, live);
    }

    /// The sums and blocks when most was allocated in a phase; nothing where nothing was.
    pub(crate) fn peak_in(&self, phase: Phase) -> Option<(Totals, &ByAddress<LiveBlock>)> {
        let peak = &self.phases[phase as usize];
        (peak.totals.allocated > Bytes::ZERO).then(|| (peak.totals, peak.blocks()))
    }

    /// Takes the present where an iteration has just begun.
    pub(crate) fn look(
        &mut self,
        iterations: &Iterations,
        totals: Totals,
        live: &ByAddress<LiveBlock>,
    ) {
        let newest = iterations.newest();
        if newest.is_some() && newest != self.copied {
            (self.copied, self.totals) = (newest, totals);
            self.copy.update(live);
        }
    }

    /// The sums and blocks when the last iteration began; nothing where none did.
    pub(crate) fn state(&self) -> Option<(Totals, &ByAddress<LiveBlock>)> {
        self.copied.map(|_| (self.totals, self.copy.blocks()))
    }

    /// History starts now, with what is live; iterations are counted anew.
    pub(crate) fn restart(&mut self) {
        self.copied = None;
        self.phases.iter_mut().for_each(Peak::restart);
    }
}
