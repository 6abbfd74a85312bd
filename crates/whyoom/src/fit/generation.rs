//! Up to how many tokens a generation fits, where it was not run to its end.

use whyoom_fit::served;
use whyoom_report::{FitGeneration, FitTokens, FitTokensPoint};

use super::{
    answer::room,
    gpus::{Family, Gpu},
    observed::{ContinuedGeneration, Observed, Seen},
};

/// Columns of the chart.
const COLUMNS: usize = 60;

/// What is said of the generation of the first run that was ended in one.
pub(crate) fn generation(runs: &[(&Family, &Observed)]) -> Option<FitGeneration> {
    let mut continued = runs.iter().filter_map(|(_, observed)| most_in(observed));
    let (seen, ContinuedGeneration { generation, tokens }) = continued.next()?;
    let mut largest: Vec<(usize, FitTokens)> =
        runs.iter().flat_map(|(family, observed)| tokens_on(family, observed)).collect();
    largest.sort_by_key(|(place, _)| *place);
    let point =
        |(new_tokens, peak_allocated_bytes)| FitTokensPoint { new_tokens, peak_allocated_bytes };
    Some(FitGeneration {
        sequences: generation.sequences,
        prompt_tokens: generation.prompt,
        new_tokens: generation.new_tokens().1,
        run_tokens: generation.new_tokens().0,
        largest: largest.into_iter().map(|(_, tokens)| tokens).collect(),
        curve: tokens.curve(&seen.run, COLUMNS).into_iter().map(point).collect(),
    })
}

/// The generation of the process that has the most.
fn most_in(observed: &Observed) -> Option<(&Seen, &ContinuedGeneration)> {
    observed.largest().and_then(|seen| Some((seen, seen.continued.as_ref()?)))
}

/// For each GPU of a family, how many tokens fit in every process.
fn tokens_on(family: &Family, observed: &Observed) -> Vec<(usize, FitTokens)> {
    let on = |gpu: &Gpu| {
        let fits = observed.seen.iter().filter_map(|seen| Some((seen, seen.continued.as_ref()?)));
        let fewest =
            fits.map(|(seen, continued)| tokens_in(seen, continued, gpu, observed)).min()?;
        let (new_tokens, room_bytes) = fewest;
        Some((gpu.place, FitTokens { gpu: gpu.model.name, room_bytes, new_tokens }))
    };
    family.gpus.iter().filter_map(on).collect()
}

fn tokens_in(
    seen: &Seen,
    continued: &ContinuedGeneration,
    gpu: &Gpu,
    observed: &Observed,
) -> (u64, u64) {
    let room = room(seen, gpu.model, observed.ran_on);
    (continued.tokens.tokens_before(served(&seen.run, room)), room.left())
}
