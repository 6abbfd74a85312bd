//! No text makes a reader panic, whatever a program or a kernel writes.

use proptest::prelude::*;
use whyoom_node::proc::{cgroup, environ, kernel_log, mounts, signs, stat::Stat, status::Status};

/// Text that is nearly right more often than it is noise.
fn text() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        Just(" ".to_owned()),
        Just(") ".to_owned()),
        Just(" (".to_owned()),
        Just("\n".to_owned()),
        Just(":".to_owned()),
        Just("/dev/nvidia".to_owned()),
        Just("/libcuda.so.1".to_owned()),
        Just("NVRM: Xid (PCI:".to_owned()),
        Just("): ".to_owned()),
        Just("0::/kubepods-pod".to_owned()),
        Just("/slurm/job_".to_owned()),
        Just("Uid:\t".to_owned()),
        Just("\0TORCHELASTIC_RUN_ID=".to_owned()),
        Just("proc /proc proc hidepid=".to_owned()),
        any::<i64>().prop_map(|number| number.to_string()),
        any::<String>(),
    ];
    prop::collection::vec(piece, 0..60).prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn readers_take_any_text(text in text()) {
        let _ = Stat::parse(&text);
        let _ = Status::parse(&text);
        let _ = (cgroup::workload(&text), cgroup::unit(&text));
        let _ = (mounts::remote(&text), mounts::processes_hidden(&text));
        let _ = (signs::sign(&text), signs::in_maps(&text).count());
        let _ = environ::parse(&text);
        let _ = kernel_log::xid(&text);
    }
}
