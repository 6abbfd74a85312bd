//! The machine that the processes of one lab share: its devices and who holds what on them.

mod effects;
mod layout;
mod liveness;
mod lock;
mod mapping;
mod observations;
mod shared_memory;

use std::{
    io,
    path::Path,
    sync::atomic::Ordering::{Acquire, Relaxed, Release},
};

pub use effects::{Effect, KernelEffect};
pub use layout::{MAX_DEVICES, MAX_PROCESSES};
pub use liveness::Identity;
pub use observations::Observations;
pub use shared_memory::SharedMemory;

use self::layout::{ProcessRecord, StateFile};
use crate::{
    error::{Error, Result},
    models::{GpuModel, MODELS},
};

/// The environment variable that names the state file to the processes of a lab.
pub const STATE_VARIABLE: &str = "WHYOOM_LAB";

/// What a new machine is made of.
#[derive(Clone, Debug, Default)]
pub struct MachineSpec {
    /// Its devices, in order.
    pub devices: Vec<DeviceSpec>,
    /// The allocation that fails, counted from 1 over the whole lab.
    pub fail_allocation: Option<u64>,
    /// How long each synchronize takes at least.
    pub synchronize_nanoseconds: u64,
    /// Kernels that do something.
    pub effects: Vec<KernelEffect>,
    /// Copies to a device beyond this length take no time and bring nothing there: nothing is computed
    /// with them. All of them do where it is absent.
    pub largest_kept_copy: Option<u64>,
}

/// One device of a new machine.
#[derive(Clone, Copy, Debug)]
pub struct DeviceSpec {
    /// Which GPU it is.
    pub model: &'static GpuModel,
    /// What the driver calls its total memory.
    pub total: u64,
    /// What NVML calls its total memory.
    pub nvml_total: u64,
    /// What can be taken of it. More than the total where programs should see the device as it is, but
    /// not run out.
    pub capacity: u64,
}

impl DeviceSpec {
    /// A device as its model says.
    #[must_use]
    pub fn of(model: &'static GpuModel) -> Self {
        let (total, nvml_total) = (model.total.value, model.nvml_total.value);
        Self { model, total, nvml_total, capacity: total }
    }

    /// The same with another amount of memory; what the driver keeps for itself stays.
    #[must_use]
    pub fn with_total(self, total: u64) -> Self {
        let reserved = self.nvml_total - self.total;
        Self { total, nvml_total: total + reserved, capacity: total, ..self }
    }

    /// The same, but so much of it can be taken, whatever it says it has.
    #[must_use]
    pub fn with_capacity(self, capacity: u64) -> Self {
        Self { capacity, ..self }
    }
}

/// A process that holds memory of a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Holder {
    /// Its number.
    pub pid: u32,
    /// What it holds.
    pub bytes: u64,
}

/// This process's record in the machine.
#[derive(Clone, Copy, Debug)]
pub struct Membership {
    slot: usize,
}

/// A machine, mapped into this process.
#[derive(Clone, Copy)]
pub struct Machine {
    file: &'static StateFile,
}

impl Machine {
    /// Makes a machine in a new file.
    pub fn create(path: &Path, spec: &MachineSpec) -> io::Result<Self> {
        if spec.devices.len() > MAX_DEVICES || spec.effects.len() > layout::MAX_EFFECTS {
            return Err(io::Error::other(format!(
                "a lab has at most {MAX_DEVICES} devices and {} kernels with an effect",
                layout::MAX_EFFECTS
            )));
        }
        let file = mapping::create(path)?;
        file.lock.initialize();
        for (record, device) in file.devices.iter().zip(&spec.devices) {
            let model = MODELS.iter().position(|model| model.name == device.model.name);
            record.model.store(model.unwrap_or_default() as u64, Relaxed);
            record.total.store(device.total, Relaxed);
            record.nvml_total.store(device.nvml_total, Relaxed);
            record.capacity.store(device.capacity, Relaxed);
        }
        for (record, effect) in file.effects.iter().zip(&spec.effects) {
            record.write(effect);
        }
        file.faults.fail_allocation.store(spec.fail_allocation.unwrap_or_default(), Relaxed);
        file.faults.synchronize_nanoseconds.store(spec.synchronize_nanoseconds, Relaxed);
        let largest = spec.largest_kept_copy.unwrap_or_default();
        file.observations.largest_kept_copy.store(largest, Relaxed);
        file.device_count.store(spec.devices.len() as u64, Relaxed);
        file.magic.store(layout::MAGIC, Release);
        Ok(Self { file })
    }

