//! `cargo xtask anywhere PART`: whyoom where it is not at home gives the same answers as on Linux.

mod browser;
mod wheels;
mod windows;

use anyhow::Result;
use clap::ValueEnum;
use harness::Held;

/// A place where whyoom runs too.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Part {
    /// The page is built
    Page,
    /// The page in Chromium
    Browser,
    /// The command for Windows, under Wine
    Windows,
    /// The wheels for Windows and macOS
    Wheels,
}

impl Part {
    /// What its last line begins with.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Page => "ANYWHERE page",
            Self::Browser => "ANYWHERE browser",
            Self::Windows => "ANYWHERE windows",
            Self::Wheels => "ANYWHERE wheels",
        }
    }

    pub(crate) fn run(self) -> Result<Held> {
        match self {
            Self::Page => browser::page(),
            Self::Browser => browser::run(),
            Self::Windows => windows::run(),
            Self::Wheels => wheels::run(),
        }
    }
}
