//! What is asked of `cargo xtask book`.

/// `cargo xtask book`.
#[derive(clap::Args)]
pub(crate) struct Wish {
    /// The parts that are asked for
    pub(super) parts: Vec<String>,
    /// Write pages, do not compare them
    #[arg(long)]
    pub(super) bless: bool,
    /// The only page whose sessions are run, by its name
    #[arg(long)]
    pub(super) only: Option<String>,
}