    /// Opens the machine of another process.
    pub fn open(path: &Path) -> io::Result<Self> {
        let file = mapping::open(path)?;
        if file.magic.load(Acquire) != layout::MAGIC {
            return Err(io::Error::other("not the state file of a lab, or of another version"));
        }
        Ok(Self { file })
    }

    /// The machine that this process was started on.
    pub fn from_environment() -> Result<Self> {
        let path = std::env::var_os(STATE_VARIABLE).ok_or(Error::NoDevice)?;
        Self::open(Path::new(&path)).map_err(|_| Error::NoDevice)
    }

    /// How many devices it has.
    #[must_use]
    pub fn device_count(&self) -> usize {
        (self.file.device_count.load(Relaxed) as usize).min(MAX_DEVICES)
    }

    /// What a device is.
    pub fn device(&self, index: usize) -> Result<DeviceSpec> {
        if index >= self.device_count() {
            return Err(Error::InvalidDevice);
        }
        let record = &self.file.devices[index];
        let model = MODELS.get(record.model.load(Relaxed) as usize).ok_or(Error::InvalidDevice)?;
        let (total, nvml_total) = (record.total.load(Relaxed), record.nvml_total.load(Relaxed));
        let capacity = record.capacity.load(Relaxed);
        Ok(DeviceSpec { model, total, nvml_total, capacity })
    }

    /// Enters this process. What an earlier program of the same process held is forgotten.
    pub fn join(&self) -> Result<Membership> {
        let own = Identity::own();
        // Without its start time everybody else would take it for dead.
        if own.started == 0 {
            return Err(Error::OperatingSystem);
        }
        self.enter(own, false)
    }

    /// Enters a holder that the operating system does not know, as a driver that lost track would.
    pub fn join_ghost(&self, pid: u32) -> Result<Membership> {
        self.enter(Identity { pid, started: 0 }, true)
    }

    fn enter(&self, identity: Identity, ghost: bool) -> Result<Membership> {
        let _guard = self.file.lock.lock();
        self.reap(|_| true);
        let records = &self.file.processes;
        let same = |record: &&ProcessRecord| record.identity() == Some(identity);
        let free = |record: &&ProcessRecord| record.identity().is_none();
        let found = records.iter().position(|record| same(&record));
        let slot = found.or_else(|| records.iter().position(|record| free(&record)));
        let slot = slot.ok_or(Error::OperatingSystem)?;
        self.vacate(slot);
        records[slot].started.store(identity.started, Relaxed);
        records[slot].ghost.store(ghost.into(), Relaxed);
        records[slot].namespace.store(liveness::own_namespace(), Relaxed);
        // Before the record is taken: one beyond the mark would be seen by nobody.
        self.file.high_water.fetch_max(slot as u64 + 1, Relaxed);
        records[slot].pid.store(identity.pid, Release);
        Ok(Membership { slot })
    }

    /// Takes memory of a device, or none where it has too little left.
    pub fn charge(&self, member: Membership, device: usize, bytes: u64) -> Result<()> {
        let capacity = self.device(device)?.capacity;
        let _guard = self.file.lock.lock();
        let fits = || self.sum(device).checked_add(bytes).is_some_and(|sum| sum <= capacity);
        if !fits() {
            self.reap(|_| true);
            if !fits() {
                return Err(Error::OutOfMemory);
            }
        }
        self.record(member).used[device].fetch_add(bytes, Relaxed);
        self.file.observations.peak_used[device].fetch_max(self.sum(device), Relaxed);
        Ok(())
    }

    /// Gives memory of a device back.
    pub fn refund(&self, member: Membership, device: usize, bytes: u64) {
        self.record(member).used[device].fetch_sub(bytes, Relaxed);
    }

