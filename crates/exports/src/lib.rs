//! Recordings in the formats of other tools.
//!
//! A format takes events as every reader does, one at a time and in order, and keeps what is live, never
//! what has been: a recording may be longer than memory. To add one: a file here with its [`Format`], its
//! line in [`FORMATS`], and its tests.

mod error;
mod format;
mod parquet;
mod perfetto;
mod pprof;
mod pytorch_snapshot;
mod run;
mod stacks;
#[cfg(test)]
mod test_trace;

pub use error::ExportError;
pub use format::{Export, Exported, Format, MakeStore, Store, Target};
pub use parquet::{SCHEMA, SCHEMA_VERSION};

/// Every format.
pub const FORMATS: &[Format] =
    &[perfetto::FORMAT, pprof::FORMAT, parquet::FORMAT, pytorch_snapshot::FORMAT];

/// The format of that name.
#[must_use]
pub fn format_named(name: &str) -> Option<&'static Format> {
    FORMATS.iter().find(|format| format.name == name)
}

/// The format that a file's name tells by its end.
#[must_use]
pub fn format_of_file(name: &str) -> Option<&'static Format> {
    let is_it = |format: &&Format| format.extensions.iter().any(|end| name.ends_with(end));
    FORMATS.iter().find(is_it)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_format_is_told_by_its_name_or_by_the_end_of_a_file() {
        for format in FORMATS {
            assert_eq!(format_named(format.name).map(|found| found.name), Some(format.name));
            for end in format.extensions {
                let found = format_of_file(&format!("runs/last{end}"));
                assert_eq!(found.map(|found| found.name), Some(format.name), "{end}");
            }
        }
        assert!(format_named("csv").is_none() && format_of_file("run.csv").is_none());
    }
}
