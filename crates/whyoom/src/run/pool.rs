//! `--pool`: the program's GPU memory from whyoom's pool.

use std::{
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context, Result};
use whyoom_files::private;

use super::preload::{self, Library};
use crate::{
    arguments::{PoolMode, RunArguments},
    misuse::Misuse,
    sitecustomize::{self, InjectionFolder},
};

const LIBRARY: Library = Library { file: "libwhyoom_pool.so", package: "whyoom-pool" };
/// What Python runs before the program.
const STARTUP: &str = include_str!("pool_startup.py");
/// The package that it imports: the one of the wheel, which need not be installed where the program runs.
const PACKAGE: [(&str, &str); 17] = [
    ("__init__.py", include_str!("../../../../python/whyoom/__init__.py")),
    ("__main__.py", include_str!("../../../../python/whyoom/__main__.py")),
    ("_amounts.py", include_str!("../../../../python/whyoom/_amounts.py")),
    ("_chart.py", include_str!("../../../../python/whyoom/_chart.py")),
    ("_errors.py", include_str!("../../../../python/whyoom/_errors.py")),
    ("_html.py", include_str!("../../../../python/whyoom/_html.py")),
    ("_installation.py", include_str!("../../../../python/whyoom/_installation.py")),
    ("_ipython.py", include_str!("../../../../python/whyoom/_ipython.py")),
    ("_marks.py", include_str!("../../../../python/whyoom/_marks.py")),
    ("_pool_answers.py", include_str!("../../../../python/whyoom/_pool_answers.py")),
    ("_pool_library.py", include_str!("../../../../python/whyoom/_pool_library.py")),
    ("_pool_refusals.py", include_str!("../../../../python/whyoom/_pool_refusals.py")),
    ("_pool_snapshot.py", include_str!("../../../../python/whyoom/_pool_snapshot.py")),
    ("_record.py", include_str!("../../../../python/whyoom/_record.py")),
    ("_recordings.py", include_str!("../../../../python/whyoom/_recordings.py")),
    ("_verdict.py", include_str!("../../../../python/whyoom/_verdict.py")),
    ("pool.py", include_str!("../../../../python/whyoom/pool.py")),
];
const MODE_VARIABLE: &str = "WHYOOM_POOL";
const LIBRARY_VARIABLE: &str = "WHYOOM_POOL_LIBRARY";
const CAP_VARIABLE: &str = "WHYOOM_POOL_CAP";
const DEBUG_VARIABLE: &str = "WHYOOM_POOL_DEBUG";

/// NCCL registers the buffers of graphs, each as one allocation of the driver's. The pool's blocks are made of many
/// pages: it fails with them, as it does with PyTorch's expandable segments (NVIDIA/nccl#1820).
const GRAPH_REGISTER_VARIABLE: &str = "NCCL_GRAPH_REGISTER";

/// More of a variable's value is not repeated.
const LONGEST_SHOWN: usize = 64;

/// The pool under a program.
#[derive(Debug)]
pub(super) struct Pool {
    mode: PoolMode,
    cap: Option<u64>,
    debug: bool,
    library: PathBuf,
    /// Of what Python runs first; removed with this.
    home: InjectionFolder,
}

impl Pool {
    /// What the environment asks of the pool and cannot be meant: who asks for a cap wants one, so that nothing
    /// is run without it.
    pub(super) fn check_environment(arguments: &RunArguments) -> Result<(), Misuse> {
        let options = [
            (CAP_VARIABLE, arguments.pool_cap.is_some(), "a number of bytes", "--pool-cap 8GiB"),
            (DEBUG_VARIABLE, arguments.pool_debug, "0 or 1", "--pool-debug"),
        ];
        for (name, given, meant, option) in options {
            let value = std::env::var_os(name).filter(|_| !given).unwrap_or_default();
            if !value.is_empty() && value.to_str().is_none_or(|text| text.parse::<u64>().is_err()) {
                let text: String = value.to_string_lossy().chars().take(LONGEST_SHOWN).collect();
                return Err(Misuse(format!(
                    "{name} is {text:?}, not {meant}: unset it, or use {option}"
                )));
            }
        }
        Ok(())
    }

    /// The pool that was asked for.
    pub(super) fn prepare(arguments: &RunArguments, mode: PoolMode) -> Result<Self> {
        Self::check_environment(arguments)?;
        let library = LIBRARY.find()?;
        let home = InjectionFolder::temporary()?;
        let RunArguments { pool_cap: cap, pool_debug: debug, .. } = *arguments;
        Ok(Self { mode, cap, debug, library, home })
    }

    /// Makes a command take its GPU memory from the pool.
    pub(super) fn equip(&self, command: &mut Command) -> Result<()> {
        preload::add(command, &self.library);
        let mode = match self.mode {
            PoolMode::Torch => "torch",
            PoolMode::Everything => "everything",
        };
        command.env(MODE_VARIABLE, mode).env(LIBRARY_VARIABLE, &self.library);
        if std::env::var_os(GRAPH_REGISTER_VARIABLE).is_none() {
            command.env(GRAPH_REGISTER_VARIABLE, "0");
        }
        if let Some(cap) = self.cap {
            command.env(CAP_VARIABLE, cap.to_string());
        }
        if self.debug {
            command.env(DEBUG_VARIABLE, "1");
        }
        let found_first = sitecustomize::equip(command, self.home.path(), STARTUP)?;
        write_package(&found_first.join("whyoom"))
    }
}

fn write_package(folder: &Path) -> Result<()> {
    let context = || format!("cannot write into {}", folder.display());
    sitecustomize::own_folder(folder).with_context(context)?;
    for (name, text) in PACKAGE {
        private::write(&folder.join(name), text).with_context(context)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_package_is_whole() {
        let folder = Path::new(".").join("../../python/whyoom");
        let files = std::fs::read_dir(folder).expect("the package").flatten();
        let mut there: Vec<_> = files.map(|file| file.file_name()).collect();
        there.retain(|name| name.as_encoded_bytes().ends_with(b".py"));
        there.sort();
        let mut written = PACKAGE.map(|(name, _)| name);
        written.sort_unstable();
        assert_eq!(there, written);
    }
}
