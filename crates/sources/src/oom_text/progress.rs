//! The progress bar of a training loop, as tqdm prints it.

use std::sync::LazyLock;

use regex::Regex;

use super::amount::regex;

/// A label, the bar, and the steps done: `Epoch 0:  12%|█▏   | 3/25 [00:04<00:32`.
static BAR: LazyLock<Regex> =
    LazyLock::new(|| regex(r"([^\r\n|\[]*?)\s*\d{1,3}%\|[^|\r\n]*\|\s*(\d{1,9})/\d{1,9}\s*\["));
/// Labels of a training loop. Other bars are of files that are loaded, data that is prepared, or an evaluation.
static TRAINING: LazyLock<Regex> = LazyLock::new(|| {
    regex(r"(?i)^(?:(?:train(?:ing)?|epochs?|steps?|iter(?:ation)?s?)[\s\d/]*)?$")
});
static EPOCH: LazyLock<Regex> = LazyLock::new(|| regex(r"(?i)\bepoch\s*(\d+)"));

/// Returns how many steps the last progress bar of a training loop counts as done. `None` if there is no such bar, or
/// if it stands at the start of an epoch that may not be the first.
pub(super) fn steps_done(text: &str) -> Option<u64> {
    let found =
        BAR.captures_iter(text).filter(|found| TRAINING.is_match(label(&found[1]))).last()?;
    let steps: u64 = found[2].parse().ok()?;
    let epoch = EPOCH.captures(&found[1]).and_then(|epoch| epoch[1].parse::<u64>().ok());
    match epoch {
        // Some count epochs from 0, some from 1.
        Some(epoch) if epoch > 0 && steps == 0 => None,
        _ => Some(steps),
    }
}

/// Returns the words before a bar, without the mark of a rank.
fn label(text: &str) -> &str {
    text.rsplit(']').next().unwrap_or(text).trim_matches([' ', '\t', ':'])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_of_training_loops_are_read() {
        for (text, expected) in [
            ("  0%|          | 0/233 [00:00<?, ?it/s]\nTraceback", Some(0)),
            ("  0%| | 0/9 [00:00<?]\r 11%|█ | 1/9 [00:01<00:08]", Some(1)),
            ("Epoch 0:   0%|   | 0/2020 [00:00<?, ?it/s]", Some(0)),
            ("Epoch 3:  12%|█   | 5/40 [00:04<00:32]", Some(5)),
            ("Epoch 3:   0%|   | 0/40 [00:00<?]", None),
            ("[rank0]:   0%|   | 0/40 [00:00<?]", Some(0)),
            ("Loading checkpoint shards:   0%|   | 0/4 [00:02<?, ?it/s]", None),
            ("Map:  50%|█   | 500/1000 [00:02<00:02]", None),
            ("Validating:  15%|█  | 513/3434 [2:04:33<16:18:51, 20.11s/it]", None),
            ("out of 100% | 3/4 of it", None),
        ] {
            assert_eq!(steps_done(text), expected, "{text}");
        }
    }
}
