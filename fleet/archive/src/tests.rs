use jiff::{Timestamp, civil::date};
use whyoom_incident::{Incident, Source, parquet};

use crate::{Archive, ArchiveError, Key, Put, reading::read_briefly};

fn incident(number: u64) -> Incident {
    Incident {
        id: Incident::id_of(&[&number.to_string()]),
        time: 1_795_000_000_000_000 + number as i64,
        cluster: String::new(),
        node: "n1".into(),
        source: Source::Log,
        file: "a.log".into(),
        cause: "growth".into(),
        strength: "explains".into(),
        headline: "it grows".into(),
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
        verdict: "{}".into(),
        who: None,
    }
}

/// As a report has it.
fn brief(incident: &Incident) -> Incident {
    Incident { verdict: String::new(), ..incident.clone() }
}

fn key(number: u64) -> Key {
    let time: Timestamp = "2026-11-18T03:00:00Z".parse().expect("a time");
    Key { time, node: "n1".into(), agent: "a".into(), number }
}

struct Place {
    folder: tempfile::TempDir,
    archive: Archive,
}

fn place() -> Place {
    let folder = tempfile::tempdir().expect("a folder");
    let archive = Archive::open(folder.path().to_str().expect("text")).expect("it is opened");
    Place { folder, archive }
}

#[test]
fn what_is_put_twice_is_there_once() {
    let Place { folder: _folder, archive } = place();
    let two = [incident(1), incident(2)];
    assert_eq!(archive.put(&key(1), &two).expect("it is put"), Put::Written);
    assert_eq!(archive.put(&key(1), &two).expect("it is put"), Put::WasThere);
    assert_eq!(archive.incidents(|_| true).expect("they are read"), two.each_ref().map(brief));
    assert_eq!(archive.incidents(|day| day > date(2026, 11, 18)).expect("they are read"), []);
}

#[test]
fn what_another_wrote_under_our_name_is_no_success() {
    let Place { folder: _folder, archive } = place();
    archive.put(&key(1), &[incident(1)]).expect("it is put");
    let again = archive.put(&key(1), &[incident(2)]);
    assert!(matches!(again, Err(ArchiveError::Foreign { .. })), "{again:?}");
}

#[test]
fn damaged_objects_are_left_out_and_counted() {
    let Place { folder, archive } = place();
    for number in 1..=3 {
        archive.put(&key(number), &[incident(number)]).expect("it is put");
    }
    let paths = archive.objects(|_| true).expect("they are listed");
    let [half, long] = [&paths[0], &paths[1]].map(|path| folder.path().join(path));
    let whole = std::fs::read(&half).expect("it is read");
    std::fs::write(&half, &whole[..whole.len() / 2]).expect("it is written");
    std::fs::File::create(&long).expect("it is made").set_len(1 << 40).expect("it is a hole");
    assert_eq!(archive.incidents(|_| true).expect("they are read"), [brief(&incident(3))]);
    assert_eq!(archive.damaged(), paths[..2]);
    // Whoever wrote it writes it again, and nobody else does.
    assert_eq!(archive.put(&key(1), &[incident(1)]).expect("it is mended"), Put::WasThere);
    let mended = [1, 3].map(|number| brief(&incident(number)));
    assert_eq!(archive.incidents(|_| true).expect("they are read"), mended);
}

#[test]
fn the_incidents_of_all_objects_are_bounded_together() {
    let Place { folder: _folder, archive } = place();
    let long = |number| Incident { headline: "x".repeat(100_000), ..incident(number) };
    for number in 1..=3 {
        archive.put(&key(number), &[long(number)]).expect("it is put");
    }
    // An incident that is in two objects is held once.
    archive.put(&key(4), &[long(1), long(2), long(3)]).expect("it is put");
    let read = |max_held_bytes| {
        archive.wait(async {
            let objects = archive.objects_where(None, |_| true).await?;
            archive.read_all(objects, read_briefly, max_held_bytes).await
        })
    };
    assert_eq!(read(310_000).expect("they are read").len(), 3);
    let refused = read(250_000);
    assert!(matches!(refused, Err(ArchiveError::TooMuch { .. })), "{refused:?}");
    assert!(archive.damaged().is_empty(), "none of them is damaged");
}

#[test]
fn compaction_leaves_damaged_objects_where_they_are() {
    let Place { folder, archive } = place();
    for number in 1..=3 {
        archive.put(&key(number), &[incident(number)]).expect("it is put");
    }
    let damaged = archive.objects(|_| true).expect("they are listed").remove(1);
    std::fs::write(folder.path().join(&damaged), "PAR1").expect("it is written");
    let done = archive.compact(date(2026, 11, 18)).expect("it is compacted");
    assert_eq!((done.read, done.written, done.incidents), (2, 1, 2));
    assert_eq!(archive.damaged(), std::slice::from_ref(&damaged));
    assert!(folder.path().join(&damaged).exists());
    let done = archive.compact(date(2026, 11, 18)).expect("it is compacted");
    assert_eq!(done.written, 0, "one readable object is left");
}

