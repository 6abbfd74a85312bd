//! What Python told beside a recording, in its folder.

use serde::Deserialize;
use whyoom_causes::Referrer;
use whyoom_files::folder::Folder;
use whyoom_trace::{Address, Bytes};

/// The folder of PyTorch's snapshots in that of a recording.
pub const TORCH_FOLDER: &str = "torch";
/// Bytes of one process's file of referrers that are read. Chosen, not measured.
const MAX_FILE_BYTES: u64 = 16 << 20;
/// Bytes of all these files of a recording that are read. Chosen, not measured: a scan names 8,192 blocks at most, in
/// less than 1 MB.
const MAX_BYTES: u64 = 64 << 20;
/// Files of referrers that are read. Chosen, not measured.
const MAX_FILES: usize = 4096;

/// Whether a file of this name tells who keeps tensors alive.
#[must_use]
pub fn tells_referrers(name: &str) -> bool {
    name.starts_with("keepers-") && name.ends_with(".json")
}

/// Returns who keeps tensors alive. A file that cannot be read, or is longer than what is left to read, tells nothing.
#[must_use]
pub fn referrers(folder: &Folder) -> Vec<Referrer> {
    let mut names = Vec::new();
    let listed = folder.for_each_file(|name| {
        if tells_referrers(name) {
            names.push(name.to_owned());
        }
    });
    if listed.is_err() {
        return Vec::new();
    }
    names.sort();
    let mut left = MAX_BYTES;
    let mut referrers = Vec::new();
    for name in names.iter().take(MAX_FILES) {
        let Ok(text) = folder.entry(name).read(MAX_FILE_BYTES.min(left)) else { continue };
        left -= text.len() as u64;
        if let Ok(told) = serde_json::from_slice::<LiveStatus>(&text) {
            referrers.extend(told.keepers.into_iter().map(|one| one.of(told.pid)));
        }
    }
    referrers
}

/// A file of them, as it is written.
#[derive(Deserialize)]
struct LiveStatus {
    pid: u32,
    keepers: Vec<ReportedReferrer>,
}

#[derive(Deserialize)]
struct ReportedReferrer {
    kind: String,
    name: String,
    function: Option<String>,
    file: Option<String>,
    line: Option<u32>,
    graph: bool,
    blocks: Vec<(u64, u64)>,
}

impl ReportedReferrer {
    fn of(self, pid: u32) -> Referrer {
        let Self { kind, name, function, file, line, graph, blocks } = self;
        let blocks = blocks.into_iter().map(|(at, size)| (Address(at), Bytes(size))).collect();
        Referrer { pid, kind, name, function, file, line, graph, blocks }
    }
}

#[cfg(test)]
mod tests {
    use std::{collections::BTreeMap, sync::Arc};

    use whyoom_files::folder::{Contents, Unpacked};

    use super::*;

    #[test]
    fn referrers_are_told_by_files_of_that_name_that_can_be_read() {
        let keeper = r#"{"kind": "variable", "name": "losses", "function": null, "file": "a.py",
            "line": 7, "graph": false, "blocks": [[4096, 512]]}"#;
        let told = format!(r#"{{"pid": 7, "keepers": [{keeper}]}}"#);
        let files = [
            ("keepers-1.json", told.as_str()),
            ("keepers-2.json", "{"),
            ("other.json", told.as_str()),
        ];
        let files = files.map(|(name, text)| {
            let contents: Arc<dyn Contents> = Arc::new(text.as_bytes().to_vec());
            (name.to_owned(), contents)
        });
        let unpacked = Unpacked { name: String::new(), files: BTreeMap::from(files) };
        let found = referrers(&Folder::Memory(Arc::new(unpacked)));
        assert_eq!(found.len(), 1);
        assert_eq!((found[0].pid, found[0].name.as_str()), (7, "losses"));
        assert_eq!(found[0].blocks, [(Address(4096), Bytes(512))]);
    }

    #[test]
    fn the_sum_of_the_files_is_bounded() {
        let keeper = r#"{"kind":"","name":"a","function":null,"file":null,"line":null,"graph":false,"blocks":[]}"#;
        let padding = " ".repeat(15 << 20);
        let told: Arc<dyn Contents> =
            Arc::new(format!(r#"{{"pid":7,"keepers":[{keeper}]}}{padding}"#).into_bytes());
        let files = (0..6).map(|pid| (format!("keepers-{pid}.json"), Arc::clone(&told)));
        let unpacked = Unpacked { name: String::new(), files: files.collect() };
        let found = referrers(&Folder::Memory(Arc::new(unpacked)));
        assert_eq!(found.len(), 4, "64 MiB hold four of them");
    }
}
