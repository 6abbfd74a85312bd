//! Which of a program's NVTX annotations begin an iteration.

use whyoom_trace::MarkKind;

/// NVTX marks, push-pop ranges and start-end ranges, as `ENUM_NSYS_EVENT_TYPE` numbers them.
pub(super) const EVENT_TYPES: [u32; 3] = [34, 59, 60];

/// A name that has none of these in it begins no iteration.
pub(super) const LIKELY: [&str; 3] = ["step", "iter", "batch"];

/// What people call an iteration, with the number behind it and the signs between words left out.
const ITERATIONS: [&str; 14] = [
    "step",
    "trainstep",
    "trainingstep",
    "globalstep",
    "profilerstep",
    "iteration",
    "iter",
    "trainiteration",
    "trainingiteration",
    "trainiter",
    "batch",
    "trainbatch",
    "trainingbatch",
    "minibatch",
];

/// What an annotation of this name begins; nothing where it is none that matters here.
pub(super) fn kind_of(name: &str) -> Option<MarkKind> {
    // PyTorch annotates it: an iteration is told by it too.
    if name.starts_with("Optimizer.step") {
        return Some(MarkKind::Phase);
    }
    let words = name.trim_end_matches(|sign: char| !sign.is_ascii_alphabetic());
    let letters =
        words.chars().filter(char::is_ascii_alphabetic).map(|sign| sign.to_ascii_lowercase());
    // No name in the list is so long.
    let letters: String = letters.take(32).collect();
    ITERATIONS.contains(&letters.as_str()).then_some(MarkKind::Iteration)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_usual_names_begin_iterations() {
        for name in
            ["step", "step 17", "Step_3", "ProfilerStep#4", "train_step", "iteration 5", "iter:9"]
        {
            assert_eq!(kind_of(name), Some(MarkKind::Iteration), "{name}");
        }
        for name in ["", "forward", "stepping stone", "load_batch", "epoch 1"] {
            assert_eq!(kind_of(name), None, "{name}");
        }
        assert_eq!(kind_of("Optimizer.step#Adam.step"), Some(MarkKind::Phase));
    }
}
