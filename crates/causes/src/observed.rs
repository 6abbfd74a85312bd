//! The figures of a moment at which memory ran out, brought together from whatever told them.

use whyoom_allocators::policies::pytorch::PyTorchSettings;
use whyoom_memory::{FreeSpace, Holder, Incident};
use whyoom_trace::{Bytes, Counter, ProcessId, ProcessState, Tables};

use crate::{
    finding::{Basis, Evidence},
    quotation_marks::in_quotation_marks,
};

/// A context takes a few hundred MiB, on old GPUs up to 725: less than this beside the allocator's
/// own memory is no riddle.
pub(crate) const CONTEXT_ALLOWANCE: Bytes = Bytes(1 << 30);

/// Few cards have as much.
pub(crate) const HARDLY_ANY_CARD: Bytes = Bytes(80 << 30);

/// A device with less than this beyond what was asked for is full, by a message's figures.
pub(crate) const PRACTICALLY_FULL: Bytes = Bytes(64 << 20);

/// What whyoom's pool takes from the driver at least.
const PAGE: Bytes = Bytes(2 << 20);

/// What was missing at least where nobody told how much was asked for.
const AT_LEAST_MISSING: Bytes = Bytes(1 << 20);

/// The figures of a moment at which memory ran out. What nobody told is missing.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ObservedFigures {
    /// What was asked for: of the driver, where a message tells it; of the allocator, where it was
    /// recorded.
    pub requested: Option<Bytes>,
    /// What the driver had no memory for if the call is no allocation, as "instantiating a CUDA graph".
    pub refused_for: Option<&'static str>,
    /// What the driver was asked for.
    pub asked_of_driver: Option<Bytes>,
    /// The device's capacity.
    pub capacity: Option<Bytes>,
    /// What the device had free.
    pub free: Option<Bytes>,
    /// What the allocator had given to the program.
    pub allocated: Option<Bytes>,
    /// What the allocator held.
    pub reserved: Option<Bytes>,
    /// Free in the allocator, and usable by this request as far as is known.
    pub cached: Option<Bytes>,
    /// The largest piece of that, where the blocks are known.
    pub largest_cached: Option<Bytes>,
    /// Free in the allocator's private pools.
    pub private_free: Option<Bytes>,
    /// Free in segments of other streams, which the request could not use.
    pub other_streams: Option<Bytes>,
    /// A cap on the process.
    pub allowed: Option<Bytes>,
    /// What this process used, with what its allocator does not know of.
    pub process_used: Option<Bytes>,
    /// Other processes that were seen to hold memory.
    pub others: Vec<Holder>,
    /// Other recorded processes and what they had taken, where nobody saw who held memory.
    pub recorded_others: Vec<(ProcessId, Bytes)>,
    /// Whether anything told which processes hold memory.
    pub processes_listed: bool,
    /// Whether the driver itself refused, and not an allocator: then what is in use and held are the
    /// process's own figures.
    pub by_driver: bool,
    /// Where the figures came from.
    pub basis: Option<Basis>,
}

impl ObservedFigures {
    /// The figures of an incident, as its allocator's own counters tell them.
    #[must_use]
    pub(crate) fn of(incident: &Incident) -> Self {
        let counter = |counter| incident.counter(counter);
        let mut observed = Self {
            requested: incident.requested(),
            refused_for: None,
            asked_of_driver: incident.requested(),
            capacity: counter(Counter::DeviceTotal),
            free: counter(Counter::DeviceFree),
            allocated: counter(Counter::Allocated),
            reserved: counter(Counter::Reserved),
            cached: counter(Counter::Cached),
            largest_cached: None,
            private_free: counter(Counter::PrivateFree),
            other_streams: None,
            allowed: counter(Counter::Allowed),
            process_used: counter(Counter::ProcessUsed),
            others: incident.holders.clone(),
            processes_listed: !incident.holders.is_empty()
                || counter(Counter::ProcessUsed).is_some(),
            recorded_others: Vec::new(),
            by_driver: incident.of_driver,
            basis: Some(Basis::Message),
        };
        match incident.totals {
            _ if incident.of_driver => observed.take_driver(incident),
            Some(_) => observed.take_recorded(incident),
            None => observed.complete_message(),
        }
        if incident.symptom.is_none() {
            observed.basis = Some(Basis::Recorded);
            observed.take_recorded_others(incident);
            // A process that the system knows is another one.
            observed.take_self_out_of_others(|holder| holder.standing == ProcessState::Ghost);
        } else {
            observed.take_self_out_of_others(|_| true);
        }
        observed
    }

