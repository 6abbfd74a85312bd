//! Where things are.

use std::{
    env,
    ffi::OsString,
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result};

/// The checkout.
#[must_use]
pub fn root() -> PathBuf {
    // Cargo says it at run time too: a build folder that checkouts share may hold another's.
    let manifest = env::var_os("CARGO_MANIFEST_DIR");
    let manifest = manifest.map_or_else(|| env!("CARGO_MANIFEST_DIR").into(), PathBuf::from);
    manifest.parent().map_or_else(|| manifest.clone(), Path::to_path_buf)
}

/// Returns the folder for what is installed and kept between runs, outside the checkout.
#[must_use]
pub fn cache() -> PathBuf {
    cache_folder(|name| env::var_os(name))
}

/// Returns the cache folder that these variables name. An empty variable counts as unset.
fn cache_folder(variable: impl Fn(&str) -> Option<OsString>) -> PathBuf {
    let set = |name| variable(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    if let Some(own) = set("WHYOOM_CI_CACHE") {
        return own;
    }
    let general = match set("XDG_CACHE_HOME") {
        Some(general) => general,
        None => set("HOME").unwrap_or_else(env::temp_dir).join(".cache"),
    };
    general.join("whyoom-ci")
}

/// Cargo's build folder.
#[must_use]
pub fn target() -> PathBuf {
    env::var_os("CARGO_TARGET_DIR").map_or(root().join("target"), PathBuf::from)
}

/// The folder with data from real GPUs, beside the checkout. Not every machine has it.
pub(crate) fn shared_data_folder() -> PathBuf {
    root().join("../shared/data")
}

/// A folder for what a command makes, in the build folder: two checkouts do not meet there.
pub fn scratch(name: &str) -> Result<PathBuf> {
    let folder = target().join("xtask").join(name);
    fs::create_dir_all(&folder).with_context(|| format!("cannot create {}", folder.display()))?;
    Ok(folder)
}

/// A folder that does not exist yet, inside one that does.
pub fn fresh(name: &str) -> Result<PathBuf> {
    let folder = scratch("fresh")?.join(name);
    if folder.exists() {
        fs::remove_dir_all(&folder)?;
    }
    fs::create_dir_all(folder.parent().unwrap_or(&folder))?;
    Ok(folder)
}

/// A folder that exists and has nothing in it.
pub fn empty_folder(name: &str) -> Result<PathBuf> {
    let folder = fresh(name)?;
    fs::create_dir_all(&folder)?;
    Ok(folder)
}

/// A path as a word of a command.
#[must_use]
pub fn text(path: &Path) -> String {
    path.display().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn empty_variables_do_not_name_the_current_folder() {
        let empty_general = cache_folder(|name| match name {
            "HOME" => Some("/home/user".into()),
            _ => Some(OsString::new()),
        });
        assert_eq!(empty_general, Path::new("/home/user/.cache/whyoom-ci"));
        assert!(cache_folder(|_| None).is_absolute());
        let general = cache_folder(|name| (name == "XDG_CACHE_HOME").then(|| "/cache".into()));
        assert_eq!(general, Path::new("/cache/whyoom-ci"));
    }
}
