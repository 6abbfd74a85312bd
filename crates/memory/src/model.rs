//! Everything that was seen: each process's memory on each device, settings, incidents.

use std::collections::BTreeMap;

use serde::{Deserialize, Deserializer, Serialize};
use whyoom_trace::{
    Action, Bytes, Counter, DeviceId, Event, EventSink, ProcessId, SizeClass, StackId, Tables,
    facts::{Fact, FactKind},
};

use crate::{
    by_stack::naming_stacks,
    category::Category,
    change::Change,
    driver::DriverEvent,
    free_space::Request,
    growth::{Growth, RunContext},
    history::{TimelineData, TimelineLimits},
    holder::Holder,
    incident::{DriverState, Incident},
    instant::Instant,
    layer::Keeps,
    pending_samples::PendingSamples,
    pools::PoolFigures,
    process::Process,
    profile::Profiles,
    signs::Phase,
    space::Space,
    spaces::Spaces,
    totals::Totals,
};

/// Incidents beyond these are counted, not kept: a loop that retries can make millions.
const MAX_INCIDENTS: usize = 4096;
/// All of an incident is measured for so many of each space, then for ever fewer: a loop that retries would have
/// it measured a million times. The address map alone is measured wherever enough happened since the last time.
const MEASURED_INCIDENTS: u64 = 16;
/// Of other processes the largest are kept with an incident: a device serves fewer at a time.
const MOST_OTHERS: usize = 128;
/// Of so many incidents it is looked what other processes held, as with [`MEASURED_INCIDENTS`] over all processes.
const LOOKS_AT_OTHERS: u64 = 256;
/// The largest request that PyTorch serves from small segments.
const LARGEST_SMALL_REQUEST: Bytes = Bytes::MIB;
/// The driver's code for out of memory. Others say that a context is unusable, or that a call was wrong.
const OUT_OF_MEMORY: i32 = 2;

/// Memory over time, rebuilt from events.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Model {
    spaces: Spaces,
    processes: BTreeMap<ProcessId, Process>,
    settings: BTreeMap<String, BTreeMap<ProcessId, String>>,
    facts: BTreeMap<FactKind, BTreeMap<ProcessId, Fact>>,
    /// The first process of each launch.
    launches: Vec<ProcessId>,
    incidents: Vec<Incident>,
    incidents_seen: u64,
    looks_at_others: u64,
    pending_samples: BTreeMap<ProcessId, PendingSamples>,
    /// Of the tables' stacks: what can be read of them again is not saved.
    #[serde(skip)]
    profiles: Profiles,
    events: u64,
    #[serde(skip)]
    with_history: bool,
    /// The place of an incident whose live blocks were told anew since.
    told_anew: Option<usize>,
    #[serde(skip)]
    with_steady: bool,
    /// What the last event changed, where that was asked for.
    #[serde(skip)]
    changes: Option<Vec<Change>>,
}

impl Model {
    /// A model that also keeps what a picture of each space needs, in bounded memory.
    #[must_use]
    pub fn with_history() -> Self {
        Self { with_history: true, ..Self::default() }
    }

    /// The same model, which also keeps what a comparison with another run needs: what was live when the last
    /// iteration began, and the peak of each phase.
    #[must_use]
    pub fn and_steady_state(self) -> Self {
        Self { with_steady: true, ..self }
    }

    /// A model that also tells what each event changes of what is in use.
    #[must_use]
    pub fn followed() -> Self {
        Self { changes: Some(Vec::new()), ..Self::default() }
    }

    /// What the last event changed, of a model that is followed.
    #[must_use]
    pub fn changes(&self) -> &[Change] {
        self.changes.as_deref().unwrap_or_default()
    }

    /// Reads a model that was saved with these tables. What its stacks are is learned again.
    ///
    /// # Errors
    /// Where the bytes are no model.
    pub fn read_saved<'de, D: Deserializer<'de>>(
        tables: &Tables,
        saved: D,
    ) -> Result<Self, D::Error> {
        let mut model = naming_stacks(tables.stack_count(), || Self::deserialize(saved))?;
        let last = tables.stack_count().saturating_sub(1);
        model.profiles.of(StackId(u32::try_from(last).unwrap_or(u32::MAX)), tables);
        Ok(model)
    }

