//! One process's view of the machine: its contexts, its memory, its streams.
//!
//! A family of calls is a file here. What they share is in `Driver`, and what that is made of in
//! `state`.

mod capture;
mod code;
mod compute;
mod contexts;
mod copies;
mod device_memory;
mod exports;
mod graphs;
mod host_memory;
mod ipc;
mod modules;
mod pools;
mod state;
mod streams;
mod virtual_memory;
mod work;

use std::{
    collections::{BTreeMap, HashMap, HashSet},
    time::Instant,
};

use whyoom_trace::{Action, Address, Bytes, MemoryKind};

use self::state::{Context, Device, Event, Function, Graphs, Handle, Ipc, Mapping, Module};
pub use self::{
    capture::{CaptureInfo, exchange_mode},
    contexts::current_context,
    graphs::{GraphMemoryAttribute, UpdateFailure, UpdateReason},
    host_memory::HostFlags,
    modules::FunctionAttribute,
    pools::PoolAttribute,
    state::{
        Allocation, AllocationKind, ArrayShape, Box3, CaptureMode, Conditional, ContextId, Edge,
        EventId, ExecId, Fill, FunctionId, GraphAllocation, GraphId, HandleId, HostCall,
        InstantiateFlags, IpcHandle, Launch, Limit, ModuleId, NodeId, ObjectId, Physical, PoolId,
        Side, Work,
    },
};
use crate::{
    backing,
    error::{Error, Result},
    log::{Log, Place},
    machine::{DeviceSpec, KernelEffect, Machine, Membership, Quirks, SharedMemory},
    pool::Pool,
    timeline::{Nanoseconds, Timeline},
    visibility::{ORDER_VARIABLE, VISIBLE_VARIABLE, counted, visible},
};

/// Handles are multiples of this, as pointers are; some programs keep flags in their lowest bits.
const HANDLE_STEP: u64 = 16;

/// A kernel that uses memory until it has finished.
struct Touching {
    context: ContextId,
    address: u64,
    finishes: Nanoseconds,
}

/// The simulated driver of one process.
pub struct Driver {
    machine: Machine,
    member: Membership,
    devices: Vec<Device>,
    contexts: HashMap<ContextId, Context>,
    allocations: BTreeMap<u64, Allocation>,
    arrays: HashMap<u64, (u64, ArrayShape)>,
    timeline: Timeline,
    events: HashMap<EventId, Event>,
    pools: HashMap<PoolId, Pool>,
    modules: HashMap<ModuleId, Module>,
    functions: HashMap<FunctionId, Function>,
    handles: HashMap<HandleId, Handle>,
    /// How many handles of this process stand for each piece of shared memory.
    shares: HashMap<SharedMemory, u32>,
    reservations: BTreeMap<u64, u64>,
    mappings: BTreeMap<u64, Mapping>,
    graphs: Graphs,
    /// Calls of the program's that are to be made without the driver's lock.
    due: Vec<HostCall>,
    ipc: Ipc,
    effects: Vec<KernelEffect>,
    touching: Vec<Touching>,
    /// What kernels were refused for, so that each is named once.
    refused: HashSet<String>,
    /// What was said of kernels.
    told_kernels: HashSet<String>,
    next_handle: u64,
    started: Instant,
    log: Option<Log>,
}

impl Driver {
    /// Enters this process into the machine that it was started on.
    pub fn start() -> Result<Self> {
        let machine = Machine::from_environment()?;
        let list = std::env::var(VISIBLE_VARIABLE).ok();
        let order = std::env::var(ORDER_VARIABLE).ok();
        let speeds: Vec<u64> = machine.devices().iter().map(DeviceSpec::speed).collect();
        let devices = visible(list.as_deref(), &counted(order.as_deref(), &speeds));
        Self::on(machine, &devices, Log::from_environment())
    }

    /// Enters this process into a machine, some of whose devices it sees.
    pub fn on(machine: Machine, visible: &[usize], log: Option<Log>) -> Result<Self> {
        let mut driver = Self {
            machine,
            member: machine.join()?,
            devices: Vec::new(),
            contexts: HashMap::new(),
            allocations: BTreeMap::new(),
            arrays: HashMap::new(),
            timeline: Timeline::default(),
            events: HashMap::new(),
            pools: HashMap::new(),
            modules: HashMap::new(),
            functions: HashMap::new(),
            handles: HashMap::new(),
            shares: HashMap::new(),
            reservations: BTreeMap::new(),
            mappings: BTreeMap::new(),
            graphs: Graphs::default(),
            due: Vec::new(),
            ipc: Ipc::default(),
            effects: machine.effects(),
            touching: Vec::new(),
            refused: HashSet::new(),
            told_kernels: HashSet::new(),
            next_handle: 1 << 16,
            started: Instant::now(),
            log,
        };
        for (ordinal, index) in visible.iter().enumerate() {
            let pool = driver.new_handle();
            driver.pools.insert(pool, Pool::new(ordinal));
            let spec = machine.device(*index)?;
            let granularity = machine.quirks().granularity.unwrap_or(spec.units.granularity);
            let device = Device::new(*index, spec, granularity, pool);
            driver.devices.push(device);
        }
        if driver.devices.is_empty() {
            return Err(Error::NoDevice);
        }
        Ok(driver)
    }

