//! What loaded code takes on a device, beyond the context: a rule, and what it was fitted to.
//!
//! Workspaces that a library takes for a handle are not here but with the library's stand-in.

use super::{Figure, GpuModel, Source, sheet::mib};

/// Code comes in this many equal parts: one for each fat binary that a kernel is first launched
/// from, until all is loaded.
///
/// That a small program takes one part and a framework all is assumed. Training steps of `PyTorch`
/// 2.15 launch from 15 to 29 fat binaries.
pub const CODE_PARTS: u64 = 12;

impl GpuModel {
    /// Device memory that the code of a framework takes once it computes, where code is loaded
    /// lazily (the default since CUDA 12.2).
    ///
    /// Fitted to what `PyTorch`'s error texts of real GPUs imply: memory of the process, less that
    /// of the allocator, less the context, less the workspaces of cuBLAS. `docs/dev/lab-models.md`
    /// lists the texts, and by how much the rule misses each.
    #[must_use]
    pub const fn code(&self) -> Figure<u64> {
        let threads =
            self.multiprocessors.value as u64 * self.threads_per_multiprocessor.value as u64;
        Figure { value: mib(24) + threads * 256, source: Source::Assumed }
    }
}

#[cfg(test)]
mod tests {
    use super::mib;
    use crate::models::find;

    /// What the published texts imply, in MiB, for the models with texts that agree.
    const PUBLISHED: [(&str, u64); 4] =
        [("t4", 23), ("a100-40gb", 74), ("l40s", 70), ("rtx-4090", 74)];

    #[test]
    fn the_rule_is_as_near_to_error_texts_as_they_are_exact() {
        // Each text has three figures, rounded to a hundredth of a GiB.
        let rounding = mib(15);
        for (name, published) in PUBLISHED {
            let rule = find(name).unwrap().code().value;
            let error = rule.abs_diff(mib(published));
            assert!(error <= rounding, "{name}: {} MiB by the rule", rule / mib(1));
        }
    }
}