#[test]
fn compaction_may_stop_anywhere_and_run_again() {
    let Place { folder: _folder, archive } = place();
    let all: Vec<Incident> = (0..20).map(incident).collect();
    let briefs: Vec<Incident> = all.iter().map(brief).collect();
    for (number, rows) in all.chunks(4).enumerate() {
        archive.put(&key(number as u64), rows).expect("it is put");
    }
    let day = date(2026, 11, 18);
    // As if it had stopped before it removed anything: all of it is there twice.
    let path = "incidents/date=2026-11-18/compacted-x.parquet";
    archive.wait(archive.put_at(path, &all)).expect("it is put");
    assert_eq!(archive.incidents(|_| true).expect("they are read"), briefs);
    let done = archive.compact(day).expect("it is compacted");
    assert_eq!((done.read, done.written, done.incidents), (6, 1, 20));
    assert_eq!(archive.incidents(|_| true).expect("they are read"), briefs);
    let object = archive.objects(|_| true).expect("they are listed").remove(0);
    let object = archive.bytes(&object).expect("it is read");
    assert_eq!(parquet::read(object.into()).expect("it is read"), all, "documents are kept");
    assert_eq!(archive.compact(day).expect("it is compacted").read, 0);
    archive.put(&key(99), &[incident(99)]).expect("it is put");
    assert_eq!(archive.compact(day).expect("it is compacted").incidents, 21);
    assert_eq!(archive.objects(|_| true).expect("they are listed").len(), 1);
}

#[test]
fn old_days_are_forgotten() {
    let Place { folder: _folder, archive } = place();
    archive.put(&key(1), &[incident(1)]).expect("it is put");
    assert_eq!(archive.remove_before(date(2026, 11, 18)).expect("it is removed"), 0);
    assert_eq!(archive.remove_before(date(2026, 11, 19)).expect("it is removed"), 1);
    assert_eq!(archive.incidents(|_| true).expect("they are read"), []);
}

#[test]
fn an_address_that_names_no_store_says_so() {
    for url in ["gs://bucket", "http://x"] {
        assert!(matches!(Archive::open(url), Err(ArchiveError::Address { .. })), "{url}");
    }
    let Place { folder, .. } = place();
    let absent = folder.path().join("absent");
    assert!(Archive::existing(absent.to_str().expect("text")).is_err());
    assert!(!absent.exists(), "nothing is made");
    assert!(Archive::existing(folder.path().to_str().expect("text")).is_ok());
}

#[test]
fn links_in_a_folder_are_counted_and_lead_nowhere() {
    use std::os::unix::fs::symlink;
    let Place { folder, archive } = place();
    let outside = tempfile::tempdir().expect("a folder");
    let secret = outside.path().join("00-n1-a-0000000009.parquet");
    let bytes = parquet::write(&[incident(9)]).expect("it is made");
    std::fs::write(&secret, &bytes).expect("it is written");
    archive.put(&key(1), &[incident(1)]).expect("it is put");
    let day = folder.path().join("incidents/date=2026-11-18");
    symlink(&secret, day.join("00-n1-a-0000000009.parquet")).expect("a link");
    symlink(outside.path(), folder.path().join("incidents/date=2026-11-17")).expect("a link");
    std::fs::write(day.join("mine.parquet"), &bytes).expect("it is written");
    assert_eq!(archive.incidents(|_| true).expect("they are read"), [brief(&incident(1))]);
    assert_eq!(archive.passed_over().len(), 3);
    std::fs::write(folder.path().join("incidents/date=2026-11-16"), "").expect("it is written");
    archive.objects(|_| true).expect("they are listed");
    let days: Vec<_> = archive.days_passed_over().into_iter().collect();
    assert_eq!(days, [16, 17, 18].map(|day| date(2026, 11, day)));
    // Also by its name, as if it had been swapped after the listing.
    for path in
        ["date=2026-11-18/00-n1-a-0000000009.parquet", "date=2026-11-17/00-n1-a-0000000009.parquet"]
    {
        let path = format!("incidents/{path}");
        assert!(matches!(archive.bytes(&path), Err(ArchiveError::Folder { .. })), "{path}");
        assert!(archive.remove_all(&[path]).is_err());
    }
    assert_eq!(archive.remove_before(date(2026, 11, 19)).expect("it is removed"), 1);
    assert_eq!(std::fs::read(&secret).expect("it is there"), bytes);
    assert!(day.join("mine.parquet").exists());
}
