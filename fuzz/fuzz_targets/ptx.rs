//! Any text as a module of PTX: parsed and run on a small memory, never a panic, never beyond the limit.
#![no_main]

use libfuzzer_sys::fuzz_target;
use whyoom_lab_ptx::{Launch, Memory, Module, WORK_LIMIT, Wild};

/// Loops go on beyond the limit of a launch by this factor at most.
const LOOPS: u64 = 4;

/// An atomic instruction reads and writes; no other accesses memory more often.
const ACCESSES: u64 = 2;

struct Page {
    bytes: [u8; 4096],
    accesses: u64,
}

impl Page {
    /// Counted at each access: a launch that never ends is noticed too, if it uses memory.
    fn count(&mut self) {
        self.accesses += 1;
        assert!(self.accesses <= WORK_LIMIT * LOOPS * ACCESSES, "{} accesses", self.accesses);
    }
}

impl Memory for Page {
    fn read(&mut self, address: u64, bytes: &mut [u8]) -> Result<(), Wild> {
        self.count();
        let end = usize::try_from(address).ok().and_then(|start| start.checked_add(bytes.len()));
        let found = end.and_then(|end| self.bytes.get(address as usize..end)).ok_or(Wild)?;
        bytes.copy_from_slice(found);
        Ok(())
    }

    fn write(&mut self, address: u64, bytes: &[u8]) -> Result<(), Wild> {
        self.count();
        let end = usize::try_from(address).ok().and_then(|start| start.checked_add(bytes.len()));
        let found = end.and_then(|end| self.bytes.get_mut(address as usize..end)).ok_or(Wild)?;
        found.copy_from_slice(bytes);
        Ok(())
    }
}

fuzz_target!(|text: &str| {
    let Ok(module) = Module::parse(text) else { return };
    for name in module.names() {
        let Some(Ok(kernel)) = module.kernel(name) else { continue };
        let values: Vec<Vec<u8>> = kernel.parameters().map(|size| vec![8; size]).collect();
        let parameters =
            kernel.packed(values.iter().map(Vec::as_slice)).expect("as many as declared");
        let launch = Launch { grid: [2, 1, 1], block: [33, 1, 1], shared: 64, parameters };
        // How it ends is no matter here.
        let _ = kernel.run(&launch, &mut Page { bytes: [0; 4096], accesses: 0 });
    }
});
