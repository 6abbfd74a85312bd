//! Amounts of memory as programs print them.

use std::sync::LazyLock;

use regex::Regex;
use whyoom_trace::Bytes;

/// A regular expression for an amount with its unit, to be put into larger ones. It captures twice.
pub(super) const AMOUNT: &str = r"(\d[\d.,]*)\s*(bytes|[KMGT]iB|[KMGT]B|kB|[KMGT]|B)";

/// More than any machine has, in bytes. PyTorch prints −1 as 17179869184.00 GiB.
pub(super) const IMPOSSIBLE: f64 = (1_u64 << 60) as f64;

/// An amount from its number and unit. Units are binary whatever their spelling: that is what the
/// programs mean that print `MB`.
pub(super) fn amount(number: &str, unit: &str) -> Option<Bytes> {
    let scale = match unit.bytes().next()? {
        b'K' | b'k' => 1_u64 << 10,
        b'M' => 1 << 20,
        b'G' => 1 << 30,
        b'T' => 1 << 40,
        _ => return whole(number),
    };
    let number: f64 = decimal(number).parse().ok()?;
    // No machine has so much: "unset", or a counter that went below zero.
    let bytes = number * scale as f64;
    (bytes < IMPOSSIBLE).then(|| Bytes(bytes.round() as u64))
}

/// An amount from its number and unit, in any spelling of either: thousands may be set apart by commas or dots,
/// the decimal mark may be a comma, units may be in small letters. Nothing where it is negative.
pub(super) fn binary(number: &str, unit: &str) -> Option<Bytes> {
    let scale = match unit.bytes().next()?.to_ascii_lowercase() {
        b'k' => 1_u64 << 10,
        b'm' => 1 << 20,
        b'g' => 1 << 30,
        b't' => 1 << 40,
        _ => 1,
    };
    let number = number.trim_end_matches(['.', ',']);
    let plain =
        if is_in_thousands(number) { number.replace(['.', ','], "") } else { decimal(number) };
    let number: f64 = plain.parse().ok()?;
    (number >= 0.0).then(|| Bytes((number * scale as f64).round() as u64))
}

/// Whether the marks in a number set its thousands apart: several of them, or one in a whole number of bytes.
fn is_in_thousands(number: &str) -> bool {
    let groups: Vec<&str> = number.split(['.', ',']).collect();
    let whole = groups.iter().skip(1).all(|group| group.len() == 3);
    whole && (groups.len() > 2 || (groups.len() == 2 && number.contains(',')))
}

/// A number of bytes, with or without commas. Values at the end of 64 bits stand for "unset".
pub(super) fn whole(number: &str) -> Option<Bytes> {
    let digits: String = number.chars().filter(|&c| c != ',').collect();
    let bytes: u64 = digits.trim_end_matches('.').parse().ok()?;
    (bytes < 1 << 62).then_some(Bytes(bytes))
}

/// A number that may use a comma for the decimal mark, or end in a sentence's full stop.
fn decimal(number: &str) -> String {
    number.trim_end_matches(['.', ',']).replace(',', ".")
}

/// The amount that the pattern `before` + amount captures, where amounts are written as AMOUNT.
pub(super) struct AmountAfter(LazyLock<Regex>);

impl AmountAfter {
    pub(super) const fn new(make: fn() -> Regex) -> Self {
        Self(LazyLock::new(make))
    }

    pub(super) fn find(&self, text: &str) -> Option<Bytes> {
        let captures = self.0.captures(text)?;
        amount(&captures[1], &captures[2])
    }
}

/// Declares an [`AmountAfter`] for what stands before and behind the amount.
macro_rules! amount_between {
    ($name:ident, $before:literal, $behind:literal) => {
        static $name: AmountAfter = AmountAfter::new(|| {
            regex(&[$before, crate::oom_text::amount::AMOUNT, $behind].concat())
        });
    };
}
pub(super) use amount_between;

/// Compiles a pattern that is known to be right.
#[expect(clippy::expect_used, reason = "patterns are constants, and a test compiles each")]
pub(super) fn regex(pattern: &str) -> Regex {
    Regex::new(pattern).expect("a pattern of this crate")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_of_all_spellings() {
        let cases = [
            ("0", "bytes", Some(0)),
            ("2.00", "GiB", Some(2 << 30)),
            ("1900,00", "MiB", Some(1900 << 20)),
            ("32.00", "M", Some(32 << 20)),
            ("1,234", "bytes", Some(1234)),
            ("60356340", "kB", Some(60_356_340 << 10)),
            ("17179869184.00", "GiB", None),
            ("18446744073709551615", "B", None),
            ("1.2.3", "GiB", None),
        ];
        for (number, unit, expected) in cases {
            assert_eq!(amount(number, unit), expected.map(Bytes), "{number} {unit}");
        }
    }
}