    /// How many devices there are.
    #[must_use]
    pub fn device_count(&self) -> usize {
        self.devices.len()
    }

    /// What a device is.
    pub fn device_spec(&self, device: usize) -> Result<DeviceSpec> {
        self.device(device).map(|device| device.spec)
    }

    /// The unit of a device's virtual memory; nothing where it has none.
    pub fn granularity(&self, device: usize) -> Result<u64> {
        self.needs_virtual_memory()?;
        self.device(device).map(|device| device.granularity)
    }

    /// How the machine differs from a plain one.
    #[must_use]
    pub fn quirks(&self) -> Quirks {
        self.machine.quirks()
    }

    /// Free and total memory of a device.
    pub fn memory_info(&self, device: usize) -> Result<(u64, u64)> {
        let total = self.device(device)?.spec.total;
        self.machine.note_free_query();
        Ok((total.saturating_sub(self.machine.used(self.machine_index(device)?)), total))
    }

    /// Which device of the machine this is.
    pub fn machine_index(&self, device: usize) -> Result<usize> {
        self.device(device).map(|device| device.index)
    }

    /// The device as this process numbers it, where it sees it.
    pub fn ordinal(&self, machine_index: usize) -> Result<usize> {
        let found = self.devices.iter().position(|device| device.index == machine_index);
        found.ok_or(Error::InvalidDevice)
    }

    fn device(&self, device: usize) -> Result<&Device> {
        self.devices.get(device).ok_or(Error::InvalidDevice)
    }

    fn device_mut(&mut self, device: usize) -> Result<&mut Device> {
        self.devices.get_mut(device).ok_or(Error::InvalidDevice)
    }

    fn new_handle(&mut self) -> u64 {
        self.next_handle += HANDLE_STEP;
        self.next_handle
    }

    fn now(&self) -> Nanoseconds {
        self.started.elapsed().as_nanos() as Nanoseconds
    }

    /// Counts an allocation, which a fault on demand may make fail.
    fn count_allocation(&self) -> Result<()> {
        if self.machine.must_fail() { Err(Error::OutOfMemory) } else { Ok(()) }
    }

    fn charge(&mut self, device: usize, bytes: u64) -> Result<()> {
        self.machine.charge(self.member, self.machine_index(device)?, bytes)
    }

    fn refund(&mut self, device: usize, bytes: u64) {
        if let Ok(index) = self.machine_index(device) {
            self.machine.refund(self.member, index, bytes);
        }
    }

    /// Addresses on a device with memory behind them.
    fn take_range(&mut self, device: usize, bytes: u64) -> Result<u64> {
        self.charge(device, bytes)?;
        let range = self.device_mut(device)?.take_addresses(bytes);
        if range.is_err() {
            self.refund(device, bytes);
        }
        range
    }

    /// Gives addresses and the memory behind them back. `touched` says that pages were written.
    fn give_range(&mut self, device: usize, start: u64, bytes: u64, touched: bool) {
        self.end_touched(start, bytes);
        if !self.end_export(start) && touched {
            backing::discard(start, bytes);
        }
        if let Some(addresses) =
            self.devices.get_mut(device).and_then(|device| device.addresses.as_mut())
        {
            addresses.give_back(start, bytes);
        }
        self.refund(device, bytes);
    }

    /// Writes what happened to the log, if one is kept.
    fn note<T>(&self, place: Place, outcome: &Result<T>, action: Action) {
        if let Some(log) = &self.log {
            log.write(place, outcome.as_ref().err().copied(), action, None);
        }
    }

    fn note_alloc(&self, place: Place, kind: MemoryKind, outcome: &Result<u64>, size: u64) {
        let address = Address(*outcome.as_ref().unwrap_or(&0));
        self.note(place, outcome, Action::Alloc { kind, address, size: Bytes(size) });
    }

    fn note_free(&self, place: Place, kind: MemoryKind, outcome: &Result<()>, address: u64) {
        self.note(place, outcome, Action::Free { kind, address: Address(address) });
    }
}