    fn keeps(&self) -> Keeps {
        Keeps {
            history: self.with_history,
            changes: self.changes.is_some(),
            steady: self.with_steady,
        }
    }

    /// What a picture of one process's memory on one device needs, of a model with history.
    #[must_use]
    pub fn timeline_data(
        &self,
        process: ProcessId,
        device: DeviceId,
        limits: TimelineLimits,
    ) -> Option<TimelineData<'_>> {
        let space = self.space(process, device)?;
        space.timeline_data(&self.profiles.call_sites, self.run_context(process).whole, limits)
    }

    /// Every process's memory on every device that it has any on.
    pub fn spaces(&self) -> impl Iterator<Item = (ProcessId, DeviceId, &Space)> {
        self.spaces.iter().map(|((process, device), space)| (process, device, space))
    }

    /// One process's memory on every device that it has any on, without a look at other processes.
    pub fn devices_of(&self, process: ProcessId) -> impl Iterator<Item = (DeviceId, &Space)> {
        self.spaces.of(process)
    }

    /// One process's memory on one device.
    #[must_use]
    pub fn space(&self, process: ProcessId, device: DeviceId) -> Option<&Space> {
        self.spaces.get((process, device))
    }

    /// Every process whose driver calls were recorded.
    pub fn processes(&self) -> impl Iterator<Item = (ProcessId, &Process)> {
        self.processes.iter().map(|(&id, process)| (id, process))
    }

    /// What is known of a process beside its memory, where its driver calls were recorded.
    #[must_use]
    pub fn process(&self, process: ProcessId) -> Option<&Process> {
        self.processes.get(&process)
    }

    /// Growth of one process's memory on one device, if there is any.
    #[must_use]
    pub fn growth(&self, process: ProcessId, device: DeviceId) -> Option<Growth> {
        let space = self.space(process, device)?;
        let exited = self.process(process).is_some_and(|process| process.exited().is_some());
        let run_context = RunContext { exited, ..self.run_context(process) };
        let at_peak =
            exited.then(|| space.growth_up_to_peak(run_context, &self.profiles)).flatten();
        // A program that ends gives back some of it on its way.
        let found = [space.growth(run_context, &self.profiles), at_peak].into_iter().flatten();
        found.max_by_key(|growth| growth.total)
    }

    /// What a process that has ended kept until then, where a line kept more and more: it may be a loop that grows, or
    /// something that it set up.
    #[must_use]
    pub fn kept_until_exit(&self, process: ProcessId, device: DeviceId) -> Option<Growth> {
        self.process(process)?.exited()?;
        let space = self.space(process, device)?;
        space.kept_up_to_peak(self.run_context(process), &self.profiles)
    }

    /// Says that processes from this one on are of another launch: what is read next has nothing to do with what
    /// was read before.
    pub fn begin_launch(&mut self, first: ProcessId) {
        self.launches.push(first);
    }

    fn launch_of(&self, process: ProcessId) -> usize {
        self.launches.partition_point(|first| *first <= process)
    }

    /// A setting of a process, as its allocator or its log told it. What only another process of the same launch
    /// told counts too: a launcher's environment is that of all its ranks.
    #[must_use]
    pub fn setting(&self, process: ProcessId, name: &str) -> Option<&str> {
        let values = self.settings.get(name)?;
        let launch = self.launch_of(process);
        let sibling = || values.iter().find(|(other, _)| self.launch_of(**other) == launch);
        let own = values.get(&process);
        own.or_else(|| sibling().map(|(_, value)| value)).map(String::as_str)
    }

    /// A setting that the process itself told.
    #[must_use]
    pub fn own_setting(&self, process: ProcessId, name: &str) -> Option<&str> {
        self.settings.get(name)?.get(&process).map(String::as_str)
    }

    /// What sources tell of a process itself.
    #[must_use]
    pub fn fact(&self, process: ProcessId, kind: FactKind) -> Option<Fact> {
        self.facts.get(&kind)?.get(&process).copied()
    }

    /// The same, or else what they tell of another process of the same launch.
    #[must_use]
    pub fn launch_fact(&self, process: ProcessId, kind: FactKind) -> Option<Fact> {
        let facts = self.facts.get(&kind)?;
        let launch = self.launch_of(process);
        let sibling = || facts.iter().find(|(other, _)| self.launch_of(**other) == launch);
        facts.get(&process).or_else(|| sibling().map(|(_, fact)| fact)).copied()
    }

    /// What the memory that a stack took probably is.
    #[must_use]
    pub fn category(&self, stack: StackId) -> Category {
        self.profiles.known(stack).category
    }

    /// What the program was doing where a stack allocates.
    #[must_use]
    pub fn phase(&self, stack: StackId) -> Phase {
        self.profiles.known(stack).phase
    }

    /// The settings that the process itself told, by name.
    pub fn own_settings(&self, process: ProcessId) -> impl Iterator<Item = (&str, &str)> {
        let settings = self.settings.iter();
        settings
            .filter_map(move |(name, values)| Some((name.as_str(), values.get(&process)?.as_str())))
    }

    /// The moments at which memory ran out, in order; of very many, the first.
    #[must_use]
    pub fn incidents(&self) -> &[Incident] {
        &self.incidents
    }

    /// How many such moments there were.
    #[must_use]
    pub fn incidents_seen(&self) -> u64 {
        self.incidents_seen
    }

    /// How many events were taken.
    #[must_use]
    pub fn events(&self) -> u64 {
        self.events
    }

    /// Whether the process of an incident went on: it ended in order, and allocated more after it.
    #[must_use]
    pub fn went_on_after(&self, incident: &Incident) -> bool {
        let exited = self.process(incident.process).is_some_and(|one| one.exited().is_some());
        exited && self.made(incident.process) > incident.made
    }

    /// How many allocations a process made, through an allocator or of the driver.
    fn made(&self, process: ProcessId) -> u64 {
        self.spaces_of(process).map(Space::made).sum()
    }

    /// What other processes that were recorded and have not ended hold on a device, the most first.
    fn others_on(&self, process: ProcessId, device: DeviceId) -> Vec<(ProcessId, Bytes)> {
        let ended = |one: ProcessId| self.process(one).is_none_or(|one| one.exited().is_some());
        let mut others: Vec<_> = self
            .spaces()
            .filter(|&(other, on, _)| other != process && on == device && !ended(other))
            .map(|(other, _, space)| (other, space.held()))
            .filter(|(_, held)| *held > Bytes::ZERO)
            .collect();
        others.sort_by_key(|(_, held)| std::cmp::Reverse(*held));
        others.truncate(MOST_OTHERS);
        others
    }

    /// What these processes' caches could give back.
    fn idle_caches(
        &self,
        others: &[(ProcessId, Bytes)],
        device: DeviceId,
    ) -> Vec<(ProcessId, Bytes)> {
        let idle = |(process, _): &(ProcessId, Bytes)| {
            let space = self.space(*process, device).filter(|space| space.has_allocator())?;
            Some((*process, space.free_space().in_empty_segments))
        };
        others.iter().filter_map(idle).filter(|(_, idle)| *idle > Bytes::ZERO).collect()
    }

    /// The spaces of one process.
    fn spaces_of(&self, process: ProcessId) -> impl Iterator<Item = &Space> {
        self.devices_of(process).map(|(_, space)| space)
    }

    fn run_context(&self, process: ProcessId) -> RunContext {
        let spaces = self.spaces_of(process).map(Space::run_context);
        let run_context = spaces.reduce(RunContext::with).unwrap_or_default();
        RunContext {
            whole: run_context.whole || self.processes.contains_key(&process),
            ..run_context
        }
    }

    fn incident(&mut self, event: &Event, tables: &Tables) {
        let pending_samples =
            self.pending_samples.remove(&event.origin.process).unwrap_or_default();
        self.incidents_seen += 1;
        if self.incidents.len() >= MAX_INCIDENTS {
            return;
        }
        let symptom = match event.action {
            Action::Symptom { symptom, software, text } => Some((symptom, software, text)),
            _ => None,
        };
        let recorded = self.processes.get(&event.origin.process);
        let mut incident = Incident {
            process: event.origin.process,
            device: event.origin.device,
            time: event.time,
            stack: event.stack,
            category: self.profiles.of(event.stack, tables).category,
            of_driver: event.result.0 != 0,
            interface: recorded.and_then(Process::refused),
            refused_call: recorded.and_then(|process| process.refused_call(event)),
            symptom,
            counters: pending_samples.counters,
            holders: pending_samples.holders,
            totals: None,
            free_space: None,
            driver: None,
            live: Vec::new(),
            number: self.events,
            growth: None,
            recorded_others: Vec::new(),
            idle_caches: Vec::new(),
            made: self.made(event.origin.process),
        };
        if let Action::OutOfMemory { requested } = event.action {
            incident.counters.insert(Counter::Requested, requested);
            self.measure(event, requested, &mut incident, &pending_samples.pools);
        }
        self.incidents.push(incident);
    }

    fn measure(
        &mut self,
        event: &Event,
        requested: Bytes,
        incident: &mut Incident,
        pools: &BTreeMap<whyoom_trace::PoolId, PoolFigures>,
    ) {
        let (process, device) = (event.origin.process, event.origin.device);
        let Some(space) = self.spaces.get_mut((process, device)) else {
            // It could not even begin: then others are all there is to tell of.
            self.look_at_others(incident);
            return;
        };
        let seen = space.count_refusal();
        if seen <= MEASURED_INCIDENTS {
            space.keep_failure(Instant { time: event.time, event: self.events });
        }
        if space.has_allocator() {
            incident.totals = Some(space.totals()).filter(|totals| *totals != Totals::default());
        }
        let whole = seen <= MEASURED_INCIDENTS || seen.is_power_of_two();
        if !whole && !space.can_afford_map(self.events) {
            return;
        }
        space.map_is_measured(self.events);
        let Some(space) = self.spaces.get((process, device)) else { return };
        let small = requested <= LARGEST_SMALL_REQUEST;
        let request = Request {
            stream: event.origin.stream,
            pool: event.origin.pool,
            class: if small { SizeClass::Small } else { SizeClass::Large },
        };
        incident.free_space = Some(space.free_space_for(request));
        incident.driver = self.driver_state(process, space, pools);
        if !whole {
            incident.shorten();
            return;
        }
        incident.live = space.live_sums();
        let run_context = RunContext { refused: Some(event.stack), ..self.run_context(process) };
        incident.growth = space.growth(run_context, &self.profiles);
        self.look_at_others(incident);
    }

    /// Labels that follow an incident before anything else happens in the space are of what was live then: PyTorch
    /// reports that memory ran out, and only then can the program be asked.
    fn told_after_incident(&mut self, event: &Event) {
        let made = self.made(event.origin.process);
        let space = (event.origin.process, event.origin.device);
        let is_of =
            |one: &Incident| (one.process, one.device, one.made) == (space.0, space.1, made);
        if self.incidents.last().is_some_and(is_of) {
            self.told_anew = Some(self.incidents.len() - 1);
        }
    }

    fn measure_anew(&mut self) {
        let Some(incident) = self.told_anew.take().and_then(|at| self.incidents.get_mut(at)) else {
            return;
        };
        let space = self.spaces.get((incident.process, incident.device));
        if let Some(space) = space.filter(|_| !incident.live.is_empty()) {
            incident.live = space.live_sums();
        }
    }

    /// What other processes hold at an incident. That takes time in proportion to all of them: it is done for so
    /// many incidents, then for ever fewer.
    fn look_at_others(&mut self, incident: &mut Incident) {
        self.looks_at_others += 1;
        let looks = self.looks_at_others;
        if looks > LOOKS_AT_OTHERS && !looks.is_power_of_two() {
            return;
        }
        incident.recorded_others = self.others_on(incident.process, incident.device);
        incident.idle_caches = self.idle_caches(&incident.recorded_others, incident.device);
    }

    fn driver_state(
        &self,
        process: ProcessId,
        space: &Space,
        pools: &BTreeMap<whyoom_trace::PoolId, PoolFigures>,
    ) -> Option<DriverState> {
        let driver = space.driver()?;
        let host = self.space(process, DeviceId::HOST);
        Some(DriverState {
            in_use: space.in_use(),
            held: space.held(),
            outside: space.outside_by_stack(),
            pools: driver.pools(pools),
            pinned: host
                .and_then(Space::driver)
                .map_or(Bytes::ZERO, |host| host.layer().totals().active),
        })
    }

    /// Takes an event of the driver: it may concern a process as a whole.
    fn driver_event(&mut self, event: &Event, tables: &Tables) {
        let process = event.origin.process;
        self.processes.entry(process).or_default().event(event, tables);
        match event.action {
            Action::ContextDestroy if event.result.0 == 0 => {
                for device in [event.origin.device, DeviceId::HOST] {
                    let driver_event = DriverEvent { event, number: self.events, tables };
                    if let Some(space) = self.spaces.get_mut((process, device)) {
                        space.end_context(&driver_event, &mut self.profiles);
                        space.move_changes((process, device), event, &mut self.changes);
                    }
                }
            }
            Action::Exit | Action::Reserve { .. } | Action::Unreserve { .. } => {}
            _ => self.space_event(event, tables),
        }
    }

    /// A mark of one device is that space's; one of the program itself, on no device, is every space's.
    fn mark(&mut self, event: &Event, tables: &Tables) {
        let (process, device) = (event.origin.process, event.origin.device);
        let keeps = self.keeps();
        let mut take = |space: &mut Space| {
            space.event(event, self.events, tables, &mut self.profiles);
        };
        if device == DeviceId::HOST {
            self.spaces.each_of(process, |_, space| {
                take(space);
                false
            });
        } else {
            take(self.spaces.entry((process, device), keeps));
        }
        if let Some(process) = self.processes.get_mut(&process) {
            process.event(event, tables);
        }
    }

    fn space_event(&mut self, event: &Event, tables: &Tables) {
        let (process, device) = (event.origin.process, event.origin.device);
        let keeps = self.keeps();
        let space = self.spaces.entry((process, device), keeps);
        let known = space.event(event, self.events, tables, &mut self.profiles);
        space.move_changes((process, device), event, &mut self.changes);
        if known {
            return;
        }
        // What frees memory need not say where it lay.
        self.spaces.each_of(process, |other, space| {
            if other == device || space.driver().is_none() {
                return false;
            }
            let known = space.event(event, self.events, tables, &mut self.profiles);
            space.move_changes((process, other), event, &mut self.changes);
            known
        });
    }
}

