//! What the environment asks of the pool. What cannot be meant is said, once, and not guessed at.

use std::{
    ffi::OsStr,
    io::Write,
    sync::atomic::{AtomicBool, Ordering::Relaxed},
};

use crate::device::Options;

const WAY_VARIABLE: &str = "WHYOOM_POOL";
const DEBUG_VARIABLE: &str = "WHYOOM_POOL_DEBUG";
const CAP_VARIABLE: &str = "WHYOOM_POOL_CAP";
/// More of a value is not repeated.
const LONGEST_SHOWN: usize = 64;

/// How a device's pool is made.
pub(crate) fn options() -> Options {
    static SAID: AtomicBool = AtomicBool::new(false);
    let cap = number(CAP_VARIABLE, std::env::var_os(CAP_VARIABLE).as_deref());
    let debug = number(DEBUG_VARIABLE, std::env::var_os(DEBUG_VARIABLE).as_deref());
    // Once, though each device asks.
    if !SAID.swap(true, Relaxed) {
        for nonsense in [cap.as_ref().err(), debug.as_ref().err()].into_iter().flatten() {
            say(nonsense);
        }
    }
    Options {
        cap: cap.ok().flatten().filter(|cap| *cap > 0),
        debug: debug.ok().flatten().is_some_and(|on| on > 0),
    }
}

/// Whether the driver's own functions are to be served.
pub(crate) fn serves() -> bool {
    let way = std::env::var_os(WAY_VARIABLE);
    serves_by(way.as_deref()).unwrap_or_else(|nonsense| {
        say(&nonsense);
        false
    })
}

fn serves_by(way: Option<&OsStr>) -> Result<bool, String> {
    match way.map(OsStr::as_encoded_bytes) {
        None | Some(b"" | b"off") => Ok(false),
        Some(b"torch" | b"everything") => Ok(true),
        Some(_) => Err(format!(
            "{WAY_VARIABLE} is {}, not torch, everything or off: CUDA calls are left to the driver",
            shown(way.unwrap_or_default())
        )),
    }
}

/// The number that a variable has; 0 counts as none.
fn number(name: &str, value: Option<&OsStr>) -> Result<Option<u64>, String> {
    let Some(value) = value.filter(|value| !value.is_empty()) else { return Ok(None) };
    let number = value.to_str().and_then(|text| text.parse().ok());
    let meant = match name {
        CAP_VARIABLE => "a number of bytes such as 8589934592: the pool is not capped",
        _ => "0 or 1: the debug mode is off",
    };
    number.map(Some).ok_or_else(|| format!("{name} is {}, not {meant}", shown(value)))
}

/// A value as it may be printed: nothing in it reaches the terminal as a command.
fn shown(value: &OsStr) -> String {
    let text: String = value.to_string_lossy().chars().take(LONGEST_SHOWN).collect();
    format!("{text:?}")
}

/// Where nobody hears it, the program goes on all the same.
pub(crate) fn say(line: &str) {
    let _ = writeln!(std::io::stderr(), "whyoom: {line}");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_numbers_are_taken() {
        let cap = |value: &str| number(CAP_VARIABLE, Some(value.as_ref()));
        assert_eq!(cap("8589934592"), Ok(Some(8 << 30)));
        assert_eq!(
            (cap(""), cap("0"), number(CAP_VARIABLE, None)),
            (Ok(None), Ok(Some(0)), Ok(None))
        );
        for wrong in ["8GiB", "-1", "1e9", " 1", "99999999999999999999", "\u{1b}[2J"] {
            let said = cap(wrong).unwrap_err();
            assert!(said.contains("the pool is not capped") && !said.contains('\u{1b}'), "{said}");
        }
    }

    #[test]
    fn ways_have_names() {
        let way = |value: &str| serves_by(Some(value.as_ref()));
        assert_eq!((way("torch"), way("everything"), way("off")), (Ok(true), Ok(true), Ok(false)));
        assert_eq!((way(""), serves_by(None)), (Ok(false), Ok(false)));
        assert!(way("Torch").is_err());
    }
}
