use std::{fmt::Write as _, fs, path::PathBuf};

use rusqlite::Connection;
use tempfile::TempDir;
use whyoom_trace::{Action, Event};

use super::*;

/// The tables that matter, with the columns of Nsight Systems 2024 and later.
const SCHEMA: &str = "
CREATE TABLE StringIds (id INTEGER NOT NULL PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE CUDA_GPU_MEMORY_USAGE_EVENTS (
    start INTEGER NOT NULL, globalPid INTEGER NOT NULL, deviceId INTEGER NOT NULL, contextId INTEGER NOT NULL,
    address INTEGER NOT NULL, pc INTEGER NOT NULL, bytes INTEGER NOT NULL, memKind INTEGER NOT NULL,
    memoryOperationType INTEGER NOT NULL, name TEXT, correlationId INTEGER, streamId INTEGER,
    localMemoryPoolAddress INTEGER, localMemoryPoolReleaseThreshold INTEGER, localMemoryPoolSize INTEGER,
    localMemoryPoolUtilizedSize INTEGER, importedMemoryPoolAddress INTEGER, importedMemoryPoolProcessId INTEGER);
CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (
    start INTEGER NOT NULL, end INTEGER NOT NULL, eventClass INTEGER NOT NULL, globalTid INTEGER,
    correlationId INTEGER, nameId INTEGER NOT NULL, returnValue INTEGER NOT NULL, callchainId INTEGER);
CREATE TABLE CUDA_CALLCHAINS (
    id INTEGER NOT NULL, symbol INTEGER NOT NULL, module INTEGER NOT NULL, unresolved INTEGER,
    originalIP INTEGER, stackDepth INTEGER NOT NULL, PRIMARY KEY (id, stackDepth));
CREATE TABLE NVTX_EVENTS (
    start INTEGER NOT NULL, end INTEGER, eventType INTEGER NOT NULL, text TEXT, globalTid INTEGER, textId INTEGER);
CREATE TABLE TARGET_INFO_GPU (id INTEGER NOT NULL, name TEXT, totalMemory INTEGER);
CREATE TABLE PROCESSES (globalPid INTEGER, pid INTEGER, name TEXT);
CREATE TABLE TARGET_INFO_SESSION_START_TIME (utcEpochNs INTEGER, utcTime TEXT, localTime TEXT);
";

/// `(1 << 56) | (100 << 24)`, and its first thread.
const PID: i64 = (1 << 56) | (100 << 24);
const TID: i64 = PID | 100;

/// A database that these statements make.
fn database(statements: &str) -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a report?.sqlite");
    let connection = Connection::open(&path).unwrap();
    connection.execute_batch(statements).unwrap();
    (folder, path)
}

/// An allocation (0) or a free (1).
fn memory(time: i64, device: i64, address: i64, bytes: i64, kind: i64, operation: i64) -> String {
    format!(
        "INSERT INTO CUDA_GPU_MEMORY_USAGE_EVENTS (start, globalPid, deviceId, contextId, address, pc, bytes, \
         memKind, memoryOperationType, correlationId) VALUES \
         ({time}, {PID}, {device}, 1, {address}, 0, {bytes}, {kind}, {operation}, {time});"
    )
}

fn call(start: i64, end: i64, name: i64, result: i64, chain: &str) -> String {
    format!(
        "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES ({start}, {end}, 1, {TID}, {start}, {name}, {result}, {chain});"
    )
}

fn read(path: &Path) -> Result<(Vec<Event>, NsysSummary, Tables), NsysError> {
    let (mut tables, mut events) = (Tables::default(), Vec::new());
    let summary = import(path, "report", &mut tables, &mut events)?;
    Ok((events, summary, tables))
}

/// Every event in a word or two.
fn told(statements: &str) -> String {
    let (_folder, path) = database(&format!("{SCHEMA}{statements}"));
    let (events, _, tables) = read(&path).unwrap();
    let mut told = String::new();
    for event in events {
        let device = event.origin.device;
        match event.action {
            Action::Fact { .. } => continue,
            Action::Alloc { kind, address, size } => {
                write!(told, "{device} +{}/{} {kind:?}", address.0, size.0).unwrap();
            }
            Action::Free { address, .. } => write!(told, "{device} -{}", address.0).unwrap(),
            Action::OutOfMemory { requested } => write!(told, "{device} !{}", requested.0).unwrap(),
            Action::Sample { counter, bytes } => write!(told, "{counter:?}={}", bytes.0).unwrap(),
            Action::Mark { kind, name } => write!(told, "{kind:?} {}", tables.text(name)).unwrap(),
            other => write!(told, "{other:?}").unwrap(),
        }
        let frames: Vec<_> = tables.frames(event.stack).map(|frame| frame.function).collect();
        if !frames.is_empty() {
            write!(told, " at {}", frames.join(" < ")).unwrap();
        }
        told.push_str("; ");
    }
    told.trim_end_matches("; ").to_owned()
}

