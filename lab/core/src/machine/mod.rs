//! The machine that the processes of one lab share: its devices and who holds what on them.

mod door;
mod effects;
mod layout;
mod limits;
mod liveness;
mod lock;
mod mapping;
mod observations;
mod owner;
mod quirks;
mod shared_memory;
mod spec;
mod spec_words;

use std::{
    io::{self, Write},
    path::Path,
    sync::{
        Once,
        atomic::Ordering::{Acquire, Relaxed, Release},
    },
};

pub use effects::{Effect, KernelEffect};
pub use limits::{MAX_DEVICES, MAX_PROCESSES};
pub use liveness::Identity;
pub use observations::Observations;
pub use quirks::Quirks;
pub use shared_memory::SharedMemory;
pub use spec::{DeviceSpec, MachineSpec, Units};

use self::{
    layout::{ProcessRecord, StateFile},
    limits::{MAX_BYTES, MAX_EFFECTS},
};
use crate::error::{Error, Result};

/// The environment variable that names the state file to the processes of a lab.
pub const STATE_VARIABLE: &str = "WHYOOM_LAB";

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

/// A process that ended while it was entered.
struct Dead {
    slot: usize,
    identity: Identity,
}

/// Says once why there is no device. Standard error may be closed.
fn say_whose_it_is(path: &Path) {
    static SAID: Once = Once::new();
    SAID.call_once(|| {
        let _ = writeln!(
            io::stderr(),
            "whyoom lab: the lab of {} is another user's: start it with --shared to let all users in",
            path.display()
        );
    });
}

/// A machine, mapped into this process.
#[derive(Clone, Copy)]
pub struct Machine {
    file: &'static StateFile,
    /// As it was when this process entered: nothing of it changes.
    spec: &'static MachineSpec,
}

impl Machine {
    /// Makes a machine: in a new file, or behind a socket of that name where all users share it.
    pub fn create(path: &Path, spec: &MachineSpec) -> io::Result<Self> {
        let words = spec_words::encode(spec).ok_or_else(|| {
            io::Error::other(format!(
                "a lab has at most {MAX_DEVICES} devices and {MAX_EFFECTS} kernels with an effect"
            ))
        })?;
        let (file, sealed) = if spec.shared {
            mapping::create_sealed().map(|(file, sealed)| (file, Some(sealed)))?
        } else {
            (mapping::create(path)?, None)
        };
        for (place, word) in file.spec.iter().zip(words) {
            place.store(word, Relaxed);
        }
        file.magic.store(layout::MAGIC, Release);
        let machine = Self::of(file, &words)?;
        if let Some(sealed) = sealed {
            door::answer(path, sealed, layout::MAGIC, words)?;
        }
        Ok(machine)
    }

    /// Opens the machine of another process.
    ///
    /// # Errors
    /// Also where another user could shorten what would be mapped here.
    pub fn open(path: &Path) -> io::Result<Self> {
        let file = match mapping::open(path) {
            Err(error) if error.raw_os_error() == Some(libc::ENXIO) => {
                let (sealed, words) = door::enter(path, layout::MAGIC)?;
                return Self::of(mapping::open_sealed(&sealed)?, &words);
            }
            file => file?,
        };
        if file.magic.load(Acquire) != layout::MAGIC {
            return Err(io::Error::other("not the state file of a lab, or of another version"));
        }
        Self::of(file, &std::array::from_fn(|place| file.spec[place].load(Relaxed)))
    }

    fn of(file: &'static StateFile, words: &spec_words::SpecWords) -> io::Result<Self> {
        let spec = spec_words::decode(words);
        let spec = spec.ok_or_else(|| io::Error::other("the state of the lab is damaged"))?;
        // Like the mapping: as long as the process.
        Ok(Self { file, spec: Box::leak(Box::new(spec)) })
    }

    /// The machine that this process was started on.
    pub fn from_environment() -> Result<Self> {
        let path = std::env::var_os(STATE_VARIABLE).ok_or(Error::NoDevice)?;
        Self::open(Path::new(&path)).map_err(|error| {
            if error.kind() == io::ErrorKind::PermissionDenied {
                say_whose_it_is(Path::new(&path));
            }
            Error::NoDevice
        })
    }

    /// How many devices it has.
    #[must_use]
    pub fn device_count(&self) -> usize {
        self.spec.devices.len()
    }

