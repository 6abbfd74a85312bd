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
        if known.stuck {
            self.machine.note_launch(false);
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
    /// So may the value that a loop waits for: one that does not end is run once, since all calls wait meanwhile.
    pub fn compute(&mut self, launch: &Launch, values: &[Vec<u8>]) -> Result<()> {
        let function = self.known_function(launch.function)?;
        let Some(code) = self.image_of(function.module)?.code().cloned() else { return Ok(()) };
        let name = function.name.clone();
        let Some(Ok(kernel)) = code.kernel(&name) else { return Ok(()) };
        let values = values.iter().map(Vec::as_slice);
        let parameters = kernel.packed(values).ok_or(Error::InvalidValue)?;
        let Launch { grid, block, shared, .. } = *launch;
        let id = launch.function;
        let launch = whyoom_lab_ptx::Launch { grid, block, shared, parameters };
        let outcome = kernel.run(&launch, &mut LiveMemory { driver: self, known: Vec::new() });
        self.machine.note_launch(outcome.is_ok());
        let Some(why) = outcome.err().and_then(reason) else { return Ok(()) };
        self.tell_once(&name, why);
        if let (Err(Fault::Endless | Fault::Deadlock), Some(function)) =
            (outcome, self.functions.get_mut(&id))
        {
            function.stuck = true;
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

/// What to say of a kernel that was ended.
fn reason(fault: Fault) -> Option<&'static str> {
    match fault {
        Fault::IllegalAddress(_) => Some("was ended: it accessed memory that is not there"),
        Fault::Endless => {
            Some("was ended: a loop ran beyond the limit. Later launches of it do nothing")
        }
        Fault::Deadlock => Some(
            "was ended: its threads wait for each other for ever. Later launches of it do nothing",
        ),
        _ => None,
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        image::Image,
        machine::{DeviceSpec, Machine, MachineSpec},
        models,
    };

    const STUCK: &str = ".version 8.0\n.visible .entry endless()\n{ L: bra L; }\n\
        .visible .entry waits()\n{ .reg .pred %p1; .reg .b32 %r1; mov.u32 %r1, %tid.x;\n\
        setp.eq.u32 %p1, %r1, 0; @%p1 bra ONE; bar.sync 0; ret; ONE: bar.sync 1; ret; }";

    fn driver(folder: &std::path::Path) -> Driver {
        let device = DeviceSpec::of(models::find(models::DEFAULT).expect("a model"));
        let spec = MachineSpec { devices: vec![device], ..MachineSpec::default() };
        let machine = Machine::create(&folder.join("state"), &spec).expect("a machine");
        Driver::on(machine, &[0], None).expect("a driver")
    }

    #[test]
    fn a_kernel_that_never_ends_is_told_and_run_once() {
        let folder = std::env::temp_dir().join(format!("whyoom-stuck-{}", std::process::id()));
        std::fs::create_dir(&folder).expect("a folder");
        let mut driver = driver(&folder);
        let context = driver.retain_primary(0).expect("a context");
        let module = driver.load_module(Some(context), Image::from_ptx(STUCK).expect("an image"));
        for (name, why) in [("endless", "a loop"), ("waits", "its threads wait")] {
            let function = driver.function(module, name).expect("it is there");
            let launch = Launch { function, grid: [1; 3], block: [2, 1, 1], shared: 0, stream: 0 };
            assert_eq!(driver.parameter_sizes(function), Some(Vec::new()), "{name}");
            driver.compute(&launch, &[]).expect("no failure of the program");
            let told = |line: &String| line.contains(&format!("{name} was ended: {why}"));
            assert_eq!(driver.told_kernels.iter().filter(|line| told(line)).count(), 1, "{name}");
            let before = driver.machine.observations().launches_skipped;
            assert_eq!(driver.parameter_sizes(function), None, "{name} is run again");
            assert_eq!(driver.machine.observations().launches_skipped, before + 1, "{name}");
        }
        std::fs::remove_dir_all(&folder).expect("it is there");
    }
}