#[test]
fn allocations_and_frees_come_in_order_of_time() {
    let rows = [
        memory(30, 0, 4096, 512, 2, 1),
        memory(10, 0, 4096, 512, 2, 0),
        memory(20, 0, 8192, 64, 1, 0),
        memory(40, 1, 4096, 128, 4, 0),
    ];
    assert_eq!(
        told(&rows.concat()),
        "GPU 0 +4096/512 Device; host +8192/64 Pinned; GPU 0 -4096; GPU 1 +4096/128 Managed"
    );
}

#[test]
fn a_call_that_failed_is_told_once_with_what_the_device_has() {
    let rows = [
        "INSERT INTO StringIds VALUES (1, 'cudaMalloc_v3020'), (2, 'cuMemAlloc_v2'), (3, 'cudaGetLastError_v3020');"
            .to_owned(),
        "INSERT INTO TARGET_INFO_GPU VALUES (0, 'A GPU', 1000);".to_owned(),
        memory(10, 0, 4096, 512, 2, 0),
        call(20, 29, 1, 2, "NULL"),
        call(22, 28, 2, 2, "NULL"),
        call(30, 31, 3, 2, "NULL"),
        call(40, 41, 1, 0, "NULL"),
    ];
    assert_eq!(told(&rows.concat()), "GPU 0 +4096/512 Device; DeviceTotal=1000; GPU 0 !0");
}

#[test]
fn call_chains_become_stacks() {
    let rows = [
        "INSERT INTO StringIds VALUES (1, 'cudaMalloc_v3020'), (2, 'grow'), (3, 'main'), (4, 'program');",
        "INSERT INTO CUDA_CALLCHAINS VALUES (7, 3, 4, NULL, 0, 1), (7, 2, 4, NULL, 0, 0), (8, 3, 4, NULL, 0, 0);",
        &call(10, 11, 1, 0, "7"),
        &memory(10, 0, 4096, 512, 2, 0),
        &call(20, 21, 1, 2, "8"),
    ];
    assert_eq!(told(&rows.concat()), "GPU 0 +4096/512 Device at grow < main; GPU 0 !0 at main");
}

#[test]
fn a_pool_is_told_of_as_the_driver_told_it() {
    let rows = format!(
        "{}{}{}",
        memory(10, 0, 4096, 512, 2, 0),
        "UPDATE CUDA_GPU_MEMORY_USAGE_EVENTS SET localMemoryPoolAddress = 77, localMemoryPoolSize = 600, \
         localMemoryPoolUtilizedSize = 512, localMemoryPoolReleaseThreshold = 0;
         INSERT INTO StringIds VALUES (1, 'cudaMallocAsync_v11020');",
        call(20, 21, 1, 2, "NULL"),
    );
    assert_eq!(
        told(&rows),
        "GPU 0 +4096/512 StreamOrdered; LimitSet { limit: ReleaseThreshold, value: 0 }; \
         PoolTrim { keep: Bytes(600) }; PoolReserved=600; PoolUsed=512; PoolThreshold=0; GPU 0 !0"
    );
}

#[test]
fn iterations_are_told_by_annotations() {
    let rows = format!(
        "{}INSERT INTO StringIds VALUES (1, 'step 2');
         INSERT INTO NVTX_EVENTS VALUES (20, 25, 59, 'step 1', {TID}, NULL), (30, 35, 60, NULL, {TID}, 1),
            (40, 41, 59, 'stepwise', {TID}, NULL), (5, 6, 59, 'step 0', {TID}, NULL);",
        memory(10, 0, 4096, 512, 2, 0)
    );
    assert_eq!(told(&rows), "GPU 0 +4096/512 Device; Iteration step 1; Iteration step 2");
}

#[test]
fn a_variable_on_the_device_is_told_by_its_name() {
    let rows = format!(
        "{}UPDATE CUDA_GPU_MEMORY_USAGE_EVENTS SET name = 'table', correlationId = 0;",
        memory(10, 0, 4096, 512, 5, 0)
    );
    assert_eq!(told(&rows), "GPU 0 +4096/512 Device at variable table");
}

