//! Figures of several measurements: nothing comes of none, nor of what is no number.

use anyhow::{Context, Result, ensure};
use whyoom_trace::Bytes;

/// The one in the middle.
pub fn median(values: &[f64]) -> Result<f64> {
    let sorted = sorted(values)?;
    Ok(sorted[sorted.len() / 2])
}

/// The largest.
pub fn worst(values: &[f64]) -> Result<f64> {
    sorted(values)?.last().copied().context("nothing was measured")
}

fn sorted(values: &[f64]) -> Result<Vec<f64>> {
    ensure!(!values.is_empty(), "nothing was measured");
    ensure!(values.iter().all(|value| value.is_finite()), "not all are numbers: {values:?}");
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    Ok(sorted)
}

/// The most memory that this process has had resident.
pub fn peak_resident() -> Result<Bytes> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).context("no VmHWM")?;
    let kib: u64 = line.split_whitespace().nth(1).context("no figure")?.parse()?;
    Ok(Bytes(kib << 10))
}

#[cfg(test)]
mod tests {
    use super::{median, worst};

    #[test]
    fn nothing_comes_of_nothing() {
        for wrong in [&[][..], &[1.0, f64::NAN], &[f64::INFINITY]] {
            assert!(median(wrong).is_err() && worst(wrong).is_err(), "{wrong:?}");
        }
        assert_eq!(median(&[3.0, -1.0, 2.0]).unwrap(), 2.0);
        assert_eq!(worst(&[-3.0, -1.0, -2.0]).unwrap(), -1.0);
    }
}
