//! `--save`: what a run allocated, for `whyoom diff`.

use std::{io, path::Path};

use anyhow::{Context, Result};
use whyoom_diff::{LaunchNames, profile_of};

use super::observed::Observed;
use crate::{diff::SavedProfile, whole_file::WholeFile};

/// Saves a run; what to tell the person comes back.
pub(super) fn save(command: &str, observed: &Observed, path: &Path) -> Result<String> {
    let names = LaunchNames { name: command, rank: |_| None };
    let mut profile = profile_of(&observed.memory, &observed.tables, names);
    for rank in &mut profile.ranks {
        let facts =
            observed.facts.iter().find(|facts| facts.rank.as_deref() == Some(&rank.process));
        rank.rank = facts.and_then(|facts| facts.rank.as_deref()?.parse().ok());
        let torch = facts.or(observed.facts.first()).map(|facts| facts.torch.clone());
        rank.versions.extend(torch.map(|version| ("torch".to_owned(), version)));
        rank.gpu = Some(observed.ran_on.name.to_owned());
    }
    let file = WholeFile::begin(path)?;
    let out = io::BufWriter::new(file.handle()?);
    let context = || format!("cannot write {}", path.display());
    serde_json::to_writer(out, &SavedProfile::of(profile)).with_context(context)?;
    file.finish()?;
    Ok(format!("wrote {}: compare it with whyoom diff", path.display()))
}
