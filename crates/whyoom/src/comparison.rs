//! `FIGURE<AMOUNT`: what `fit --assert` and `who --alert` compare.

use std::str::FromStr;

use anyhow::{Result, anyhow};

use crate::lab::size;

/// Something that has an amount and a name to write.
pub(crate) trait Figure: Copy + 'static {
    /// All of them.
    const NAMES: &'static [(&'static str, Self)];
    /// A comparison to learn from.
    const EXAMPLE: &'static str;
}

/// A figure, a comparison and an amount: `peak<22GiB`.
#[derive(Clone, Debug)]
pub(crate) struct Comparison<F> {
    pub(crate) text: String,
    pub(crate) figure: F,
    /// Whether the figure must lie below the amount; otherwise above.
    pub(crate) below: bool,
    /// Whether it may be equal to it.
    or_equal: bool,
    amount: i64,
}

impl<F: Figure> FromStr for Comparison<F> {
    type Err = anyhow::Error;

    fn from_str(text: &str) -> Result<Self> {
        let (name, rest) = text.split_at(text.find(['<', '>']).ok_or_else(usage::<F>)?);
        // Before the amount: whoever does not know the names is not helped by the units.
        let figure = F::NAMES.iter().find(|(known, _)| *known == name.trim());
        let (_, figure) = *figure.ok_or_else(usage::<F>)?;
        let (below, rest) = (rest.starts_with('<'), &rest[1..]);
        let or_equal = rest.starts_with('=');
        let amount = rest.trim_start_matches('=').trim();
        let amount =
            if amount == "0" { 0 } else { size(amount).map_err(|error| anyhow!("{error}"))? };
        Ok(Self { text: text.to_owned(), figure, below, or_equal, amount: i64::try_from(amount)? })
    }
}

fn usage<F: Figure>() -> anyhow::Error {
    let names: Vec<&str> = F::NAMES.iter().map(|(name, _)| *name).collect();
    let names = match names.split_last() {
        Some((last, others)) if !others.is_empty() => format!("{} or {last}", others.join(", ")),
        _ => names.concat(),
    };
    anyhow!("write it like {}: {names}, then < <= > >=, then an amount", F::EXAMPLE)
}

impl<F> Comparison<F> {
    /// Whether it holds for a figure.
    pub(crate) fn holds(&self, figure: i64) -> bool {
        let strictly = if self.below { figure < self.amount } else { figure > self.amount };
        strictly || (self.or_equal && figure == self.amount)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Clone, Copy, Debug)]
    struct Only;

    impl Figure for Only {
        const NAMES: &'static [(&'static str, Self)] = &[("only", Self)];
        const EXAMPLE: &'static str = "only<1GiB";
    }

    #[test]
    fn a_wrong_one_is_told_how_to_write_it() {
        let error = "other<1GiB".parse::<Comparison<Only>>().expect_err("no such value");
        let expected = "write it like only<1GiB: only, then < <= > >=, then an amount";
        assert_eq!(error.to_string(), expected);
        assert!("only<1GiB".parse::<Comparison<Only>>().expect("a comparison").holds(0));
    }
}
