//! Readings of what is in use, one a line, as training loops print them.

use std::sync::LazyLock;

use regex::Regex;
use whyoom_trace::Bytes;

use super::amount::{binary, regex};

/// A line that starts with the number of a round, and has an amount behind it: `38/299   15.3G`, `step 200: 4.1 GB`.
static READING: LazyLock<Regex> = LazyLock::new(|| {
    regex(
        r"(?mi)^\W*(?:(?:epoch|step|iter\w*|batch|round)\W*(\d+)(?:/\d+)?|(\d+)/\d+)\b[^\n]{0,60}?(\d+(?:\.\d+)?)\s?(gi?b|mi?b|g|m)\b",
    )
});

/// Fewer readings are no series.
const LEAST: usize = 3;
/// So much must have been added, as a share of the first.
const NOTABLE: f64 = 0.1;

/// The first and the last reading of a series that only rises.
pub(super) fn rise(text: &str) -> Option<(Bytes, Bytes)> {
    let readings: Vec<(u64, Bytes)> = READING
        .captures_iter(text)
        .filter_map(|line| {
            let round = line.get(1).or(line.get(2))?.as_str().parse().ok()?;
            Some((round, binary(&line[3], &line[4])?))
        })
        .collect();
    let rises = readings.windows(2).all(|pair| pair[0].0 < pair[1].0 && pair[0].1 <= pair[1].1);
    let (first, last) = (readings.first()?.1, readings.last()?.1);
    let notable = last.minus(first).share_of(first) >= NOTABLE;
    (readings.len() >= LEAST && rises && notable).then_some((first, last))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_rises_again_and_again_is_growth() {
        let gib = |tenths: u64| Bytes((tenths << 30) / 10);
        let text = "38/299     15.0G\n42/299     16.0G\n70/299     18.0G\n";
        assert_eq!(rise(text), Some((gib(150), gib(180))));
        assert_eq!(rise("step 1: 4.0 GB\nstep 2: 5.0 GB\nstep 3: 4.5 GB"), None);
        assert_eq!(rise("1/9 4.0G\n2/9 5.0G"), None);
        // Lines of a program, as a profiler numbers them.
        assert_eq!(rise("85 368.0 MiB\n91 1477.0 MiB\n93 3041.0 MiB"), None);
        assert_eq!(rise("1/9 4.0G\n2/9 4.1G\n3/9 4.1G"), None);
    }
}
