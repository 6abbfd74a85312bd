//! Runs that are told event by event, for the tests of every format.

use std::{
    io::{self, Write},
    sync::{Arc, Mutex},
};

use whyoom_trace::{
    Action, Address, Bytes, DeviceId, Event, MarkKind, MemoryKind, Origin, ProcessId, ResultCode,
    SegmentGrowth, SizeClass, StackId, Tables, Time,
};

use crate::{ExportError, Exported, Format, MakeStore, Target};

pub(crate) const GPU: DeviceId = DeviceId(0);
pub(crate) const MIB: u64 = 1 << 20;
const OUT_OF_MEMORY: ResultCode = ResultCode(2);

/// A store where there are no files.
fn in_memory() -> MakeStore {
    Box::new(|| Ok(Box::new(io::Cursor::new(Vec::new()))))
}

/// A run on its way into an export.
pub(crate) struct TestTrace {
    pub(crate) tables: Tables,
    pub(crate) events: Vec<Event>,
    pub(crate) process: ProcessId,
    clock: u64,
}

impl TestTrace {
    pub(crate) fn new() -> Self {
        let mut tables = Tables::default();
        let process = tables.process("python train.py (PID 41)");
        Self { tables, events: Vec::new(), process, clock: 1_700_000_000_000_000_000 }
    }

    /// A run of PyTorch with two stacks, that dies of a request of 64 MiB: at its peak 24 MiB of the model
    /// and 8 MiB of activations are in use in 40 MiB.
    pub(crate) fn training() -> Self {
        let mut run = Self::new();
        let model = run.stack(&[("__init__", "/home/me/model.py", 5)]);
        let forward =
            run.stack(&[("at::empty", "libtorch.so", 0), ("forward", "/home/me/model.py", 9)]);
        run.mark("step 0");
        run.segment(0, 40);
        run.block(model, 0, 24);
        run.block(forward, 24, 8);
        run.free(24);
        run.mark("step 1");
        run.block(forward, 24, 4);
        run.push(forward, Action::OutOfMemory { requested: Bytes(64 * MIB) });
        run
    }

    pub(crate) fn stack(&mut self, frames: &[(&str, &str, u32)]) -> StackId {
        let frames: Vec<_> = frames
            .iter()
            .map(|(name, file, line)| self.tables.frame_text(name, file, *line))
            .collect();
        self.tables.stack(&frames)
    }

    pub(crate) fn push(&mut self, stack: StackId, action: Action) -> &mut Event {
        self.clock += 1_000;
        let origin = Origin { process: self.process, device: GPU, ..Origin::default() };
        let time = Time(self.clock);
        self.events.push(Event { time, origin, stack, action, ..Event::default() });
        let last = self.events.len() - 1;
        &mut self.events[last]
    }

    pub(crate) fn segment(&mut self, at: u64, mebibytes: u64) {
        let (address, size) = (Address(at * MIB), Bytes(mebibytes * MIB));
        let (class, growth) = (SizeClass::Large, SegmentGrowth::Fixed);
        self.push(StackId(0), Action::SegmentAlloc { address, size, class, growth });
    }

    pub(crate) fn block(&mut self, stack: StackId, at: u64, mebibytes: u64) {
        let (address, size) = (Address(at * MIB), Bytes(mebibytes * MIB));
        self.push(stack, Action::BlockAlloc { address, requested: size, size });
    }

    pub(crate) fn free(&mut self, at: u64) {
        self.push(StackId(0), Action::BlockFree { address: Address(at * MIB) });
    }

    pub(crate) fn mark(&mut self, name: &str) {
        let name = self.tables.string(name);
        self.push(StackId(0), Action::Mark { kind: MarkKind::Iteration, name });
    }

    pub(crate) fn take(&mut self, stack: StackId, at: u64, mebibytes: u64) {
        let (kind, address) = (MemoryKind::Device, Address(at * MIB));
        self.push(stack, Action::Alloc { kind, address, size: Bytes(mebibytes * MIB) });
    }