#[test]
fn times_and_names_are_those_of_the_world() {
    let rows = format!(
        "{}INSERT INTO PROCESSES VALUES ({PID}, 100, 'python');
         INSERT INTO TARGET_INFO_SESSION_START_TIME VALUES (1000, '', '');",
        memory(10, 0, 4096, 512, 2, 0)
    );
    let (_folder, path) = database(&format!("{SCHEMA}{rows}"));
    let (events, summary, tables) = read(&path).unwrap();
    assert_eq!(events[1].time.0, 1010);
    assert_eq!(tables.process_name(events[1].origin.process), "report: python (PID 100)");
    assert_eq!(summary.allocations, 1);
    assert!(summary.notes()[0].contains("--cudabacktrace=memory"));
}

#[test]
fn an_older_version_lacks_columns_and_tables() {
    let (_folder, path) = database(
        "CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT NOT NULL);
         CREATE TABLE CUDA_GPU_MEMORY_USAGE_EVENTS (start INT, globalPid INT, deviceId INT, contextId INT,
            address INT, pc INT, bytes INT, memKind INT, memoryOperationType INT);
         INSERT INTO CUDA_GPU_MEMORY_USAGE_EVENTS VALUES (1, 0, 0, 1, 4096, 0, 512, 2, 0), (2, 0, 0, 1, 64, 0, 8, 2, 1);",
    );
    let (events, summary, _) = read(&path).unwrap();
    assert_eq!((events.len(), summary.allocations, summary.unmatched), (2, 1, 1));
}

#[test]
fn what_is_no_such_export_says_what_to_do() {
    let words = |statements: &str| {
        let (_folder, path) = database(statements);
        read(&path).unwrap_err().to_string()
    };
    assert!(words("CREATE TABLE songs (id INT);").contains("nsys export --type sqlite"));
    let no_events = words("CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT);");
    assert!(no_events.contains("--cuda-memory-usage=true"), "{no_events}");
    let strings = "CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT);";
    let no_column =
        words(&format!("{strings}CREATE TABLE CUDA_GPU_MEMORY_USAGE_EVENTS (start INT);"));
    assert!(no_column.contains("no column address"), "{no_column}");
}

#[test]
fn neither_a_view_nor_a_computed_column_is_read() {
    let endless = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i AS start, i AS address, \
                   1 AS bytes, 0 AS memoryOperationType FROM n";
    let (_folder, path) = database(&format!(
        "CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT);
         CREATE VIEW CUDA_GPU_MEMORY_USAGE_EVENTS AS {endless};"
    ));
    assert!(matches!(read(&path), Err(NsysError::NoMemoryEvents)));
    let (_folder, path) = database(
        "CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT);
         CREATE TABLE CUDA_GPU_MEMORY_USAGE_EVENTS (start INT, address INT, bytes INT, memoryOperationType INT,
            name TEXT AS (hex(zeroblob(20000000))));
         INSERT INTO CUDA_GPU_MEMORY_USAGE_EVENTS VALUES (1, 2, 3, 0);",
    );
    // A column that is computed is none.
    let (events, ..) = read(&path).unwrap();
    assert_eq!(events[1].stack, whyoom_trace::StackId(0));
}

#[test]
fn a_join_that_never_ends_is_ended() {
    // Every call names every string: without an index, each would look through all of them.
    let many = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 2000)";
    let (_folder, path) = database(&format!(
        "{}{}
         INSERT INTO StringIds {many} SELECT 1, 'cudaMalloc' FROM n;
         INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME {many} SELECT i, i, 1, {TID} + i, i, 1, 2, NULL FROM n;",
        SCHEMA.replace(" PRIMARY KEY,", ","),
        memory(10, 0, 4096, 512, 2, 0)
    ));
    assert!(matches!(read(&path), Err(NsysError::TooMuchWork)), "4 million rows of some kilobytes");
}

#[test]
fn many_processes_take_little() {
    let many = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 3000)";
    let (_folder, path) = database(&format!(
        "{SCHEMA}INSERT INTO CUDA_GPU_MEMORY_USAGE_EVENTS (start, globalPid, deviceId, contextId, address, pc, bytes, \
         memKind, memoryOperationType) {many} SELECT i, i << 24, i, 1, i, 0, 1, 2, 0 FROM n;"
    ));
    let (_, summary, _) = read(&path).unwrap();
    assert_eq!((summary.allocations, summary.passed_over), (1024, 1976));
}

#[test]
fn a_damaged_file_is_refused() {
    let (_folder, path) = database(&format!("{SCHEMA}{}", memory(10, 0, 4096, 512, 2, 0)));
    let whole = fs::read(&path).unwrap();
    for length in [100, 1000, whole.len() / 2] {
        fs::write(&path, &whole[..length]).unwrap();
        assert!(read(&path).is_err(), "{length} bytes");
    }
    fs::write(&path, b"SQLite format 3\0").unwrap();
    assert!(read(&path).is_err());
    assert!(whole.starts_with(b"SQLite format 3\0"));
}
