//! How some arguments are read.

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use clap::builder::{PathBufValueParser, PossibleValuesParser, TypedValueParser};
use whyoom_exports::FORMATS;

/// Why `-` is refused where an output is named, and what to do.
pub(crate) const NO_FOLDER: &str = "a recording is a folder; name one";
pub(crate) const OF_PROGRAM: &str = "standard output belongs to the program; name a file";
pub(crate) const OF_ANSWER: &str = "the answer goes to standard output; name a file";

/// Seconds, as `--interval` takes them.
pub(crate) fn interval(text: &str) -> Result<Duration, String> {
    let seconds = text.strip_suffix('s').unwrap_or(text).trim().parse::<f64>();
    match seconds {
        Ok(seconds) if (0.1..=3600.0).contains(&seconds) => Ok(Duration::from_secs_f64(seconds)),
        _ => Err("use a value between 0.1 and 3600 seconds".to_owned()),
    }
}

/// Seconds, minutes or hours, as `--time-limit` takes them.
pub(crate) fn time_limit(text: &str) -> Result<Duration, String> {
    let (number, unit) = match text.trim().strip_suffix(['s', 'm', 'h']) {
        Some(number) => (number, &text.trim()[number.len()..]),
        None => (text.trim(), "s"),
    };
    let seconds = match unit {
        "m" => 60.0,
        "h" => 3600.0,
        _ => 1.0,
    };
    match number.parse::<f64>().map(|number| number * seconds) {
        Ok(seconds) if (1.0..=7.0 * 86_400.0).contains(&seconds) => {
            Ok(Duration::from_secs_f64(seconds))
        }
        _ => Err("use a value such as 90s, 10m or 2h".to_owned()),
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
    fn time_limits() {
        assert_eq!(time_limit("90"), Ok(Duration::from_secs(90)));
        assert_eq!(time_limit("10m"), Ok(Duration::from_secs(600)));
        assert_eq!(time_limit("1.5h"), Ok(Duration::from_secs(5400)));
        for wrong in ["", "0", "m", "-1m", "nan", "10d", "soon"] {
            assert!(time_limit(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn intervals() {
        assert_eq!(interval("1"), Ok(Duration::from_secs(1)));
        assert_eq!(interval("0.5s"), Ok(Duration::from_millis(500)));
        for wrong in ["", "0", "-1", "nan", "inf", "1e9", "soon"] {
            assert!(interval(wrong).is_err(), "{wrong}");
        }
    }
}
