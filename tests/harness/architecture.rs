//! The processors that whyoom is built for.

use std::env::consts::ARCH;

use anyhow::{Context, Result};

/// One of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Architecture {
    /// x86-64.
    X86_64,
    /// aarch64.
    Aarch64,
}

impl Architecture {
    /// All of them: each gets a wheel.
    pub const ALL: [Self; 2] = [Self::X86_64, Self::Aarch64];

    /// This machine's.
    pub fn host() -> Result<Self> {
        let found = Self::ALL.into_iter().find(|architecture| architecture.name() == ARCH);
        found.with_context(|| format!("no build for {ARCH}"))
    }

    /// Its name, as Rust, wheels and Linux spell it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::X86_64 => "x86_64",
            Self::Aarch64 => "aarch64",
        }
    }

    /// Rust's target.
    #[must_use]
    pub fn triple(self) -> String {
        format!("{}-unknown-linux-gnu", self.name())
    }
}
