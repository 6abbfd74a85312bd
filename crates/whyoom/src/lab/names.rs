//! GPU models, as people name them.

use anyhow::{Result, ensure};
use whyoom_lab_core::models::{self, MODELS};

use crate::nearest::did_you_mean;

/// A name that `--gpu` takes.
pub(crate) fn gpu_name(name: &str) -> Result<String> {
    let known = MODELS.iter().flat_map(|model| model.aliases.iter().copied());
    ensure!(
        models::find(name).is_some(),
        "unknown GPU model '{name}'{}",
        did_you_mean(name, known, "whyoom lab list")
    );
    Ok(name.to_owned())
}
