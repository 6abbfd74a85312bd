//! `whyoom fit` of a generation: the memory of all its tokens, and how many of them fit.

use anyhow::{Context, Result, ensure};
use harness::{Check, Held, Trial, documents::Fit};

use super::{script, transformers};
use crate::fit::question::{answer, fit};

/// Sequences, tokens of the prompt, and new tokens.
type Case = (u64, u64, u64);

/// Some are run to their end, the others are computed to it.
const CASES: [&[Case]; 4] = [
    &[(64, 32, 4_000), (16, 32, 16_000), (256, 16, 1_000)],
    &[(8, 512, 30_000), (128, 1_024, 1_000), (512, 64, 60)],
    &[(4, 64, 60_000), (100, 100, 2_500), (48, 300, 5_000)],
    &[(32, 2_000, 6_000), (1, 16, 250_000), (300, 200, 800)],
];
/// How far the figure may be from the one by hand.
const TOLERANCE: f64 = 0.03;

pub(super) fn checks() -> Vec<Check> {
    let by_hand = CASES.iter().enumerate();
    let by_hand = by_hand.map(|(number, cases)| {
        // All are of one kind: the gate runs the first.
        let size = if number == 0 { "" } else { "deep-" };
        Check::new(format!("generation::{size}by-hand-{}", number + 1), || compare(cases))
    });
    let others = [
        Check::new("generation::length", length),
        Check::new("generation::refused", refused),
        Check::new("generation::time-limit", time_limit),
    ];
    by_hand.chain(others).collect()
}

fn command((sequences, prompt, new): Case) -> Result<Vec<String>> {
    let numbers = [("--batch", sequences), ("--prompt", prompt), ("--new", new)];
    let numbers = numbers.iter().flat_map(|(name, value)| [(*name).to_owned(), value.to_string()]);
    Ok([transformers()?, script("generate.py")].into_iter().chain(numbers).collect())
}

/// Whatever it says, it says it.
fn asked(flags: &[&str], command: &[String]) -> Result<Fit> {
    let output = fit(flags, command)?;
    let said = String::from_utf8_lossy(&output.stderr);
    ensure!(matches!(output.status.code(), Some(0 | 3)), "{}: {said}", output.status);
    answer(&output)
}

/// The weights in 16 bits, the keys and values of all layers, and the keys of one layer a second time: a token's are a
/// copy of the last one's. Where there are many sequences, logits are more than that: 16 bits, their copy in 32, and
/// the copy of the token before, which lives until the new one is there.
fn by_hand((sequences, prompt, new): Case) -> u64 {
    const LAYERS: u64 = 4;
    const HIDDEN: u64 = 512;
    const MIDDLE: u64 = 1_024;
    const VOCABULARY: u64 = 32_000;
    let of_layer = 4 * HIDDEN * HIDDEN + 3 * HIDDEN * MIDDLE + 2 * HIDDEN;
    let weights = 2 * (2 * VOCABULARY * HIDDEN + LAYERS * of_layer + HIDDEN);
    // The last token is never put into the model.
    let tokens = sequences * (prompt + new - 1);
    let keys = tokens * HIDDEN * 2;
    let logits = sequences * VOCABULARY * (2 + 4 + 4);
    weights + 2 * LAYERS * keys + keys.max(logits)
}

/// The peak is what it is by hand.
fn compare(cases: &[Case]) -> Result<Held> {
    let mut farthest = 0.0_f64;
    for case in cases {
        let answer = asked(&["--gpu", "h200"], &command(*case)?)?;
        let computed = answer.generation.is_some();
        ensure!(computed == (case.2 > 200), "{case:?}: computed: {computed}");
        let peak = answer.gpus.first().and_then(|gpu| gpu.processes.first()?.peak_allocated_bytes);
        let peak = peak.with_context(|| format!("{case:?}: no peak"))?;
        let by_hand = by_hand(*case);
        let away = (peak as f64 / by_hand as f64 - 1.0).abs();
        ensure!(away <= TOLERANCE, "{case:?}: {peak}, and {by_hand} by hand");
        farthest = farthest.max(away);
    }
    let text = format!("the peak is within {:.1} % of the one by hand", farthest * 100.0);
    Ok(Held::new(text).count("generations", cases.len() as u64))
}

/// As many tokens as it says run on that GPU, and not one more.
fn length() -> Result<Held> {
    let place = ["--gpu", "l4"];
    let answer = asked(&place, &command((4_096, 32, 1_000))?)?;
    ensure!(!answer.gpus[0].fits, "it says that it fits");
    let generation = answer.generation.context("no word of the generation")?;
    ensure!(generation.new_tokens == 1_000 && generation.run_tokens < 100, "{generation:?}");
    let largest = generation.largest.first().context("no number of tokens")?.new_tokens;
    ensure!(largest > 0, "not one token fits");
    let runs = |new: u64| -> Result<bool> {
        let ran = Trial::on(&place, &command((4_096, 32, new))?).plain()?;
        let ran_out = ran.stderr.contains("OutOfMemoryError");
        ensure!((ran.status == 0) != ran_out, "{new}: {}:\n{}", ran.status, ran.stderr);
        Ok(!ran_out)
    };
    ensure!(runs(largest)?, "{largest} new tokens do not run");
    ensure!(!runs(largest + 1)?, "{} new tokens run, too", largest + 1);
    Ok(Held::new(format!("{largest} new tokens run, as it says, and not one more")))
}

/// A GPU that the program refuses does not hide the answer for another.
fn refused() -> Result<Held> {
    let command = [transformers()?, script("refuses.py")];
    let answer = asked(&["--gpu", "t4,l4", "--assert", "peak<20GiB"], &command)?;
    let [t4, l4] = &answer.gpus[..] else { anyhow::bail!("{} GPUs", answer.gpus.len()) };
    let failure = t4.failure.as_deref().unwrap_or_default();
    ensure!(failure.contains("needs compute capability 8"), "of the T4: {failure}");
    ensure!(!t4.fits && l4.fits && l4.failure.is_none(), "{answer:?}");
    ensure!(answer.assertions.iter().all(|one| !one.holds), "an assertion holds without a figure");
    Ok(Held::new("the T4 with the program's own words, the L4 with its figures"))
}

/// A program that never repeats is ended, with all its processes; nobody says that it fits.
fn time_limit() -> Result<Held> {
    let command = [transformers()?, script("waits.py")];
    let output = fit(&["--gpu", "l4", "--time-limit", "20s"], &command)?;
    let said = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.code() == Some(4), "{}: {said}", output.status);
    ensure!(said.contains("was ended after 20 s (--time-limit)"), "{said}");
    let left = std::process::Command::new("pgrep").args(["-f", "waits.py"]).output()?;
    ensure!(left.stdout.is_empty(), "still there: {}", String::from_utf8_lossy(&left.stdout));
    Ok(Held::new("ended after 20 s with its processes, and without an answer"))
}
