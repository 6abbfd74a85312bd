//! Any bytes as an export of Nsight Systems, as they are or over a sound one: refused or judged, never a panic.
#![no_main]
#![allow(clippy::disallowed_methods, reason = "the target's own file")]

use std::{fs, path::PathBuf, sync::OnceLock};

use libfuzzer_sys::fuzz_target;
use rusqlite::Connection;
use whyoom_memory::Model;
use whyoom_sources::nsys;
use whyoom_trace::Tables;

const SOUND: &str = "
PRAGMA page_size = 512;
CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT);
CREATE TABLE CUDA_GPU_MEMORY_USAGE_EVENTS (start INT, globalPid INT, deviceId INT, contextId INT, address INT,
    bytes INT, memKind INT, memoryOperationType INT, name TEXT, correlationId INT, streamId INT,
    localMemoryPoolAddress INT, localMemoryPoolReleaseThreshold INT, localMemoryPoolSize INT,
    localMemoryPoolUtilizedSize INT);
CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INT, end INT, globalTid INT, correlationId INT, nameId INT,
    returnValue INT, callchainId INT);
CREATE TABLE CUDA_CALLCHAINS (id INT, symbol INT, module INT, stackDepth INT, PRIMARY KEY (id, stackDepth));
CREATE TABLE NVTX_EVENTS (start INT, end INT, eventType INT, text TEXT, globalTid INT, textId INT);
CREATE TABLE TARGET_INFO_GPU (id INT, totalMemory INT);
INSERT INTO StringIds VALUES (1, 'cudaMalloc_v3020'), (2, 'main');
INSERT INTO CUDA_GPU_MEMORY_USAGE_EVENTS VALUES (1, 0, 0, 1, 4096, 512, 2, 0, NULL, 1, 7, 99, 0, 600, 512),
    (2, 0, 0, 1, 8192, 64, 1, 0, NULL, 2, 7, NULL, NULL, NULL, NULL),
    (3, 0, 0, 1, 4096, 512, 2, 1, NULL, 3, 7, 99, 0, 600, 0);
INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (1, 2, 0, 1, 1, 0, 1), (5, 6, 0, 2, 1, 2, 1);
INSERT INTO CUDA_CALLCHAINS VALUES (1, 2, 2, 0);
INSERT INTO NVTX_EVENTS VALUES (2, 3, 59, 'step 1', 0, NULL);
INSERT INTO TARGET_INFO_GPU VALUES (0, 1000);
";

fn scratch() -> &'static PathBuf {
    static FILE: OnceLock<PathBuf> = OnceLock::new();
    FILE.get_or_init(|| {
        // Memory, where the machine has a file system for it: the file is written for every input.
        let memory = PathBuf::from("/dev/shm");
        let folder = if memory.is_dir() { memory } else { std::env::temp_dir() };
        folder.join(format!("whyoom-fuzz-{}.sqlite", std::process::id()))
    })
}

fn sound() -> &'static Vec<u8> {
    static BYTES: OnceLock<Vec<u8>> = OnceLock::new();
    BYTES.get_or_init(|| {
        let _ = fs::remove_file(scratch());
        Connection::open(scratch()).unwrap().execute_batch(SOUND).unwrap();
        fs::read(scratch()).unwrap()
    })
}

/// The file that the bytes stand for: themselves, or bytes over a sound one.
fn file(bytes: &[u8]) -> Vec<u8> {
    let Some((&how, rest)) = bytes.split_first() else { return Vec::new() };
    if how % 4 == 0 {
        return [b"SQLite format 3\0", rest].concat();
    }
    let mut file = sound().clone();
    for change in rest.chunks_exact(3) {
        let place = usize::from(u16::from_le_bytes([change[0], change[1]])) % file.len();
        file[place] = change[2];
    }
    file
}

fuzz_target!(|bytes: &[u8]| {
    let bytes = file(bytes);
    fs::write(scratch(), &bytes).unwrap();
    let (mut tables, mut model) = (Tables::default(), Model::default());
    if nsys::import(scratch(), "fuzz", &mut tables, &mut model).is_ok() {
        let _ = whyoom_causes::judge(&model, &tables);
    }
});