    /// Where nobody looked who held memory, the recording of other processes tells, as far as it can be
    /// true: one that was killed told no end.
    fn take_recorded_others(&mut self, incident: &Incident) {
        let Some((capacity, free)) = self.capacity.zip(self.free) else { return };
        let own = self.reserved.unwrap_or_default();
        let held: Bytes = incident.recorded_others.iter().map(|(_, bytes)| *bytes).sum();
        if !self.processes_listed && held <= capacity.minus(free).minus(own) {
            self.recorded_others.clone_from(&incident.recorded_others);
        }
    }

    /// The figures of a request that the driver itself refused: nothing that a cache has free could have
    /// served it.
    fn take_driver(&mut self, incident: &Incident) {
        let driver = incident.driver.as_ref();
        self.allocated = Some(driver.map_or(Bytes::ZERO, |driver| driver.in_use));
        self.reserved = Some(driver.map_or(Bytes::ZERO, |driver| driver.held));
        self.cached = None;
        // For a context, a launch or code nobody tells how much was asked for: more than was free. Where
        // much was free, that may not be the reason.
        let little = self.free.filter(|free| *free < CONTEXT_ALLOWANCE);
        self.asked_of_driver = self.requested.or(little.map(|free| free.plus(AT_LEAST_MISSING)));
    }

    /// The figures of a recording: its blocks are known.
    fn take_recorded(&mut self, incident: &Incident) {
        self.basis = Some(Basis::Recorded);
        self.asked_of_driver = self.requested.map(segment_for);
        self.allocated = incident.totals.map(|totals| totals.active);
        // A log may tell an allocator's blocks alone: then nothing is known of what it holds beside them.
        if incident.totals.is_some_and(|totals| totals.reserved == Bytes::ZERO) {
            self.asked_of_driver = None;
            return;
        }
        self.reserved = incident.totals.map(|totals| totals.reserved);
        // Not every incident's address map was measured; without it nothing is known of the cache.
        self.cached = incident.free_space.as_ref().map(|space| space.usable);
        self.largest_cached = incident.free_space.as_ref().map(|space| space.usable_largest);
        // Driver calls do not tell the pools that a program makes for itself, but PyTorch gives back every
        // other segment with nothing in it before it gives up.
        let untold = |space: &FreeSpace| match incident.driver {
            Some(_) => space.in_kept_segments,
            None => Bytes::ZERO,
        };
        let private = |space: &FreeSpace| space.private_pools.plus(untold(space));
        self.private_free = incident.free_space.as_ref().map(private);
        self.other_streams = incident.free_space.as_ref().map(|space| space.other_streams);
    }

    /// The same for a process that whyoom's pool serves: it moves idle pages wherever they are needed, so
    /// that only what they do not cover is asked of the driver, in pages.
    #[must_use]
    pub(crate) fn under_pool(mut self, incident: &Incident) -> Self {
        let Some(space) = incident.free_space.as_ref().filter(|_| !self.by_driver) else {
            return self;
        };
        let in_pages = |bytes: Bytes| Bytes(bytes.0.div_ceil(PAGE.0).saturating_mul(PAGE.0));
        self.cached = Some(space.idle_pages);
        self.private_free = Some(space.private_pools);
        self.largest_cached = None;
        self.other_streams = None;
        let beyond = |bytes| in_pages(bytes).minus(space.idle_pages).max(PAGE);
        self.asked_of_driver = self.requested.map(beyond);
        self
    }

    /// The same for a process whose segments expand: they grow by whole pages, so that a request of a few
    /// MiB may ask the driver for a large one.
    #[must_use]
    pub(crate) fn with_expandable_segments(mut self) -> Self {
        let recorded = self.basis == Some(Basis::Recorded) && !self.by_driver;
        if let Some(requested) = self.requested.filter(|_| recorded) {
            self.asked_of_driver = Some(expansion_for(requested));
        }
        self
    }

    /// The figures of a message: what it leaves out follows from the rest.
    fn complete_message(&mut self) {
        let (allocated, cached) = (self.allocated, self.cached);
        self.reserved = self.reserved.or_else(|| Some(allocated?.plus(cached?)));
        self.cached = cached.or_else(|| Some(self.reserved?.minus(allocated?)));
        // PyTorch's message counts the free bytes of private pools as allocated.
        if let (Some(allocated), Some(private)) = (allocated, self.private_free) {
            self.allocated = Some(allocated.minus(private));
        }
    }

