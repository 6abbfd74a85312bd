//! What a device was like over the last minutes.

use std::collections::VecDeque;

use whyoom_gpu::Device;
use whyoom_trace::Bytes;

/// Ten minutes at one sample a second: more than the widest terminal shows.
const CAPACITY: usize = 600;

/// One device at one moment, as shares of what it has.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Sample {
    /// Memory in use, 0 to 1.
    pub(crate) memory: f64,
    /// How busy it was, 0 to 1; `None` where the driver does not say.
    pub(crate) busy: Option<f64>,
}

impl Sample {
    /// What a device's answer says.
    pub(crate) fn of(device: &Device) -> Self {
        let memory = Bytes(device.memory.used).share_of(Bytes(device.memory.total));
        let busy = device.utilization.map(|busy| f64::from(busy.gpu.min(100)) / 100.0);
        Self { memory: memory.clamp(0.0, 1.0), busy }
    }
}

/// The last samples of one device, the newest last.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct History {
    samples: VecDeque<Sample>,
}

impl History {
    pub(crate) fn push(&mut self, sample: Sample) {
        if self.samples.len() == CAPACITY {
            self.samples.pop_front();
        }
        self.samples.push_back(sample);
    }

    /// The last `count` values of what `pick` takes from a sample, the newest last.
    pub(crate) fn last(
        &self,
        count: usize,
        pick: impl Fn(&Sample) -> Option<f64>,
    ) -> Vec<Option<f64>> {
        let skip = self.samples.len().saturating_sub(count);
        self.samples.iter().skip(skip).map(pick).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keeps_the_newest() {
        let mut history = History::default();
        for count in 0..CAPACITY + 5 {
            history.push(Sample { memory: count as f64, busy: None });
        }
        let last = history.last(2, |sample| Some(sample.memory));
        assert_eq!(last, [Some((CAPACITY + 3) as f64), Some((CAPACITY + 4) as f64)]);
        assert_eq!(history.last(10_000, |sample| sample.busy).len(), CAPACITY);
    }
}
