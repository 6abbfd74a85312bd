//! The names that `--gpu` takes.

use anyhow::Result;

use crate::lab::gpu_name as one_gpu;

/// All of them.
pub(super) const ALL: &str = "all";

/// A name that `--gpu` takes.
pub(crate) fn gpu_name(name: &str) -> Result<String> {
    if name == ALL { Ok(name.to_owned()) } else { one_gpu(name) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_are_known() {
        assert!(gpu_name("rtx 4090").is_ok() && gpu_name("all").is_ok());
        assert!(gpu_name("nothing").is_err());
    }
}
