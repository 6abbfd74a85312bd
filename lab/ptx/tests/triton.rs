//! What Triton 3.9 makes of kernels in `tests/scenarios/stacks/triton_kernels.py`, without comments and debug
//! information. The name of a file is the kernel's and the compute capability.
#![allow(clippy::disallowed_methods, reason = "the test's own files")]

use std::{fs, path::Path};

use whyoom_lab_ptx::Module;

#[test]
fn every_kernel_can_be_run() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures");
    let mut count = 0;
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        let text = fs::read_to_string(&path).expect("text");
        let module = Module::parse(&text).expect("a module");
        let name =
            path.file_name().and_then(|name| name.to_str()?.split('.').next()).expect("a name");
        let kernel = module.kernel(name).expect("its kernel");
        assert!(kernel.is_ok(), "{}: {:?}", path.display(), kernel.err());
        count += 1;
    }
    assert_eq!(count, 10);
}
