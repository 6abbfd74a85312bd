//! When a program is ended, and why.

use std::{
    ffi::OsStr,
    fs, io,
    path::Path,
    time::{Duration, Instant, SystemTime},
};

/// Once every process has reported, the program is given so long to end by itself: the one that was ended may be a
/// worker that others wait for.
const AFTER_LAST_REPORT: Duration = Duration::from_secs(5);
/// Processes that have not reported by then, after another did, will not.
const BETWEEN_REPORTS: Duration = Duration::from_secs(60);

/// How a program came to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ending {
    ByItself,
    /// It was ended because all that it had to tell was told.
    AfterReports,
    /// It was ended because it took longer than this.
    TimeLimit(Duration),
}

/// What decides whether a program is ended.
pub(super) struct Watched<'a> {
    folder: &'a Path,
    started: Instant,
    limit: Duration,
}

impl<'a> Watched<'a> {
    pub(super) fn new(folder: &'a Path, limit: Duration) -> Self {
        Self { folder, started: Instant::now(), limit }
    }

    pub(super) fn ends(&self) -> Option<Ending> {
        if self.started.elapsed() > self.limit {
            return Some(Ending::TimeLimit(self.limit));
        }
        let reports = Reports::read(self.folder).ok()?;
        let since = reports.last_stop?.elapsed().ok()?;
        let patience = if reports.missing == 0 { AFTER_LAST_REPORT } else { BETWEEN_REPORTS };
        (since > patience).then_some(Ending::AfterReports)
    }
}

/// Files that processes left in the folder of a run.
#[derive(Debug, Default)]
struct Reports {
    /// Processes that used a GPU and have not reported.
    missing: usize,
    /// When the last one reported that was ended on the way.
    last_stop: Option<SystemTime>,
}

impl Reports {
    fn read(folder: &Path) -> io::Result<Self> {
        let (mut started, mut reported) = (0_usize, 0);
        let mut last_stop = None;
        for entry in fs::read_dir(folder)?.flatten() {
            match entry.path().extension().and_then(OsStr::to_str) {
                Some("started") => started += 1,
                Some("json") => reported += 1,
                Some("stopped") => last_stop = last_stop.max(Some(entry.metadata()?.modified()?)),
                _ => {}
            }
        }
        Ok(Self { missing: started.saturating_sub(reported), last_stop })
    }
}
