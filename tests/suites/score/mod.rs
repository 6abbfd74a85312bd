//! The examination of the explainer: every case of `tests/scenarios` is run and judged, and what was said is
//! compared with what is true. `cargo xtask score` adds it up.

mod program;
mod remedy;
mod run;
mod truth;

use anyhow::{Result, bail};
use harness::{
    Check, Held,
    score::{Case, Scored, all_cases},
};

pub(crate) fn checks() -> Result<Vec<Check>> {
    let check = |case: Case| {
        let name = format!("{}::{}", case.set, case.name);
        Check::with_data(name, move || {
            let scored = run::scored(&case)?;
            Ok((judged(&case, &scored), scored))
        })
    };
    Ok(all_cases()?.into_iter().map(check).collect())
}

/// The case is as it should be: right, but for exactly what its table says that it misses.
fn judged(case: &Case, scored: &Scored) -> Result<Held> {
    let unexpected = scored.grade.unexpected(case);
    if !unexpected.is_empty() {
        bail!("{}", unexpected.join("; "));
    }
    Ok(match &case.miss {
        None => Held::new(scored.answer.cause.clone()),
        Some(miss) => Held::new(format!("missed, as known: {}", miss.why)).count("missed", 1),
    })
}