    /// In a container a process does not know itself among those that hold memory: there, the one that
    /// holds about what the allocator holds is this one.
    fn take_self_out_of_others(&mut self, may_be: impl Fn(&Holder) -> bool) {
        let Some(reserved) = self.reserved.filter(|_| self.process_used.is_none()) else { return };
        let at_most = Bytes(reserved.0 / 4).plus(reserved).plus(CONTEXT_ALLOWANCE);
        let own = self
            .others
            .iter()
            .enumerate()
            .filter(|(_, holder)| {
                let fits = holder.bytes.plus(Bytes(64 << 20)) >= reserved;
                fits && holder.bytes <= at_most && may_be(holder)
            })
            .min_by_key(|(_, holder)| holder.bytes)
            .map(|(index, _)| index);
        if let Some(index) = own {
            self.process_used = Some(self.others.remove(index).bytes);
        }
    }

    /// What was missing for the request. Printed figures are rounded, so it is never less than a
    /// hundredth of the request.
    #[must_use]
    pub fn shortfall(&self) -> Option<Bytes> {
        let asked = self.asked_of_driver?;
        let of_device = asked.minus(self.free.unwrap_or(Bytes::ZERO));
        // Windows lends host memory: then more is in use than the device has.
        let over =
            self.allocated.zip(self.capacity).map_or(Bytes::ZERO, |(allocated, capacity)| {
                if allocated > capacity {
                    allocated.plus(asked).minus(capacity)
                } else {
                    Bytes::ZERO
                }
            });
        Some(of_device.max(over).max(Bytes(asked.0 / 100)))
    }

    /// The largest single request that would have been served beside what is in use.
    pub(crate) fn room_for_one(&self, largest_in_cache: Option<Bytes>) -> Option<Bytes> {
        // PyTorch asks the driver for multiples of this.
        const UNIT: u64 = 2 << 20;
        let of_driver = self.free.map(|free| Bytes(free.0 / UNIT * UNIT));
        of_driver.max(largest_in_cache).filter(|room| *room > Bytes::ZERO)
    }

    /// What was missing for the request, in words.
    pub(crate) fn missing(&self) -> Option<String> {
        let shortfall = self.shortfall()?;
        Some(match (self.requested, self.refused_for) {
            (Some(_), _) => format!("The request fell {shortfall} short"),
            (None, Some(purpose)) => format!("The driver had no memory for {purpose}"),
            (None, None) => "Too little was free for the request (size unknown)".to_owned(),
        })
    }

    /// Whether clearly more was free on the device than was asked for. Printed figures are rounded,
    /// so a hundredth makes no difference.
    #[must_use]
    pub fn enough_was_free(&self) -> bool {
        // A message tells what was free a moment later, and the driver needs a little to serve from.
        let slack = if self.basis == Some(Basis::Message) { PRACTICALLY_FULL.0 } else { 0 };
        self.asked_of_driver.zip(self.free).is_some_and(|(requested, free)| {
            free.0 > requested.0.saturating_add(requested.0 / 100).saturating_add(slack)
        })
    }

    /// How much of what the cache has free lies outside its largest piece: 0 where all of it is one, near 1
    /// where it is dust. Nothing where nothing is free, or where the pieces are not known.
    #[must_use]
    pub fn fragmentation(&self) -> Option<f64> {
        let (cached, largest) = (self.cached?, self.largest_cached?);
        (cached > Bytes::ZERO).then(|| 1.0 - largest.share_of(cached))
    }

    /// What other processes were seen to hold.
    #[must_use]
    pub fn others_hold(&self) -> Bytes {
        let recorded = self.recorded_others.iter().map(|(_, bytes)| *bytes);
        self.others.iter().map(|holder| holder.bytes).chain(recorded).sum()
    }

    /// What is in use on the device and belongs to nothing that was told of.
    #[must_use]
    pub fn unexplained(&self) -> Option<Bytes> {
        let in_use = self.capacity?.minus(self.free?);
        let own = self.process_used.or(self.reserved)?;
        Some(in_use.minus(own).minus(self.others_hold()))
    }

    /// What this process holds beside its allocator's memory.
    #[must_use]
    pub fn outside_allocator(&self) -> Option<Bytes> {
        Some(self.process_used?.minus(self.reserved?))
    }

    /// Whether the device, or the cap, would not do even if this process had it for itself.
    #[must_use]
    pub fn too_much_alone(&self) -> Option<bool> {
        let room = match (self.capacity, self.allowed) {
            (Some(capacity), Some(allowed)) => capacity.min(allowed),
            (capacity, allowed) => capacity.or(allowed)?,
        };
        Some(self.allocated?.plus(self.requested?) > room)
    }

