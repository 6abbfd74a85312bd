//! Everything that was seen: each process's memory on each device, settings, incidents.

use std::collections::BTreeMap;

use whyoom_trace::{
    Action, Bytes, Counter, DeviceId, Event, EventSink, ProcessId, SizeClass, Tables,
};

use crate::{
    free_space::Request,
    growth::Growth,
    incident::Incident,
    profile::Profiles,
    space::{Space, Totals},
};

/// Incidents beyond these are counted, not kept: a loop that retries can make millions.
const MAX_INCIDENTS: usize = 4096;
/// The address map is measured for so many incidents of each space, then for ever fewer: a loop that
/// retries would have it measured a million times.
const MEASURED_INCIDENTS: u64 = 16;
/// The largest request that PyTorch serves from small segments.
const LARGEST_SMALL_REQUEST: Bytes = Bytes::MIB;

/// Memory over time, rebuilt from events.
#[derive(Debug, Default)]
pub struct Model {
    spaces: BTreeMap<(ProcessId, DeviceId), Space>,
    settings: BTreeMap<String, BTreeMap<ProcessId, String>>,
    incidents: Vec<Incident>,
    incidents_seen: u64,
    pending_counters: BTreeMap<Counter, Bytes>,
    pending_holders: Vec<(u32, Bytes)>,
    profiles: Profiles,
    events: u64,
}

impl Model {
    /// Every process's memory on every device that it has any on.
    pub fn spaces(&self) -> impl Iterator<Item = (ProcessId, DeviceId, &Space)> {
        self.spaces.iter().map(|(&(process, device), space)| (process, device, space))
    }

    /// One process's memory on one device.
    #[must_use]
    pub fn space(&self, process: ProcessId, device: DeviceId) -> Option<&Space> {
        self.spaces.get(&(process, device))
    }

    /// Growth of a space from iteration to iteration, if there is any.
    #[must_use]
    pub fn growth(&self, space: &Space) -> Option<Growth> {
        space.growth(&self.profiles)
    }

    /// A setting of a process, as its allocator or its log told it. What only another process told
    /// counts too: a launcher's environment is that of all its ranks.
    #[must_use]
    pub fn setting(&self, process: ProcessId, name: &str) -> Option<&str> {
        let values = self.settings.get(name)?;
        values.get(&process).or_else(|| values.values().next()).map(String::as_str)
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

    fn incident(&mut self, event: &Event, tables: &Tables) {
        let counters = std::mem::take(&mut self.pending_counters);
        let holders = std::mem::take(&mut self.pending_holders);
        self.incidents_seen += 1;
        if self.incidents.len() >= MAX_INCIDENTS {
            return;
        }
        let symptom = match event.action {
            Action::Symptom { symptom, software, text } => Some((symptom, software, text)),
            _ => None,
        };
        let mut incident = Incident {
            process: event.origin.process,
            device: event.origin.device,
            time: event.time,
            stack: event.stack,
            category: self.profiles.of(event.stack, tables).category,
            symptom,
            counters,
            holders,
            totals: None,
            free_space: None,
        };
        if let Action::OutOfMemory { requested } = event.action {
            incident.counters.insert(Counter::Requested, requested);
            self.measure(event, requested, &mut incident);
        }
        self.incidents.push(incident);
    }

    fn measure(&mut self, event: &Event, requested: Bytes, incident: &mut Incident) {
        let key = (event.origin.process, event.origin.device);
        let Some(space) = self.spaces.get_mut(&key) else { return };
        let seen = space.count_refusal();
        incident.totals = Some(space.totals()).filter(|totals| *totals != Totals::default());
        if seen <= MEASURED_INCIDENTS || seen.is_power_of_two() {
            let small = requested <= LARGEST_SMALL_REQUEST;
            let request = Request {
                stream: event.origin.stream,
                pool: event.origin.pool,
                class: if small { SizeClass::Small } else { SizeClass::Large },
            };
            incident.free_space = Some(space.free_space_for(request));
        }
    }
}

impl EventSink for Model {
    fn event(&mut self, event: &Event, tables: &Tables) {
        self.events += 1;
        let process = event.origin.process;
        match event.action {
            Action::Setting { name, value } => {
                let values = self.settings.entry(tables.text(name).to_owned()).or_default();
                values.insert(process, tables.text(value).to_owned());
            }
            Action::Sample { counter, bytes } => {
                self.pending_counters.insert(counter, bytes);
            }
            Action::Holder { pid, bytes, .. } => {
                if self.pending_holders.len() < MAX_INCIDENTS {
                    self.pending_holders.push((pid, bytes));
                }
            }
            Action::OutOfMemory { .. } | Action::Symptom { .. } => self.incident(event, tables),
            _ => {
                let space = self.spaces.entry((process, event.origin.device)).or_default();
                space.event(event, self.events, tables, &mut self.profiles);
            }
        }
    }
}