    /// Its devices.
    #[must_use]
    pub fn devices(&self) -> &'static [DeviceSpec] {
        &self.spec.devices
    }

    /// What a device is.
    pub fn device(&self, index: usize) -> Result<DeviceSpec> {
        self.spec.devices.get(index).copied().ok_or(Error::InvalidDevice)
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
        let dead = self.dead(|_| true);
        let _guard = self.file.lock.lock();
        self.bury(&dead);
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
        let admit = |dead: &[Dead]| {
            let _guard = self.file.lock.lock();
            self.bury(dead);
            let sum = self.sum(device).checked_add(bytes).filter(|sum| *sum <= capacity);
            if let Some(sum) = sum {
                self.record(member).used[device].fetch_add(bytes, Relaxed);
                self.file.observations.peak_used[device].fetch_max(sum, Relaxed);
            }
            sum.is_some()
        };
        if admit(&[]) || admit(&self.dead(|_| true)) { Ok(()) } else { Err(Error::OutOfMemory) }
    }

    /// Gives memory of a device back.
    pub fn refund(&self, member: Membership, device: usize, bytes: u64) {
        // Whatever another user has written there, it is not less than nothing.
        let less = |used: u64| Some(used.saturating_sub(bytes));
        let _ = self.record(member).used[device].fetch_update(Relaxed, Relaxed, less);
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
        if device >= MAX_DEVICES {
            return 0;
        }
        let dead = self.dead(|record| record.is_on(device));
        let _guard = self.file.lock.lock();
        self.bury(&dead);
        self.sum(device).min(MAX_BYTES)
    }

    /// The processes that have a context or memory on a device.
    #[must_use]
    pub fn holders(&self, device: usize) -> Vec<Holder> {
        if device >= MAX_DEVICES {
            return Vec::new();
        }
        let dead = self.dead(|record| record.is_on(device));
        let _guard = self.file.lock.lock();
        self.bury(&dead);
        // As the real driver does: whoever has no number in the caller's namespace is left out.
        let own_namespace = liveness::own_namespace();
        let visible = |record: &&ProcessRecord| record.is_of(own_namespace);
        let holds = |record: &&ProcessRecord| record.is_on(device);
        let holder = |record: &ProcessRecord| {
            let bytes = record.used[device].load(Relaxed).min(MAX_BYTES);
            record.identity().map(|identity| Holder { pid: identity.pid, bytes })
        };
        self.entered().iter().filter(visible).filter(holds).filter_map(holder).collect()
    }

    /// Counts an allocation; true where it is the one that must fail.
    #[must_use]
    pub fn must_fail(&self) -> bool {
        let count = self.file.allocations.fetch_add(1, Relaxed).wrapping_add(1);
        self.spec.fail_allocation == Some(count)
    }

    /// Counts a mapping of virtual memory; true where it must fail.
    #[must_use]
    pub fn must_fail_mapping(&self) -> bool {
        let count = self.file.mappings.fetch_add(1, Relaxed).wrapping_add(1);
        let failing = self.spec.quirks.fail_mappings;
        failing.is_some_and(|(first, last)| (first..=last).contains(&count))
    }

    /// How it differs from a plain machine.
    #[must_use]
    pub fn quirks(&self) -> Quirks {
        self.spec.quirks
    }

    /// How long each synchronize takes at least.
    #[must_use]
    pub fn synchronize_nanoseconds(&self) -> u64 {
        self.spec.synchronize_nanoseconds
    }

    /// The kernels that do something.
    #[must_use]
    pub fn effects(&self) -> Vec<KernelEffect> {
        self.spec.effects.clone()
    }

    fn record(&self, member: Membership) -> &ProcessRecord {
        &self.file.processes[member.slot]
    }

    /// The records that have ever been used.
    fn entered(&self) -> &[ProcessRecord] {
        let high_water = self.file.high_water.load(Relaxed).min(MAX_PROCESSES as u64);
        &self.file.processes[..high_water as usize]
    }

    /// What all records together hold. Dead processes count until they are buried.
    fn sum(&self, device: usize) -> u64 {
        let own = self.entered().iter().map(|record| record.used[device].load(Relaxed));
        own.fold(self.shared_sum(device), u64::saturating_add)
    }

    /// Those of the looked-at that are dead, which they stay: /proc is read for each before the lock is
    /// taken. Of processes in another namespace nobody here can tell whether they live.
    fn dead(&self, looked_at: impl Fn(&ProcessRecord) -> bool) -> Vec<Dead> {
        let own_namespace = liveness::own_namespace();
        let known = |record: &ProcessRecord| {
            record.ghost.load(Relaxed) == 0 && record.is_of(own_namespace) && looked_at(record)
        };
        let records = self.entered().iter().enumerate().filter(|(_, record)| known(record));
        let identities = records.filter_map(|(slot, record)| Some((slot, record.identity()?)));
        let dead = identities.filter(|(_, identity)| !identity.is_alive());
        dead.map(|(slot, identity)| Dead { slot, identity }).collect()
    }

    /// Gives back what dead processes held. The lock must be held.
    fn bury(&self, dead: &[Dead]) {
        for Dead { slot, identity } in dead {
            // Unless another has done so, and the record is somebody else's by now.
            if self.file.processes[*slot].identity() == Some(*identity) {
                self.vacate(*slot);
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
