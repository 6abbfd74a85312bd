//! Differences in words.

use whyoom_trace::Bytes;

/// What a difference is called: `1.50 GiB more`.
pub(crate) fn more_or_less(bytes: i64) -> String {
    let word = if bytes < 0 { "less" } else { "more" };
    format!("{} {word}", Bytes(bytes.unsigned_abs()))
}

/// A difference with its sign.
pub(crate) fn signed(bytes: i64) -> String {
    match bytes {
        0 => "=".to_owned(),
        _ => format!("{}{}", if bytes < 0 { "-" } else { "+" }, Bytes(bytes.unsigned_abs())),
    }
}
