//! Where all of a device's memory was when a request failed, and the one question: without which part of it would
//! the request have been served?

use whyoom_memory::{Incident, PoolState};
use whyoom_trace::Bytes;

use crate::{finding::Basis, observed::ObservedFigures};

/// An amount of memory as far as it is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Range {
    /// At least.
    pub low: Bytes,
    /// At most.
    pub high: Bytes,
}

impl Range {
    /// An amount that was recorded.
    fn exactly(bytes: Bytes) -> Self {
        Self { low: bytes, high: bytes }
    }

    /// An amount that a message prints: `1.05 GiB` is anything from 1.045 to 1.055, and what tools print in whole
    /// MiB anything within half of one.
    fn printed(bytes: Bytes) -> Self {
        const HALF_A_MIB: u64 = 1 << 19;
        let unit = [1 << 40, 1 << 30].into_iter().find(|unit| bytes.0 >= *unit).unwrap_or(0);
        let slack = (unit / 200).max(HALF_A_MIB).min(bytes.0);
        Self { low: Bytes(bytes.0 - slack), high: Bytes(bytes.0.saturating_add(slack)) }
    }

    /// Anything up to so much.
    fn up_to(high: Bytes) -> Self {
        Self { low: Bytes::ZERO, high }
    }

    /// What is left of it without another amount.
    fn without(self, other: Self) -> Self {
        Self { low: self.low.minus(other.high), high: self.high.minus(other.low) }
    }
}

/// A part of a device's memory. All of them together are the device.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Component {
    /// Free on the device.
    Free,
    /// What the failing process uses in its allocator.
    Live,
    /// Freed, and waiting for a stream.
    PendingFree,
    /// Free in the allocator's segments, where this request may look.
    Cache,
    /// Free in segments with nothing in them.
    EmptySegments,
    /// Free in private pools.
    PrivatePools,
    /// Free in segments of other streams.
    OtherStreams,
    /// Kept by stream-ordered pools.
    DriverPools,
    /// Taken beside the allocator: libraries, other allocators, direct calls.
    Outside,
    /// The context, and what else the driver keeps for the process.
    Context,
    /// What other processes were seen to hold.
    OtherProcesses,
    /// Whatever else is in use: processes that nobody saw, the driver's reserve, what ECC takes.
    Unattributed,
}

impl Component {
    /// The words for it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Free => "free",
            Self::Live => "live",
            Self::PendingFree => "pending free",
            Self::Cache => "free blocks",
            Self::EmptySegments => "empty segments",
            Self::PrivatePools => "private pools",
            Self::OtherStreams => "other streams",
            Self::DriverPools => "stream-ordered pools",
            Self::Outside => "outside the allocator",
            Self::Context => "context",
            Self::OtherProcesses => "other processes",
            Self::Unattributed => "unattributed",
        }
    }
}

/// One part, how much it is, and who told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Part {
    /// Which.
    pub component: Component,
    /// How much.
    pub amount: Range,
    /// Where the amount came from; what nobody told is computed from what is left.
    pub basis: Basis,
}

/// Whether a request would have been served without a part.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Suffices {
    /// By no amount that the part may have.
    No,
    /// By some.
    Possibly,
    /// By all.
    Certainly,
}

impl Suffices {
    /// The word for it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::No => "no",
            Self::Possibly => "possibly",
            Self::Certainly => "certainly",
        }
    }
}

/// Where all of a device's memory was when a request failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MemoryBreakdown {
    /// The device's capacity.
    pub capacity: Range,
    /// Its parts: their sum is the capacity.
    pub parts: Vec<Part>,
    /// What was missing for the request, where its size is told.
    pub shortfall: Option<Range>,
    /// By how much the told amounts exceed the capacity: the driver lends host memory, or a figure is of another
    /// moment.
    pub excess: Bytes,
}

impl MemoryBreakdown {
    /// That of a failure whose device is known.
    pub(crate) fn of(incident: &Incident, observed: &ObservedFigures) -> Option<Self> {
        let recorded = observed.basis == Some(Basis::Recorded);
        let basis = if recorded { Basis::Recorded } else { Basis::Message };
        let amount = if recorded { Range::exactly } else { Range::printed };
        let capacity = amount(observed.capacity?);
        let told = told(incident, observed);
        let sum: Bytes = told.iter().map(|(_, bytes)| *bytes).sum();
        let mut parts: Vec<Part> = told
            .iter()
            .map(|(component, bytes)| Part { component: *component, amount: amount(*bytes), basis })
            .collect();
        // What nobody told is anywhere in what is left.
        let mut rest = capacity;
        for part in &parts {
            rest = rest.without(part.amount);
        }
        let is_told = |component| told.iter().any(|(one, _)| *one == component);
        let unknown =
            [Component::Free, Component::Live, Component::Context, Component::Unattributed];
        let unknown: Vec<Component> = unknown.into_iter().filter(|one| !is_told(*one)).collect();
        let of_each = if unknown.len() == 1 { rest } else { Range::up_to(rest.high) };
        let computed = |component| Part { component, amount: of_each, basis: Basis::Computed };
        parts.extend(unknown.into_iter().map(computed));
        let free = parts.iter().find(|part| part.component == Component::Free)?.amount;
        let shortfall = observed.asked_of_driver.map(|asked| amount(asked).without(free));
        Some(Self { capacity, parts, shortfall, excess: sum.minus(observed.capacity?) })
    }

