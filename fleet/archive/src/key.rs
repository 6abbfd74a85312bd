//! The names of objects.

use jiff::{Timestamp, civil::Date, tz::TimeZone};

/// All objects are below it.
pub(crate) const FOLDER: &str = "incidents";
/// Names of objects end with it.
pub(crate) const EXTENSION: &str = ".parquet";
/// Digits of the number in the name of an object that an agent writes. A larger number has more.
const NUMBER_DIGITS: usize = 10;
/// What compaction writes begins with it.
pub(crate) const COMPACTED: &str = "compacted";

/// The name of an object that an agent writes. Nobody else makes the same: an agent has a number of its own,
/// made once by chance, and counts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Key {
    /// The hour of its incidents, by the agent's clock.
    pub time: Timestamp,
    /// The node's name.
    pub node: String,
    /// The agent.
    pub agent: String,
    /// What the agent has counted.
    pub number: u64,
}

impl Key {
    /// The path in the store: days are folders, as query engines expect.
    pub(crate) fn path(&self) -> String {
        let time = self.time.to_zoned(TimeZone::UTC);
        let (node, agent) = (plain(&self.node), plain(&self.agent));
        format!(
            "{}/{:02}-{node}-{agent}-{:010}.parquet",
            folder_of(time.date()),
            time.hour(),
            self.number
        )
    }
}

/// The folder of a day.
pub(crate) fn folder_of(date: Date) -> String {
    format!("{FOLDER}/date={date}")
}

/// Returns the day of an object or of the folder of a day. Returns `None` for any other path.
pub fn date_of(path: &str) -> Option<Date> {
    let below = path.strip_prefix(FOLDER)?.strip_prefix('/')?;
    date_of_folder(below.split('/').next()?)
}

/// Returns the day that the name of a folder stands for.
pub(crate) fn date_of_folder(name: &str) -> Option<Date> {
    name.strip_prefix("date=")?.parse().ok()
}

/// Returns true if whyoom-fleet names an object of incidents so: `incidents/date=YYYY-MM-DD/HH-NODE-AGENT-NUMBER.parquet`
/// or `incidents/date=YYYY-MM-DD/compacted-ID.parquet`. Only such objects are read and removed.
pub(crate) fn is_object(path: &str) -> bool {
    let Some(date) = date_of(path) else { return false };
    let Some(name) = path.strip_prefix(&format!("{}/", folder_of(date))) else { return false };
    let Some(stem) = name.strip_suffix(EXTENSION) else { return false };
    let is_plain = |one: char| one.is_ascii_alphanumeric() || matches!(one, '.' | '_' | '-');
    if !stem.chars().all(is_plain) {
        return false;
    }
    match stem.split_once('-') {
        Some((COMPACTED, id)) => !id.is_empty(),
        Some((hour, rest)) => is_number(hour, 2) && is_of_an_agent(rest),
        None => false,
    }
}

/// Returns true for `NODE-AGENT-NUMBER`.
fn is_of_an_agent(name: &str) -> bool {
    let mut parts = name.rsplitn(3, '-');
    let number = parts.next().is_some_and(|number| is_number(number, NUMBER_DIGITS));
    let agent = parts.next().is_some_and(|agent| !agent.is_empty());
    number && agent && parts.next().is_some()
}

fn is_number(text: &str, least_digits: usize) -> bool {
    text.len() >= least_digits && text.bytes().all(|one| one.is_ascii_digit())
}

/// A name that needs no escape in a path, whatever a node is called.
fn plain(name: &str) -> String {
    let is_plain = |one: char| one.is_ascii_alphanumeric() || matches!(one, '.' | '_');
    name.chars().map(|one| if is_plain(one) { one } else { '_' }).take(64).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_a_path_below_its_day() {
        let time = "2026-11-18T23:59:59Z".parse().expect("a time");
        let key = Key { time, node: "gpu/../7".into(), agent: "a1".into(), number: 3 };
        assert_eq!(key.path(), "incidents/date=2026-11-18/23-gpu_.._7-a1-0000000003.parquet");
        assert_eq!(date_of(&key.path()), Some("2026-11-18".parse().expect("a day")));
        assert_eq!(date_of("incidents/date=x/y"), None);
        assert!(is_object(&key.path()), "{key:?}");
    }

    #[test]
    fn only_own_names_are_objects() {
        for name in [
            "23-n-a-0000000003.parquet",
            "00---0000000001.parquet",
            "23-n-a-12345678901.parquet",
            "compacted-0a1b.parquet",
        ] {
            assert_eq!(
                is_object(&format!("incidents/date=2026-11-18/{name}")),
                name != "00---0000000001.parquet",
                "{name}"
            );
        }
        for path in [
            "incidents/date=2026-11-18/mine.parquet",
            "incidents/date=2026-11-18/compacted-.parquet",
            "incidents/date=2026-11-18/23-n-a-0000000003.parquet#1",
            "incidents/date=2026-11-18/23-n-a-3.parquet",
            "incidents/date=2026-11-18/23-n\u{1b}-a-0000000003.parquet",
            "incidents/date=2026-11-18/x/23-n-a-0000000003.parquet",
            "incidents/date=x/23-n-a-0000000003.parquet",
            "incidents/date=20261118/23-n-a-0000000003.parquet",
            "incidents/23-n-a-0000000003.parquet",
            "x/incidents/date=2026-11-18/23-n-a-0000000003.parquet",
        ] {
            assert!(!is_object(path), "{path}");
        }
    }
}
