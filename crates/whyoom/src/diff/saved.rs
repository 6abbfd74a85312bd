//! A profile in a file: what `fit --save` writes and `diff` reads.

use std::{io::Read, path::Path};

use anyhow::{Context, Result, bail};
use serde::{Deserialize, Serialize};
use whyoom_diff::Profile;
use whyoom_files::named;

/// The document's name.
const SCHEMA: &str = "whyoom.profile";
/// The version of it that this program writes and reads.
const VERSION: u32 = 1;
/// Longer files are none.
const LONGEST: u64 = 1 << 30;

/// A saved profile.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct SavedProfile {
    schema: String,
    version: u32,
    profile: Profile,
}

/// What any of our documents says of itself.
#[derive(Deserialize)]
struct Document {
    schema: String,
    version: u32,
}

impl SavedProfile {
    pub(crate) fn of(profile: Profile) -> Self {
        Self { schema: SCHEMA.to_owned(), version: VERSION, profile }
    }

    /// Reads the profile of a file.
    pub(crate) fn read(path: &Path) -> Result<Profile> {
        let name = path.display();
        let cannot = || format!("cannot read {name}");
        let mut bytes = Vec::new();
        let file = named::open(path).with_context(cannot)?;
        file.take(LONGEST).read_to_end(&mut bytes).with_context(cannot)?;
        let unknown = || format!("{name} is not a file of whyoom fit --save");
        let document: Document = serde_json::from_slice(&bytes).with_context(unknown)?;
        match (document.schema.as_str(), document.version) {
            (SCHEMA, VERSION) => {
                let saved: Self = serde_json::from_slice(&bytes).with_context(unknown)?;
                Ok(saved.profile)
            }
            (SCHEMA, version) => bail!(
                "{name} has version {version} of its format, and this whyoom reads version {VERSION}: \
                 save it again with this one"
            ),
            (other, _) => bail!(
                "{name} is a document {other}, which has only sums: run whyoom fit with --save FILE \
                 and compare that file"
            ),
        }
    }
}
