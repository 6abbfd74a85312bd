//! Secrets that are known by their own shape, wherever they stand.

use std::ops::Range;

/// How those of an issuer look.
struct Shape {
    prefix: &'static str,
    /// What may stand behind the prefix, beside letters and digits.
    others: &'static [u8],
    /// How much of it at least.
    least: usize,
    /// Whether words joined by hyphens may stand there: then one part of it must be long.
    joins_words: bool,
}

const fn shape(prefix: &'static str, others: &'static [u8], least: usize) -> Shape {
    Shape { prefix, others, least, joins_words: !others.is_empty() }
}

/// A prefix that no name begins with.
const fn sure(prefix: &'static str, others: &'static [u8], least: usize) -> Shape {
    Shape { prefix, others, least, joins_words: false }
}

const SHAPES: &[Shape] = &[
    shape("hf_", b"", 20),
    shape("api_org_", b"", 20),
    shape("sk-", b"_-", 20),
    shape("ghp_", b"", 20),
    shape("gho_", b"", 20),
    shape("ghu_", b"", 20),
    shape("ghs_", b"", 20),
    shape("ghr_", b"", 20),
    shape("github_pat_", b"_", 20),
    sure("glpat-", b"_-.", 16),
    sure("gldt-", b"_-.", 16),
    sure("glrt-", b"_-.", 16),
    shape("AKIA", b"", 16),
    shape("ASIA", b"", 16),
    shape("xoxa-", b"-", 10),
    shape("xoxb-", b"-", 10),
    shape("xoxp-", b"-", 10),
    shape("xoxr-", b"-", 10),
    shape("xoxs-", b"-", 10),
    shape("AIza", b"_-", 30),
    shape("ya29.", b"_-", 20),
    shape("npm_", b"", 30),
    shape("pypi-", b"_-", 40),
    shape("nvapi-", b"_-", 30),
    shape("dckr_pat_", b"_-", 20),
    // A JSON web token: three parts in base64, of which the first begins a JSON object.
    shape("eyJ", b"_-.", 30),
];

const LOOKED_AT: usize = 256;

/// A key of letters begins and ends so.
const KEY_BEGINS: &str = "-----BEGIN ";
/// Its first line is no longer than this.
const KEY_LINE: usize = 40;
const KEY_ENDS: &str = "-----END ";

/// Where there are such.
pub(crate) fn shaped(text: &str) -> Vec<Range<usize>> {
    let mut found = private_keys(text);
    let bytes = text.as_bytes();
    let mut at = 0;
    while at < bytes.len() {
        let before = at.checked_sub(1).map(|before| bytes[before]);
        let inside = before.is_some_and(|one| one.is_ascii_alphanumeric() || one == b'_');
        let length = if inside { None } else { length(&bytes[at..]) };
        found.extend(length.map(|length| at..at + length));
        at += length.unwrap_or(1);
    }
    found
}

fn length(bytes: &[u8]) -> Option<usize> {
    let shape = SHAPES.iter().find(|shape| bytes.starts_with(shape.prefix.as_bytes()))?;
    let body = &bytes[shape.prefix.len()..];
    let is_of_it = |one: &u8| one.is_ascii_alphanumeric() || shape.others.contains(one);
    let end = |body: &[u8]| body.iter().position(|one| !is_of_it(one)).unwrap_or(body.len());
    let whole = body;
    // Decided by its beginning, so that many that are none take no longer than their text.
    let body = &body[..end(&body[..body.len().min(LOOKED_AT)])];
    // Words joined by hyphens or in small letters are names.
    let is_of_chance =
        body.iter().any(u8::is_ascii_digit) || body.iter().any(u8::is_ascii_uppercase);
    let longest = body.split(|one| !one.is_ascii_alphanumeric()).map(<[u8]>::len).max();
    let has_run = !shape.joins_words || longest.is_some_and(|longest| longest >= 10);
    (body.len() >= shape.least && is_of_chance && has_run).then(|| shape.prefix.len() + end(whole))
}

fn private_keys(text: &str) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(start) = text[at..].find(KEY_BEGINS).map(|start| at + start) {
        at = start + KEY_BEGINS.len();
        let line = &text[at..text.floor_char_boundary((at + KEY_LINE).min(text.len()))];
        if line.contains("PRIVATE KEY") {
            at = text[at..].find(KEY_ENDS).map_or(text.len(), |end| at + end);
            found.push(start..at);
        }
    }
    found
}
