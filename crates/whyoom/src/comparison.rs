//! `FIGURE<AMOUNT`: what `fit --assert`, `who --alert` and `diff --fail-if` compare.

use std::str::FromStr;

use anyhow::{Result, anyhow};

use crate::quantities::size;

/// Something that has an amount and a name to write.
pub(crate) trait Figure: Copy + 'static {
    /// All of them.
    const NAMES: &'static [(&'static str, Self)];
    /// A comparison to learn from.
    const EXAMPLE: &'static str;
    /// Whether there is another run, so that an amount may be one more than its figure: `+5%`, `+1GiB`.
    const RELATIVE: bool = false;
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
    amount: Amount,
}

/// What a figure is compared with.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Amount {
    /// That many bytes.
    Bytes(i64),
    /// So many more than the other run's.
    More(i64),
    /// So much more than the other run's, in percent of it.
    MorePercent(f64),
}

impl Amount {
    fn read<F: Figure>(text: &str) -> Result<Self> {
        let Some(more) = text.strip_prefix('+').filter(|_| F::RELATIVE) else {
            return Ok(Self::Bytes(bytes(text)?));
        };
        match more.strip_suffix('%') {
            Some(percent) => {
                let percent =
                    percent.trim().parse().ok().filter(|percent: &f64| percent.is_finite());
                Ok(Self::MorePercent(
                    percent.filter(|percent| *percent >= 0.0).ok_or_else(usage::<F>)?,
                ))
            }
            None => Ok(Self::More(bytes(more)?)),
        }
    }

    /// The amount in bytes, where the other run's figure is `base`.
    fn bytes(self, base: i64) -> i64 {
        match self {
            Self::Bytes(bytes) => bytes,
            Self::More(bytes) => base.saturating_add(bytes),
            Self::MorePercent(percent) => (base as f64 * (1.0 + percent / 100.0)) as i64,
        }
    }
}

fn bytes(text: &str) -> Result<i64> {
    let bytes = if text == "0" { 0 } else { size(text).map_err(|error| anyhow!("{error}"))? };
    Ok(i64::try_from(bytes)?)
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
        let amount = Amount::read::<F>(rest.trim_start_matches('=').trim())?;
        Ok(Self { text: text.to_owned(), figure, below, or_equal, amount })
    }
}

fn usage<F: Figure>() -> anyhow::Error {
    let names: Vec<&str> = F::NAMES.iter().map(|(name, _)| *name).collect();
    let names = match names.split_last() {
        Some((last, others)) if !others.is_empty() => format!("{} or {last}", others.join(", ")),
        _ => names.concat(),
    };
    let relative = if F::RELATIVE { "; +5% or +1GiB is that much more than in A" } else { "" };
    anyhow!("write it like {}: {names}, then < <= > >=, then an amount{relative}", F::EXAMPLE)
}

impl<F> Comparison<F> {
    /// Whether it holds for a figure.
    pub(crate) fn holds(&self, figure: i64) -> bool {
        self.holds_beside(figure, 0)
    }

    /// Whether it holds for a figure, where the other run's is `base`.
    pub(crate) fn holds_beside(&self, figure: i64, base: i64) -> bool {
        let amount = self.amount.bytes(base);
        let strictly = if self.below { figure < amount } else { figure > amount };
        strictly || (self.or_equal && figure == amount)
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
