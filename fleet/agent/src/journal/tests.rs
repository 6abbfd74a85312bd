use std::io::Write as _;

use proptest::prelude::*;
use whyoom_incident::Source;

use super::*;

pub(crate) fn some_incident() -> Incident {
    Incident {
        id: String::new(),
        time: 0,
        cluster: String::new(),
        node: String::new(),
        source: Source::Log,
        file: String::new(),
        cause: "growth".into(),
        strength: String::new(),
        headline: "a\nb".into(),
        call_site: None,
        remedy: None,
        device: None,
        requested_bytes: None,
        capacity_bytes: None,
        free_bytes: None,
        allocated_bytes: None,
        reserved_bytes: None,
        scheduler: None,
        namespace: None,
        workload: None,
        pod: None,
        container: None,
        job: None,
        user: None,
        run_seconds: None,
        gpus: None,
        has_history: false,
        served_by: None,
        version: String::new(),
        verdict: String::new(),
        who: None,
    }
}

fn entry(number: u64) -> Entry {
    let incident = Incident { id: format!("{number:032x}"), ..some_incident() };
    Entry { incident, position: None, dropped: None }
}

fn ids(entries: &[Entry]) -> Vec<String> {
    entries.iter().map(|entry| entry.incident.id.clone()).collect()
}

#[test]
fn a_line_that_was_cut_was_not_acknowledged() {
    let folder = tempfile::tempdir().unwrap();
    let (mut journal, _) = Journal::open(folder.path(), 1 << 20).unwrap();
    journal.append(&entry(1)).unwrap();
    journal.append(&entry(2)).unwrap();
    let path = folder.path().join("0000000001.open");
    let mut file = fs::OpenOptions::new().append(true).open(&path).unwrap();
    file.write_all(b"{\"incident\":{\"id\":\"3").unwrap();
    drop(journal);
    let (mut journal, entries) = Journal::open(folder.path(), 1 << 20).unwrap();
    assert!(journal.sealed().is_empty());
    journal.seal_left().unwrap();
    assert_eq!(ids(&entries), ids(&[entry(1), entry(2)]));
    assert_eq!(journal.sealed().len(), 1);
    assert_eq!(journal.sealed()[0].incidents().unwrap().len(), 2);
}

#[test]
fn a_number_is_used_once() {
    let folder = tempfile::tempdir().unwrap();
    for number in 1..4 {
        let (mut journal, _) = Journal::open(folder.path(), 1 << 20).unwrap();
        journal.append(&entry(1)).unwrap();
        journal.seal().unwrap();
        assert_eq!(journal.sealed()[0].number, number);
        journal.remove(number).unwrap();
    }
}

#[test]
fn a_full_journal_refuses_and_goes_on_when_there_is_room() {
    let folder = tempfile::tempdir().unwrap();
    let (mut journal, _) = Journal::open(folder.path(), 2000).unwrap();
    let mut taken = 0;
    while journal.append(&entry(taken)).is_ok() {
        taken += 1;
    }
    assert!(taken > 0);
    assert!(matches!(journal.append(&entry(99)), Err(JournalError::Full { .. })));
    journal.seal().unwrap();
    assert!(journal.append(&entry(99)).is_err());
    journal.remove(1).unwrap();
    journal.append(&entry(99)).unwrap();
    assert_eq!(journal.bytes(), journal.open.as_ref().unwrap().bytes);
}

proptest! {
    // Each step waits for the disk.
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// Whatever is done and wherever it is stopped: each acknowledged incident is in exactly one file.
    #[test]
    fn what_is_acknowledged_is_there_once(steps in prop::collection::vec(0_u8..5, 1..60)) {
        let folder = tempfile::tempdir().unwrap();
        let (mut journal, _) = Journal::open(folder.path(), 1 << 20).unwrap();
        let (mut acknowledged, mut archived) = (Vec::new(), Vec::new());
        let mut numbers = std::collections::HashSet::new();
        for (step, what) in steps.into_iter().enumerate() {
            match what {
                0 | 1 => {
                    journal.append(&entry(step as u64)).unwrap();
                    acknowledged.push(entry(step as u64).incident.id);
                }
                2 => journal.seal().unwrap(),
                3 => {
                    journal = Journal::open(folder.path(), 1 << 20).unwrap().0;
                    journal.seal_left().unwrap();
                }
                _ => {
                    if let Some(sealed) = journal.sealed().first().cloned() {
                        prop_assert!(numbers.insert(sealed.number), "a number twice");
                        archived.extend(sealed.incidents().unwrap().into_iter().map(|one| one.id));
                        journal.remove(sealed.number).unwrap();
                    }
                }
            }
        }
        journal.seal().unwrap();
        for sealed in journal.sealed() {
            archived.extend(sealed.incidents().unwrap().into_iter().map(|one| one.id));
        }
        archived.sort();
        acknowledged.sort();
        prop_assert_eq!(archived, acknowledged);
    }
}
