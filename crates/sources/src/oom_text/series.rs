//! Readings of what is in use, one a line, as training loops print them.

use std::{collections::BTreeMap, sync::LazyLock};

use regex::Regex;
use whyoom_trace::Bytes;

use super::{
    amount::{binary, regex},
    figures::{Role, figures, first},
};

/// A line that starts with the number of a round, and has an amount behind it: `38/299   15.3G`, `step 200: 4.1 GB`.
static READING: LazyLock<Regex> = LazyLock::new(|| {
    regex(
        r"(?mi)^\W*(?:(?:epoch|step|iter\w*|batch|round)\W*(\d+)(?:/\d+)?|(\d+)/\d+)\b[^\n]{0,60}?(\d+(?:\.\d+)?)\s?(gi?b|mi?b|g|m)\b",
    )
});

/// Fewer readings are no series.
const LEAST: usize = 3;
/// What a reading of free memory has in it, and how long its line is at most.
const FREE: &str = "free";
const LONGEST_LINE: usize = 200;
/// So much must have been added, as a share of the first.
const NOTABLE: f64 = 0.1;

/// The first and the last reading of a series that only rises.
pub(super) fn rise(text: &str) -> Option<(Bytes, Bytes)> {
    let readings = READING.captures_iter(text).filter_map(|line| {
        let round = line.get(1).or(line.get(2))?.as_str().parse().ok()?;
        Some((round, binary(&line[3], &line[4])?))
    });
    first_and_last(&readings.collect::<Vec<_>>())
}

/// What was free at first and at last, where lines that are alike but for their numbers tell it, and it only
/// falls, to less than half: `frame 100: free 8620 MiB`.
pub(super) fn fall_of_free(text: &str) -> Option<(Bytes, Bytes)> {
    let mut readings = BTreeMap::<String, Vec<Bytes>>::new();
    for line in text.lines().filter(|line| line.len() < LONGEST_LINE && line.contains(FREE)) {
        if let Some(free) = first(&figures(line), Role::Free) {
            readings.entry(shape(line)).or_default().push(free);
        }
    }
    let most = readings.into_values().max_by_key(Vec::len).filter(|all| all.len() >= LEAST)?;
    let falls = most.windows(2).all(|pair| pair[0] >= pair[1]);
    let (first, last) = (*most.first()?, *most.last()?);
    (falls && last.0 < first.0 / 2).then_some((first, last))
}

/// A line without its numbers.
fn shape(line: &str) -> String {
    line.chars().filter(|c| !c.is_ascii_digit() && *c != '.').collect()
}

/// The first and the last of readings, each with the number of its round, that only rise.
fn first_and_last(readings: &[(u64, Bytes)]) -> Option<(Bytes, Bytes)> {
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

    #[test]
    fn what_is_free_may_be_told_instead() {
        let gib = |count: u64| Bytes(count << 30);
        for text in [
            "frame 0: free 8192 MiB\nframe 100: free 4096 MiB\nframe 200: free 1024 MiB\n",
            "frame 0: free 8192 MB of 9216 MB\nframe 9: free 4096 MB of 9216 MB\nframe 10: free 1024 MB of 9216 MB",
            "[0] cudaMemGetInfo: free=8589934592 total=9663676416\n\
             [1] cudaMemGetInfo: free=4294967296 total=9663676416\n\
             [2] cudaMemGetInfo: free=1073741824 total=9663676416\n",
        ] {
            assert_eq!(fall_of_free(text), Some((gib(8), gib(1))), "{text}");
        }
        for steady in [
            "step 1: free 9 GB\nstep 2: free 8 GB\nstep 3: free 8 GB\n",
            "step 1: free 9 GB\nstep 2: free 2 GB\nstep 3: free 4 GB\n",
        ] {
            assert_eq!(fall_of_free(steady), None, "{steady}");
        }
    }
}
