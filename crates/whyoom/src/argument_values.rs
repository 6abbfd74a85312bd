//! How some arguments are read.

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use clap::builder::{PathBufValueParser, PossibleValuesParser, TypedValueParser};
use whyoom_exports::FORMATS;

/// Seconds, as `--interval` takes them.
pub(crate) fn interval(text: &str) -> Result<Duration, String> {
    let seconds = text.strip_suffix('s').unwrap_or(text).trim().parse::<f64>();
    match seconds {
        Ok(seconds) if (0.1..=3600.0).contains(&seconds) => Ok(Duration::from_secs_f64(seconds)),
        _ => Err("use a value between 0.1 and 3600 seconds".to_owned()),
    }
}

/// What stands for standard output where a file is named.
pub(crate) const STANDARD_OUTPUT: &str = "-";

/// Whether a name means standard output.
pub(crate) fn is_standard_output(path: &Path) -> bool {
    path.as_os_str() == STANDARD_OUTPUT
}

/// A file or folder that cannot be standard output; `instead` says why, and what to do.
pub(crate) fn no_standard_output(instead: &'static str) -> impl TypedValueParser<Value = PathBuf> {
    let named = move |path: PathBuf| {
        if is_standard_output(&path) { Err(instead.to_owned()) } else { Ok(path) }
    };
    PathBufValueParser::new().try_map(named)
}

/// The names that `--to` takes.
pub(crate) fn export_format() -> PossibleValuesParser {
    PossibleValuesParser::new(FORMATS.iter().map(|format| format.name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals() {
        assert_eq!(interval("1"), Ok(Duration::from_secs(1)));
        assert_eq!(interval("0.5s"), Ok(Duration::from_millis(500)));
        for wrong in ["", "0", "-1", "nan", "inf", "1e9", "soon"] {
            assert!(interval(wrong).is_err(), "{wrong}");
        }
    }
}
