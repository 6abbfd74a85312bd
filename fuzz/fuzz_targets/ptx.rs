//! Any text as a module of PTX: parsed and run on a small memory, never a panic, never beyond the limit.
#![no_main]

use libfuzzer_sys::fuzz_target;
use whyoom_lab_ptx::{Launch, Memory, Module, WORK_LIMIT, Wild};

/// Loops go on beyond the limit of a launch by this factor at most.
const LOOPS: u64 = 4;

struct Page([u8; 4096]);

impl Memory for Page {
    fn read(&mut self, address: u64, bytes: &mut [u8]) -> Result<(), Wild> {
        let end = usize::try_from(address).ok().and_then(|start| start.checked_add(bytes.len()));
        let found = end.and_then(|end| self.0.get(address as usize..end)).ok_or(Wild)?;
        bytes.copy_from_slice(found);
        Ok(())
    }

    fn write(&mut self, address: u64, bytes: &[u8]) -> Result<(), Wild> {
        let end = usize::try_from(address).ok().and_then(|start| start.checked_add(bytes.len()));
        let found = end.and_then(|end| self.0.get_mut(address as usize..end)).ok_or(Wild)?;
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
        if let Ok(instructions) = kernel.run(&launch, &mut Page([0; 4096])) {
            assert!(instructions <= WORK_LIMIT * LOOPS, "{instructions} instructions");
        }
    }
});
