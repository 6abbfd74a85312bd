//! Sizes and durations as people type them.

use std::time::Duration;

use anyhow::{Context, Result, bail};

/// 1 TiB: sixteen such GPUs still find room among a process's addresses.
const LARGEST: f64 = (1_u64 << 40) as f64;
/// Who types less without a unit does not mean bytes.
const SMALLEST_BARE: f64 = (1_u64 << 20) as f64;
/// A day, so that no sum of such times overflows the clock.
const LONGEST: Duration = Duration::from_secs(24 * 60 * 60);

/// `8GiB`, `512MiB`, `24GB`, `1048576`.
pub(crate) fn size(text: &str) -> Result<u64> {
    let (amount, unit) = split(text)?;
    let factor: u64 = match unit.to_ascii_lowercase().as_str() {
        "" | "b" => 1,
        "kib" | "ki" | "k" => 1 << 10,
        "mib" | "mi" | "m" => 1 << 20,
        "gib" | "gi" | "g" => 1 << 30,
        "tib" | "ti" | "t" => 1 << 40,
        "kb" => 1_000,
        "mb" => 1_000_000,
        "gb" => 1_000_000_000,
        _ => bail!("'{unit}' is not a unit of memory; use GiB, MiB, KiB, GB or MB"),
    };
    let bytes = amount * factor as f64;
    if unit.is_empty() && bytes < SMALLEST_BARE {
        bail!("'{text}' has no unit; use {text}GiB, or {text}MiB");
    }
    if !(1.0..=LARGEST).contains(&bytes) {
        bail!("'{text}' is not a valid amount of GPU memory");
    }
    Ok(bytes as u64)
}

/// `2s`, `50ms`.
pub(crate) fn duration(text: &str) -> Result<Duration> {
    let (amount, unit) = split(text)?;
    let seconds = match unit {
        "s" => amount,
        "ms" => amount / 1e3,
        "us" => amount / 1e6,
        _ => bail!("'{text}' is not a time; use 2s, 50ms or 10us"),
    };
    let duration = Duration::try_from_secs_f64(seconds).context("that is not a valid duration")?;
    if duration > LONGEST {
        bail!("'{text}' is longer than a day");
    }
    Ok(duration)
}

fn split(text: &str) -> Result<(f64, &str)> {
    let digits = text.find(|letter: char| letter != '.' && !letter.is_ascii_digit());
    let (amount, unit) = text.split_at(digits.unwrap_or(text.len()));
    if text.is_empty() {
        bail!("the amount is missing, as in 8GiB or 50ms");
    }
    let amount =
        amount.parse().with_context(|| format!("'{text}' does not begin with a number"))?;
    Ok((amount, unit.trim()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_as_people_type_them() {
        let read = |text| size(text).ok();
        assert_eq!(read("8GiB"), Some(8 << 30));
        assert_eq!(read("1.5 gib"), Some(3 << 29));
        assert_eq!(read("24GB"), Some(24_000_000_000));
        assert_eq!(read("1048576"), Some(1 << 20));
        assert_eq!(read("8Gi"), Some(8 << 30));
        for wrong in ["", "GiB", "-1GiB", "8", "8 elephants", "0", "2TiB"] {
            assert_eq!(read(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn durations_need_a_unit() {
        assert_eq!(duration("50ms").ok(), Some(Duration::from_millis(50)));
        assert!(duration("50").is_err());
        assert!(duration("99999999999s").is_err());
    }
}