    /// Whether the parts add up to the capacity, as far as they are known.
    #[must_use]
    pub fn adds_up(&self) -> bool {
        let low: Bytes = self.parts.iter().map(|part| part.amount.low).sum();
        let high: Bytes = self.parts.iter().map(|part| part.amount.high).sum();
        let at_most = self.capacity.high.plus(self.excess);
        low <= at_most && high >= self.capacity.low
    }

    /// How much a component is. What nobody told is anywhere in what nobody accounts for.
    fn amount(&self, component: Component) -> Range {
        let of = |wanted| self.parts.iter().find(|part| part.component == wanted);
        let untold = || of(Component::Unattributed).map(|rest| Range::up_to(rest.amount.high));
        let told = of(component).map(|part| part.amount);
        told.or_else(untold).unwrap_or(Range::up_to(Bytes::ZERO))
    }

    /// Whether the request would have been served without any of these parts.
    #[must_use]
    pub fn without(&self, components: &[Component]) -> Option<Suffices> {
        let shortfall = self.shortfall?;
        let amounts = components.iter().map(|component| self.amount(*component));
        let (low, high) = amounts.fold((Bytes::ZERO, Bytes::ZERO), |(low, high), amount| {
            (low.plus(amount.low), high.plus(amount.high))
        });
        Some(match () {
            () if low >= shortfall.high && low > Bytes::ZERO => Suffices::Certainly,
            () if high < shortfall.low || high == Bytes::ZERO => Suffices::No,
            () => Suffices::Possibly,
        })
    }
}

/// The amounts that somebody told. None counts what another counts.
fn told(incident: &Incident, observed: &ObservedFigures) -> Vec<(Component, Bytes)> {
    let mut told: Vec<(Component, Bytes)> = Vec::new();
    told.extend(observed.free.map(|free| (Component::Free, free)));
    let held = match incident.totals {
        Some(_) => of_blocks(incident, &mut told),
        None => of_figures(observed, &mut told),
    };
    let held = held.plus(beside_blocks(incident, &mut told));
    told.extend(observed.process_used.map(|used| (Component::Context, used.minus(held))));
    let others = observed.others_hold();
    if others > Bytes::ZERO || observed.processes_listed {
        told.push((Component::OtherProcesses, others));
    }
    told
}

/// What an allocator holds whose blocks are known. Each kind of free memory is taken from what is left, so that
/// none is counted twice.
fn of_blocks(incident: &Incident, told: &mut Vec<(Component, Bytes)>) -> Bytes {
    let totals = incident.totals.unwrap_or_default();
    // A log may tell blocks alone, and not what lies between them.
    let reserved = totals.reserved.max(totals.active);
    told.push((Component::Live, totals.allocated.min(totals.active)));
    told.push((Component::PendingFree, totals.active.minus(totals.allocated)));
    let mut left = reserved.minus(totals.active);
    let space = incident.free_space.as_ref();
    for (component, bytes) in [
        (Component::PrivatePools, space.map(|space| space.private_pools)),
        (Component::OtherStreams, space.map(|space| space.other_streams)),
        // Empty segments of other private pools are counted with those.
        (
            Component::EmptySegments,
            space.map(|space| space.in_kept_segments.plus(space.in_own_private_pool)),
        ),
    ] {
        let bytes = bytes.unwrap_or_default().min(left);
        left = left.minus(bytes);
        told.push((component, bytes));
    }
    told.push((Component::Cache, left));
    reserved
}

/// What an allocator holds by a message's figures, or a process without one by the driver's calls.
fn of_figures(observed: &ObservedFigures, told: &mut Vec<(Component, Bytes)>) -> Bytes {
    let Some(live) = observed.allocated else { return Bytes::ZERO };
    if observed.by_driver {
        // What pools keep is counted with them.
        return Bytes::ZERO;
    }
    let private = observed.private_free.unwrap_or_default();
    let cached = observed.cached.unwrap_or_default();
    told.extend([
        (Component::Live, live),
        (Component::Cache, cached),
        (Component::PrivatePools, private),
    ]);
    live.plus(cached).plus(private)
}

/// What the driver gave beside the allocator's segments.
fn beside_blocks(incident: &Incident, told: &mut Vec<(Component, Bytes)>) -> Bytes {
    let Some(driver) = incident.driver.as_ref() else { return Bytes::ZERO };
    let segments = incident.totals.map_or(Bytes::ZERO, |totals| totals.reserved);
    let beside = driver.held.minus(segments);
    let pending: Bytes = driver.pools.iter().map(|pool| pool.pending).sum();
    let idle: Bytes = driver.pools.iter().map(PoolState::idle).sum();
    let (pending, idle) = (pending.min(beside), idle.min(beside.minus(pending.min(beside))));
    let used = beside.minus(pending).minus(idle);
    // Without an allocator, what the process took is what it works with.
    let of_work = if incident.totals.is_some() { Component::Outside } else { Component::Live };
    told.extend([(of_work, used), (Component::DriverPools, idle)]);
    match told.iter_mut().find(|(component, _)| *component == Component::PendingFree) {
        Some((_, bytes)) => *bytes = bytes.plus(pending),
        None => told.push((Component::PendingFree, pending)),
    }
    beside
}
