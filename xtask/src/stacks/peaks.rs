//! Peaks against the arithmetic.

use std::collections::BTreeMap;

use anyhow::{Context, Result, ensure};
use harness::documents::FitProcess;
use serde_json::Value;
use whyoom_trace::Bytes;

use super::table::{Counts, Program};

/// So far may a peak be from the arithmetic, which leaves small things out.
const TOLERANCE: f64 = 0.05;

/// Ranks are alike: one that skipped its work must not hide behind another, and none may be missing.
pub(super) fn judged(program: &Program, peaks: &[u64]) -> Result<String> {
    if !program.launcher.is_empty() {
        let (seen, ranks) = (peaks.len(), usize::from(program.gpus));
        ensure!(seen == ranks, "{seen} of {ranks} ranks have a peak");
    }
    let said: Vec<String> = peaks.iter().map(|peak| near(program, *peak)).collect::<Result<_>>()?;
    said.into_iter().next().context("there is no peak")
}

/// The peaks that programs printed: of each rank, that on its fullest GPU.
pub(super) fn of_reports(reports: &[Value]) -> Vec<u64> {
    reports.iter().filter_map(of_report).collect()
}

fn of_report(report: &Value) -> Option<u64> {
    let all = report.get("peaks").and_then(Value::as_array);
    let one = report.get("allocated").into_iter();
    all.into_iter().flatten().chain(one).filter_map(Value::as_u64).max()
}

/// Of each process that has a peak, that on its fullest GPU.
pub(super) fn of_processes<'f>(
    program: &Program,
    processes: impl Iterator<Item = &'f FitProcess>,
) -> Vec<u64> {
    let mut of_ranks = BTreeMap::new();
    for process in processes {
        let peak = match program.counts {
            Counts::Allocated => process.peak_allocated_bytes,
            Counts::Driver => Some(process.peak_bytes),
        };
        if let Some(peak) = peak {
            let fullest: &mut u64 = of_ranks.entry(&process.rank).or_default();
            *fullest = peak.max(*fullest);
        }
    }
    of_ranks.into_values().collect()
}

fn near(program: &Program, peak: u64) -> Result<String> {
    let hand = program.peak.bytes;
    let said = format!("{} ({} by hand)", Bytes(peak), Bytes(hand));
    #[expect(clippy::cast_precision_loss, reason = "a share of bytes")]
    let apart = peak.abs_diff(hand) as f64 / hand as f64;
    ensure!(apart <= TOLERANCE, "{said}");
    Ok(said)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::stacks::table::read;

    fn program() -> Program {
        read().unwrap().programs.swap_remove(0)
    }

    fn process(rank: &str, device: u16, allocated: Option<u64>) -> FitProcess {
        let of_driver = allocated.unwrap_or_default() + 1;
        let fields = json!({
            "rank": rank, "device": device, "peak_allocated_bytes": allocated, "peak_reserved_bytes": null,
            "outside_bytes": 1, "peak_bytes": of_driver, "headroom_bytes": 0, "fits": true,
            "releases_cache": false, "fits_with": null, "obstacle": null,
        });
        serde_json::from_value(fields).unwrap()
    }

    #[test]
    fn a_peak_must_be_near_the_arithmetic() {
        let program = program();
        let hand = program.peak.bytes;
        let seen = |peaks: &[u64]| judged(&program, peaks).is_ok();
        assert!(seen(&[hand]) && seen(&[hand / 100 * 104]));
        assert!(!seen(&[hand / 100 * 94]) && !seen(&[hand / 100 * 106]));
        assert!(!seen(&[hand, hand / 2]), "one rank did half");
        assert!(!seen(&[]));
    }

    #[test]
    fn no_rank_of_a_launcher_may_be_missing() {
        let launcher = vec!["torch.distributed.run".to_owned()];
        let program = Program { launcher, gpus: 2, ..program() };
        let hand = program.peak.bytes;
        assert!(judged(&program, &[hand, hand]).is_ok());
        assert!(judged(&program, &[hand]).is_err());
    }

    #[test]
    fn the_fullest_gpu_of_each_process_counts() {
        let report = json!({"allocated": 1, "peaks": [1, 7, 3]});
        assert_eq!(of_reports(&[report, json!({"shape": []}), json!(5)]), [7]);
        let seen = [process("0", 0, Some(1)), process("0", 1, Some(7)), process("1", 0, Some(5))];
        let all = seen.into_iter().chain([process("2", 0, None)]).collect::<Vec<_>>();
        assert_eq!(of_processes(&program(), all.iter()), [7, 5]);
        let of_driver = Program { counts: Counts::Driver, ..program() };
        assert_eq!(of_processes(&of_driver, all.iter()), [8, 6, 1]);
    }
}
