//! Small kernels in PTX are computed, because programs decide by what they write.

use std::io::Write;

use whyoom_lab_ptx::{Fault, Memory, Wild};

use super::{Driver, FunctionId, Launch};
use crate::{
    backing,
    error::{Error, Result},
    machine::Effect,
};

/// Ranges of memory that a launch has used lately: there are few, and looking one up takes a while.
const KNOWN_RANGES: usize = 8;

impl Driver {
    /// The bytes of each parameter of a kernel that can be computed. One that cannot is counted.
    pub fn parameter_sizes(&mut self, function: FunctionId) -> Option<Vec<usize>> {
        let known = self.known_function(function).ok()?;
        if matches!(known.effect, Some(Effect::HeapExhausted | Effect::Fail)) {
            return None;
        }
        let refused = match self.image_of(known.module).ok()?.code()?.kernel(&known.name)? {
            Ok(kernel) => return Some(kernel.parameters().collect()),
            Err(refused) => refused.0.clone(),
        };
        self.machine.note_launch(false);
        if self.refused.insert(refused.clone()) {
            let name = self.function_name(function).unwrap_or("").to_owned();
            self.tell_once(&name, &format!("does nothing: {refused} is not implemented"));
        }
        None
    }

    /// Runs a kernel with the bytes of its parameters, if that is little work. An access to memory that is not there
    /// ends it, and is no failure of the program: the index may come from another kernel, which computed nothing.
    pub fn compute(&mut self, launch: &Launch, values: &[Vec<u8>]) -> Result<()> {
        let function = self.known_function(launch.function)?;
        let Some(code) = self.image_of(function.module)?.code().cloned() else { return Ok(()) };
        let name = function.name.clone();
        let Some(Ok(kernel)) = code.kernel(&name) else { return Ok(()) };
        let values = values.iter().map(Vec::as_slice);
        let parameters = kernel.packed(values).ok_or(Error::InvalidValue)?;
        let Launch { grid, block, shared, .. } = *launch;
        let launch = whyoom_lab_ptx::Launch { grid, block, shared, parameters };
        let outcome = kernel.run(&launch, &mut LiveMemory { driver: self, known: Vec::new() });
        self.machine.note_launch(outcome.is_ok());
        if let Err(Fault::IllegalAddress(_)) = outcome {
            self.tell_once(&name, "was ended: it accessed memory that is not there");
        }
        Ok(())
    }

    /// Says something of a kernel that does not do its work, once.
    fn tell_once(&mut self, name: &str, what: &str) {
        let line = format!("whyoom lab: the kernel {name} {what}.");
        if self.told_kernels.insert(line.clone()) {
            // Nobody reads it: nothing is lost but the line.
            drop(writeln!(std::io::stderr(), "{line}"));
        }
    }
}

/// Memory that is live in this process.
struct LiveMemory<'d> {
    driver: &'d mut Driver,
    known: Vec<Range>,
}

#[derive(Clone, Copy)]
struct Range {
    start: u64,
    end: u64,
    written: bool,
}

impl LiveMemory<'_> {
    /// The bytes must lie within one live range.
    fn check(
        &mut self,
        address: u64,
        length: usize,
        writes: bool,
    ) -> std::result::Result<(), Wild> {
        let end = address.checked_add(length as u64).ok_or(Wild)?;
        let holds = |range: &Range| range.start <= address && end <= range.end;
        let known = self.known.iter().any(|range| holds(range) && (range.written || !writes));
        if known {
            return Ok(());
        }
        let held = self.driver.find(address).ok_or(Wild)?;
        let range = Range { start: held.start, end: held.start + held.size, written: writes };
        if !holds(&range) {
            return Err(Wild);
        }
        if writes {
            self.driver.touch(address);
        }
        self.known.truncate(KNOWN_RANGES - 1);
        self.known.insert(0, range);
        Ok(())
    }
}

impl Memory for LiveMemory<'_> {
    fn read(&mut self, address: u64, bytes: &mut [u8]) -> std::result::Result<(), Wild> {
        self.check(address, bytes.len(), false)?;
        backing::copy(bytes.as_mut_ptr() as u64, address, bytes.len() as u64, false);
        Ok(())
    }

    fn write(&mut self, address: u64, bytes: &[u8]) -> std::result::Result<(), Wild> {
        self.check(address, bytes.len(), true)?;
        backing::copy(address, bytes.as_ptr() as u64, bytes.len() as u64, false);
        Ok(())
    }
}
