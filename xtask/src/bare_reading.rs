//! What reading a recording takes where nothing is made of it: the least that any command can take.

use std::{path::Path, time::Instant};

use anyhow::{Result, ensure};
use whyoom_recording::{Recording, Unresolved};
use whyoom_trace::{Event, EventSink, Tables};

/// One pass over a recording.
pub(crate) struct BareReading {
    pub(crate) events: u64,
    pub(crate) seconds: f64,
}

impl BareReading {
    /// How many times as long something took.
    pub(crate) fn ratio(&self, seconds: f64) -> f64 {
        seconds / self.seconds
    }

    /// The same in words.
    pub(crate) fn times(&self, seconds: f64) -> String {
        format!("{:.2} times", self.ratio(seconds))
    }
}

/// Reads a recording and counts its events. The better of two passes counts: the first finds the files on the disk.
pub(crate) fn read_barely(folder: &Path) -> Result<BareReading> {
    let mut best: Option<BareReading> = None;
    for _ in 0..2 {
        let (mut counted, started) = (Counted(0), Instant::now());
        let recording = Recording::open(folder)?;
        recording.read(&mut Unresolved, &mut Tables::default(), &mut counted)?;
        let pass = BareReading { events: counted.0, seconds: started.elapsed().as_secs_f64() };
        ensure!(pass.events > 0 && pass.seconds > 0.0, "nothing was read");
        best = Some(match best {
            Some(best) if best.seconds <= pass.seconds => best,
            _ => pass,
        });
    }
    best.ok_or_else(|| anyhow::anyhow!("nothing was read"))
}

struct Counted(u64);

impl EventSink for Counted {
    fn event(&mut self, _: &Event, _: &Tables) {
        self.0 += 1;
    }
}