    /// What the cache had free, where that and what the device had free would have been enough.
    #[must_use]
    pub fn cache_that_would_do(&self) -> Option<Bytes> {
        let enough = self.cached?.plus(self.free.unwrap_or_default());
        self.cached.filter(|_| self.requested.is_some_and(|requested| enough >= requested))
    }

    /// What PyTorch requested from the driver, where it is clearly more than what it was asked for: its own
    /// message gives this figure.
    fn larger_segment(&self) -> Option<Bytes> {
        let recorded = self.basis == Some(Basis::Recorded) && !self.by_driver;
        let requested = self.requested.filter(|_| recorded)?;
        self.asked_of_driver.filter(|asked| asked.0 / 11 > requested.0 / 10)
    }

    /// The figures as evidence.
    #[must_use]
    pub fn evidence(&self, tables: &Tables) -> Vec<Evidence> {
        let told = self.basis.unwrap_or(Basis::Message);
        // The message prints another figure of what is in use: this one is corrected for private pools.
        let corrected = told == Basis::Message && some(self.private_free).is_some();
        let in_use = if corrected { Basis::Computed } else { told };
        let (in_use_by, held_by) = match self.by_driver {
            true => ("allocated by this process", "held by this process, including its pools"),
            false => ("allocated", "reserved"),
        };
        let rows = [
            ("requested", self.requested, told),
            ("segment requested from the driver", self.larger_segment(), told),
            ("device capacity", self.capacity, told),
            ("free on the device", self.free, told),
            ("limit on this process", self.allowed, told),
            ("in use by this process", self.process_used, told),
            (in_use_by, self.allocated, in_use),
            (held_by, self.reserved, told),
            ("reserved but unallocated, usable", self.cached, told),
            ("free in private pools", some(self.private_free), told),
            ("free on other streams", some(self.other_streams), told),
        ];
        let refused = self.refused_for.map(|purpose| {
            Evidence::text("the driver had no memory for", purpose, Basis::Recorded)
        });
        let figures = rows
            .into_iter()
            .filter_map(|(label, bytes, basis)| Some(Evidence::bytes(label, bytes?, basis)));
        let others = self.others.iter().map(|holder| {
            let label = format!("in use by {}", name_of(holder, tables));
            Evidence::bytes(label, holder.bytes, told)
        });
        let recorded = self.recorded_others.iter().map(|(process, bytes)| {
            let label =
                format!("allocated by {}", in_quotation_marks(tables.process_name(*process)));
            Evidence::bytes(label, *bytes, Basis::Recorded)
        });
        let pieces = self.fragmentation().map(|fragmentation| {
            let label = "fragmentation (free outside the largest block)";
            Evidence::share(label, fragmentation, Basis::Computed)
        });
        let largest = self.largest_cached.filter(|_| pieces.is_some());
        let largest = largest.map(|bytes| Evidence::bytes("largest free block", bytes, told));
        let figures = figures.chain(pieces).chain(largest);
        refused.into_iter().chain(figures).chain(others).chain(recorded).collect()
    }
}

/// A process that holds memory, as people know it: `“python train.py” (process 4711)`.
pub(crate) fn name_of(holder: &Holder, tables: &Tables) -> String {
    if holder.standing == ProcessState::Recorded {
        return in_quotation_marks(tables.text(holder.command));
    }
    let mut words = tables.text(holder.command).split_whitespace();
    let Some(program) = words.next() else { return format!("process {}", holder.pid) };
    let program = program.rsplit('/').next().unwrap_or(program);
    let command: Vec<&str> = std::iter::once(program).chain(words).collect();
    format!("{} (process {})", in_quotation_marks(&command.join(" ")), holder.pid)
}

/// An amount that is not nothing.
fn some(bytes: Option<Bytes>) -> Option<Bytes> {
    bytes.filter(|bytes| *bytes > Bytes::ZERO)
}

/// The segment that PyTorch takes from the driver for a request, by its default settings.
fn segment_for(requested: Bytes) -> Bytes {
    let pytorch = PyTorchSettings::default();
    Bytes(pytorch.segment_size(pytorch.round(requested.0)))
}

/// What an expandable segment grows by for a request, if nothing is free at its end.
fn expansion_for(requested: Bytes) -> Bytes {
    let pytorch = PyTorchSettings::default();
    Bytes(pytorch.expansion_size(pytorch.round(requested.0)))
}
