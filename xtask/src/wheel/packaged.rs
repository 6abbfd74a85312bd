//! What the wheel holds.

use std::path::Path;

use anyhow::Result;
use whyoom_lab_core::session::built_libraries;

use crate::book;

/// What `whyoom run` preloads.
const PRELOADED: [&str; 2] = ["libwhyoom_recorder.so", "libwhyoom_pool.so"];
/// Where the pool's headers are, and what the wheel installs of them.
pub(super) const HEADERS_FOLDER: &str = "crates/pool/include";
pub(super) const HEADERS: [&str; 2] = ["whyoom_pool.h", "whyoom_pool.hpp"];
pub(super) const LICENCES: [&str; 2] = ["LICENSE-APACHE", "LICENSE-MIT"];

/// Where shells look for completions, below `share`.
const COMPLETIONS: [(&str, &str); 3] = [
    ("bash", "bash-completion/completions/whyoom"),
    ("zsh", "zsh/site-functions/_whyoom"),
    ("fish", "fish/vendor_completions.d/whyoom.fish"),
];

/// The libraries, by the names under which they are built and installed.
pub(super) fn libraries() -> impl Iterator<Item = &'static str> {
    built_libraries().chain(PRELOADED)
}

/// What the command says of itself: files below `share`, and the words that print each.
pub(super) fn generated(whyoom: &Path) -> Result<Vec<(String, Vec<String>)>> {
    let completion = |(shell, path): (&str, &str)| {
        (path.to_owned(), vec!["completions".to_owned(), shell.to_owned()])
    };
    let page = |(command, _): (String, String)| {
        let words = command.split(' ').skip(1).map(str::to_owned);
        let words = ["man".to_owned()].into_iter().chain(words).collect();
        (format!("man/man1/{}.1", command.replace(' ', "-")), words)
    };
    let pages = book::helps(whyoom)?.into_iter().map(page);
    Ok(COMPLETIONS.map(completion).into_iter().chain(pages).collect())
}
