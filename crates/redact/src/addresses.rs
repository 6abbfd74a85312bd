//! Secrets in addresses: `https://user:password@host`.

use std::ops::Range;

/// A user without a password whose name is as long is a token.
const TOKEN: usize = 16;

/// Where addresses tell who asks.
pub(crate) fn users(text: &str) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    for (at, sign) in text.match_indices("://") {
        let start = at + sign.len();
        let rest = &text[start..];
        let ends = |one: char| one.is_whitespace() || "/?#\"'`<>\\".contains(one);
        let host = &rest[..rest.find(ends).unwrap_or(rest.len())];
        let Some(user) = host.rfind('@').map(|end| &host[..end]) else { continue };
        if user.contains(':') || user.len() >= TOKEN {
            found.push(start..start + user.len());
        }
    }
    found
}
