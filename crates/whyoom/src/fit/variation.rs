//! What `--vary` takes: a name and the values to try.

use std::str::FromStr;

use anyhow::{Result, anyhow, ensure};
use whyoom_fit::Range;

/// A name and its values: `batch=1..512`, `batch=8..512:8` in steps of 8, or `seq=512,1024,2048`.
#[derive(Clone, Debug)]
pub(crate) struct Variation {
    pub(super) name: String,
    pub(super) range: Range,
}

impl Variation {
    /// What stands in the command in its place.
    pub(crate) fn mark(&self) -> String {
        format!("{{{}}}", self.name)
    }
}

impl FromStr for Variation {
    type Err = anyhow::Error;

    fn from_str(text: &str) -> Result<Self> {
        let usage = || {
            anyhow!(
                "write it like batch=1..512, batch=8..512:8 for steps of 8, or seq=512,1024,2048"
            )
        };
        let (name, values) = text.split_once('=').ok_or_else(usage)?;
        let number = |text: &str| text.trim().parse::<u64>().map_err(|_| usage());
        let range = match values.split_once("..") {
            Some((first, rest)) => {
                let (last, step) = rest.split_once(':').unwrap_or((rest, "1"));
                Range::new(number(first)?, number(last)?, number(step)?)
            }
            None => Range::listed(values.split(',').map(number).collect::<Result<_>>()?),
        };
        ensure!(!name.is_empty(), usage());
        Ok(Self { name: name.to_owned(), range: range.ok_or_else(usage)? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_read_as_people_write_them() {
        let read = |text: &str| text.parse::<Variation>();
        let plain = read("batch=1..512").expect("a range");
        assert_eq!((plain.name.as_str(), plain.range.count()), ("batch", 512));
        assert_eq!(read("b=8..64:8").expect("a range").range.count(), 8);
        let listed = read("seq=2048, 512,1024").expect("a list");
        assert_eq!((listed.range.count(), listed.range.value(0)), (3, 512));
        assert_eq!(read("seq=512").expect("a list").range.count(), 1);
        for wrong in [
            "batch",
            "batch=",
            "=1..2",
            "batch=4..1",
            "batch=1..9:0",
            "batch=a..b",
            "batch=1,",
            "batch=1,2..4",
            "batch=1..4:",
        ] {
            assert!(read(wrong).is_err(), "{wrong}");
        }
    }
}