impl EventSink for Model {
    fn event(&mut self, event: &Event, tables: &Tables) {
        self.events += 1;
        if let Some(changes) = &mut self.changes {
            changes.clear();
        }
        let process = event.origin.process;
        if !matches!(event.action, Action::BlockLabel { .. }) {
            self.measure_anew();
        }
        match event.action {
            Action::BlockAlloc { .. }
            | Action::BlockFreeRequested { .. }
            | Action::BlockFree { .. }
            | Action::BlockLabel { .. }
            | Action::SegmentAlloc { .. }
            | Action::SegmentFree { .. }
            | Action::SegmentMap { .. }
            | Action::SegmentUnmap { .. }
            | Action::HistoryStart => {
                let (key, keeps) = ((process, event.origin.device), self.keeps());
                let space = self.spaces.entry(key, keeps);
                space.event(event, self.events, tables, &mut self.profiles);
                space.move_changes(key, event, &mut self.changes);
                if matches!(event.action, Action::BlockLabel { .. }) {
                    self.told_after_incident(event);
                }
                // Without driver calls nothing is known of the process as such.
                if let Some(process) = self.processes.get_mut(&process) {
                    process.event(event, tables);
                }
            }
            Action::Mark { .. } => self.mark(event, tables),
            Action::Setting { name, value } => {
                let values = self.settings.entry(tables.text(name).to_owned()).or_default();
                values.insert(process, tables.text(value).to_owned());
            }
            Action::Fact { fact } => {
                self.facts.entry(fact.kind()).or_default().insert(process, fact);
            }
            Action::Sample { counter, bytes } => {
                let pending_samples = self.pending_samples.entry(process).or_default();
                pending_samples.counter(event.origin.pool, counter, bytes);
            }
            Action::Holder { pid, bytes, command, standing } => {
                let holder = Holder { pid, bytes, command, standing };
                self.pending_samples.entry(process).or_default().holder(holder);
            }
            Action::OutOfMemory { .. } if ![0, OUT_OF_MEMORY].contains(&event.result.0) => {
                self.pending_samples.remove(&process);
            }
            Action::OutOfMemory { .. } | Action::Symptom { .. } => self.incident(event, tables),
            _ => self.driver_event(event, tables),
        }
    }
}
