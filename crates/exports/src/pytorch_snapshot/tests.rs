//! What the file means is tested where it is read: `crates/whyoom/tests/exports.rs`, and by PyTorch's own
//! viewer in `cargo xtask exports`.

use whyoom_trace::{Action, StackId};

use super::FORMAT;
use crate::{ExportError, test_trace::TestTrace};

fn has(bytes: &[u8], text: &str) -> bool {
    bytes.windows(text.len()).any(|window| window == text.as_bytes())
}

#[test]
fn it_is_a_pickle_of_protocol_4() {
    let (bytes, exported) = TestTrace::training().export(&FORMAT, None).unwrap();
    assert!(bytes.starts_with(&[0x80, 4]) && bytes.ends_with(b"."));
    assert!(has(&bytes, "segment_alloc") && has(&bytes, "device_free"));
    assert_eq!(exported.notes, Vec::<String>::new());
}

#[test]
fn what_was_restored_is_no_history() {
    let mut run = TestTrace::new();
    run.segment(0, 4);
    run.block(StackId(0), 0, 2);
    run.push(StackId(0), Action::HistoryStart);
    let (bytes, _) = run.export(&FORMAT, None).unwrap();
    assert!(has(&bytes, "active_allocated"), "it is in the state");
    assert!(!has(&bytes, "segment_alloc"), "and not in the history");
}

#[test]
fn it_is_of_one_process() {
    let mut run = TestTrace::training();
    run.process = run.tables.process("python serve.py (PID 42)");
    run.take(StackId(0), 0, 512);
    let (most, exported) = run.export(&FORMAT, None).unwrap();
    assert!(has(&most, "segment_alloc") && !has(&most, "oom"), "the one with 512 MiB");
    assert!(exported.notes[0].contains("serve.py") && exported.notes[0].contains("1 more"));
    let (asked, _) = run.export(&FORMAT, Some("PID 41")).unwrap();
    assert!(has(&asked, "oom"));
    let refused = run.export(&FORMAT, Some("PID 43")).unwrap_err();
    assert!(matches!(&refused, ExportError::NoSuchProcess { .. }), "{refused}");
    assert!(refused.to_string().contains("train.py"), "{refused}");
}