    /// Notes whether this process has a context on the device.
    pub fn set_context(&self, member: Membership, device: usize, present: bool) {
        let contexts = &self.record(member).contexts;
        if present {
            contexts.fetch_or(1 << device, Relaxed);
        } else {
            contexts.fetch_and(!(1 << device), Relaxed);
        }
    }

    /// What is in use on a device, by whomever.
    #[must_use]
    pub fn used(&self, device: usize) -> u64 {
        let _guard = self.file.lock.lock();
        self.reap(|record| record.is_on(device));
        self.sum(device)
    }

    /// The processes that have a context or memory on a device.
    #[must_use]
    pub fn holders(&self, device: usize) -> Vec<Holder> {
        let _guard = self.file.lock.lock();
        self.reap(|record| record.is_on(device));
        // As the real driver does: whoever has no number in the caller's namespace is left out.
        let own_namespace = liveness::own_namespace();
        let visible = |record: &&ProcessRecord| record.is_of(own_namespace);
        let holds = |record: &&ProcessRecord| record.is_on(device);
        let holder = |record: &ProcessRecord| {
            let bytes = record.used[device].load(Relaxed);
            record.identity().map(|identity| Holder { pid: identity.pid, bytes })
        };
        self.entered().iter().filter(visible).filter(holds).filter_map(holder).collect()
    }

    /// Counts an allocation; true where it is the one that must fail.
    #[must_use]
    pub fn must_fail(&self) -> bool {
        let count = self.file.faults.allocations.fetch_add(1, Relaxed) + 1;
        self.file.faults.fail_allocation.load(Relaxed) == count
    }

    /// How long each synchronize takes at least.
    #[must_use]
    pub fn synchronize_nanoseconds(&self) -> u64 {
        self.file.faults.synchronize_nanoseconds.load(Relaxed)
    }

    /// The kernels that do something.
    #[must_use]
    pub fn effects(&self) -> Vec<KernelEffect> {
        self.file.effects.iter().filter_map(layout::EffectRecord::read).collect()
    }

    fn record(&self, member: Membership) -> &ProcessRecord {
        &self.file.processes[member.slot]
    }

    /// The records that have ever been used.
    fn entered(&self) -> &[ProcessRecord] {
        &self.file.processes[..(self.file.high_water.load(Relaxed) as usize).min(MAX_PROCESSES)]
    }

    /// What all records together hold. Dead processes count until they are reaped.
    fn sum(&self, device: usize) -> u64 {
        let own: u64 = self.entered().iter().map(|record| record.used[device].load(Relaxed)).sum();
        own + self.shared_sum(device)
    }

    /// Gives back what dead processes held, of those that are looked at: /proc must be read for each. The
    /// lock must be held. Of processes in another namespace
    /// nobody here can tell whether they live.
    fn reap(&self, looked_at: impl Fn(&ProcessRecord) -> bool) {
        let own_namespace = liveness::own_namespace();
        for (slot, record) in self.entered().iter().enumerate() {
            let known = record.ghost.load(Relaxed) == 0 && record.is_of(own_namespace);
            if known
                && looked_at(record)
                && record.identity().is_some_and(|identity| !identity.is_alive())
            {
                self.vacate(slot);
            }
        }
    }

    /// Empties a record. Its number goes last: until then the record counts as the dead one's, and
    /// whoever comes next empties it again.
    fn vacate(&self, slot: usize) {
        let record = &self.file.processes[slot];
        self.drop_shares(slot);
        record.contexts.store(0, Relaxed);
        record.used.iter().for_each(|used| used.store(0, Relaxed));
        record.ghost.store(0, Relaxed);
        record.pid.store(0, Release);
    }
}

impl ProcessRecord {
    /// Whether it has a context or memory on a device.
    fn is_on(&self, device: usize) -> bool {
        let context = self.contexts.load(Relaxed) >> device & 1 == 1;
        context || self.used[device].load(Relaxed) > 0
    }

    fn is_of(&self, namespace: u64) -> bool {
        self.namespace.load(Relaxed) == namespace
    }

    fn identity(&self) -> Option<Identity> {
        let pid = self.pid.load(Acquire);
        (pid != 0).then(|| Identity { pid, started: self.started.load(Relaxed) })
    }
}
