//! The names of objects.

use jiff::{Timestamp, civil::Date, tz::TimeZone};

/// All objects are below it.
pub(crate) const FOLDER: &str = "incidents";
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

/// The day of an object.
pub(crate) fn date_of(path: &str) -> Option<Date> {
    let rest = path.split(&format!("{FOLDER}/date=")).nth(1)?;
    rest.split('/').next()?.parse().ok()
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
    }
}