    /// Everything odd that a run may hold, in one.
    pub(crate) fn odd() -> Self {
        let mut run = Self::new();
        run.block(StackId(0), 1, 2);
        // The same address again, twice; an address that nobody has; one at the end of all addresses.
        run.block(StackId(7_000_000), 1, 3);
        run.block(StackId(0), 1, 1);
        run.free(99);
        let (address, size) = (Address(u64::MAX - 5), Bytes(u64::MAX));
        run.push(StackId(0), Action::BlockAlloc { address, requested: size, size });
        run.push(StackId(0), Action::BlockFreeRequested { address });
        run.push(StackId(0), Action::OutOfMemory { requested: size }).result = OUT_OF_MEMORY;
        run.push(StackId(0), Action::ContextDestroy).origin.device = DeviceId::UNKNOWN;
        run.push(StackId(0), Action::Exit).origin.process = ProcessId(4_000_000);
        run.push(StackId(0), Action::Exit).time = Time(0);
        run
    }

    /// A run of very many processes with long names, each with a block.
    pub(crate) fn crowd(processes: u64) -> Self {
        let mut run = Self::new();
        for number in 0..processes {
            run.process = run.tables.process(format!("rank {number} {}", "of many ".repeat(8)));
            run.block(StackId(0), number, 1);
        }
        run
    }

    /// The file that a format makes of it.
    pub(crate) fn export(
        &self,
        format: &Format,
        process: Option<&str>,
    ) -> Result<(Vec<u8>, Exported), ExportError> {
        let file = Kept::default();
        let target = Target {
            out: Box::new(file.clone()),
            store: in_memory(),
            process: process.map(str::to_owned),
        };
        let mut export = (format.start)(target)?;
        self.events.iter().for_each(|event| export.event(event, &self.tables));
        let exported = export.finish(&self.tables)?;
        let bytes = file.0.lock().map(|bytes| bytes.clone()).unwrap_or_default();
        Ok((bytes, exported))
    }
}

/// A file in memory.
#[derive(Clone, Default)]
struct Kept(Arc<Mutex<Vec<u8>>>);

impl Write for Kept {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut kept = self.0.lock().map_err(|_| io::Error::other("poisoned"))?;
        kept.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A disk that is full after so many bytes.
struct Full(usize);

impl Write for Full {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 = self.0.checked_sub(bytes.len()).ok_or(io::ErrorKind::StorageFull)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

mod tests {
    use super::*;
    use crate::FORMATS;

    #[test]
    fn every_format_takes_odd_runs_and_crowds() {
        for format in FORMATS {
            for run in [TestTrace::odd(), TestTrace::crowd(20_000)] {
                let (bytes, _) = run.export(format, None).unwrap();
                assert!(!bytes.is_empty(), "{}", format.name);
            }
        }
    }

    #[test]
    fn an_empty_run_is_an_empty_file_or_said_to_be_nothing() {
        for format in FORMATS {
            match TestTrace::new().export(format, None) {
                Ok((bytes, _)) => assert!(!bytes.is_empty(), "{}", format.name),
                Err(error) => assert!(matches!(error, ExportError::Nothing { .. }), "{error}"),
            }
        }
    }

    #[test]
    fn the_same_run_makes_the_same_file() {
        for format in FORMATS {
            let [one, two] =
                [(), ()].map(|()| TestTrace::training().export(format, None).unwrap().0);
            assert!(one == two, "{}", format.name);
        }
    }

    #[test]
    fn a_full_disk_is_told() {
        for format in FORMATS {
            for room in [0, 40] {
                let target =
                    Target { out: Box::new(Full(room)), store: in_memory(), process: None };
                let run = TestTrace::training();
                let outcome = (format.start)(target).and_then(|mut export| {
                    run.events.iter().for_each(|event| export.event(event, &run.tables));
                    export.finish(&run.tables)
                });
                assert!(outcome.is_err(), "{} in {room} bytes", format.name);
            }
        }
    }
}
