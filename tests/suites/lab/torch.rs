//! The unmodified PyTorch wheel: `tests/scenarios/torch/scenarios.json` says what is run.

use anyhow::Result;
use harness::{Check, Held, Scenario, scenarios, scratch, slug};

pub(super) fn checks() -> Result<Vec<Check>> {
    let check = |scenario: Scenario| {
        Check::new(format!("torch::{}", slug(&scenario.name)), move || run(&scenario))
    };
    Ok(scenarios()?.into_iter().map(check).collect())
}

/// Each script asserts what must hold of it.
fn run(scenario: &Scenario) -> Result<Held> {
    let told = scenario.told(&scenario.trial(&scratch("lab-torch")?)?.plain_shared()?)?;
    let told = told.iter().map(|(name, value)| (name, value.to_string()));
    // Without long texts.
    let short = told.filter(|(_, value)| value.len() <= 40);
    let figures: Vec<_> = short.map(|(name, value)| format!("{name} {value}")).collect();
    let figure = format!("{}: {}", scenario.name, figures.join(", "));
    Ok(Held::new(figure).count("scenarios", 1))
}
