//! The recorder's events as the contract has them: driver memory that PyTorch's blocks lie in becomes
//! segments, that of whyoom's pool is told by the pool's own, and what was seen of the machine goes before
//! the failure that it was looked at for.

use whyoom_redact::is_recorded;
use whyoom_trace::{
    Action, Bytes, Counter, DeviceId, Event, EventSink, FrameText, MemoryKind, Origin, ProcessId,
    ResultCode, SizeClass, Tables, ThreadId,
    facts::{DEVICE_UUID, POOL},
};

use super::{
    device_names::DeviceNames,
    machine::Machine,
    process::Process,
    queue::{Queue, Ticket},
    quiet::Quiet,
    recent::Recent,
};

/// What became of the events.
#[derive(Debug, Default)]
pub(super) struct Found {
    /// How many events the recording holds.
    pub(super) events: u64,
    /// Where PyTorch's word of what it reserved differs from the driver's: whose, PyTorch's figure,
    /// ours.
    pub(super) disagreements: Vec<(ProcessId, DeviceId, Bytes, Bytes)>,
}

/// Takes the recorder's events and sends the contract's.
pub(super) struct Translator<'a> {
    sink: &'a mut dyn EventSink,
    queue: Queue,
    processes: Recent<ProcessId, Process>,
    threads: Recent<(ProcessId, ThreadId), Thread>,
    /// What the processes of the reader are.
    names: Recent<ProcessId, Option<ProcessId>>,
    quiet: Quiet,
    machine: &'a Machine,
    pub(super) found: Found,
}

/// What a translator knows between two pieces of a recording that is still written.
#[derive(Debug, Default)]
pub(super) struct Paused {
    queue: Queue,
    processes: Recent<ProcessId, Process>,
    threads: Recent<(ProcessId, ThreadId), Thread>,
    names: Recent<ProcessId, Option<ProcessId>>,
    quiet: Quiet,
    pub(super) found: Found,
}

/// What a thread has done that is not told yet.
#[derive(Debug, Default)]
struct Thread {
    /// Driver calls that may turn out to be PyTorch's.
    undecided: Vec<Ticket>,
    /// Counters that were read and wait for what they were read for.
    samples: Vec<Event>,
    /// Counters of a failed driver call of PyTorch's allocator, which may recover.
    of_driver: Vec<Event>,
    /// That call's failure, where it is not certain that it was PyTorch's.
    failures: Vec<Ticket>,
    /// True if the last call that failed maps memory or gives access to it.
    refused_mapping: bool,
}

impl Thread {
    fn has_nothing(&self) -> bool {
        let Self { undecided, samples, of_driver, failures, refused_mapping: _ } = self;
        undecided.is_empty() && samples.is_empty() && of_driver.is_empty() && failures.is_empty()
    }
}

impl<'a> Translator<'a> {
    pub(super) fn new(sink: &'a mut dyn EventSink, machine: &'a Machine) -> Self {
        Self::resume(Paused::default(), sink, machine)
    }

    /// Goes on after what came before.
    pub(super) fn resume(
        Paused { queue, processes, threads, names, quiet, found }: Paused,
        sink: &'a mut dyn EventSink,
        machine: &'a Machine,
    ) -> Self {
        Self { sink, queue, processes, threads, names, quiet, machine, found }
    }

    /// Stops until more comes.
    #[cfg(target_os = "linux")]
    pub(super) fn pause(self) -> Paused {
        let Self { queue, processes, threads, names, quiet, found, .. } = self;
        Paused { queue, processes, threads, names, quiet, found }
    }

    /// Sends what still waits.
    pub(super) fn finish(mut self, tables: &Tables) -> Found {
        self.queue.finish(tables, self.sink);
        self.found
    }

    fn take(&mut self, event: &Event, tables: &Tables) {
        let succeeded = event.result == ResultCode(0);
        match event.action {
            Action::Sample { .. } | Action::Holder { .. } => {
                self.thread(event).samples.push(*event);
            }
            Action::OutOfMemory { .. } if succeeded => self.allocator_failed(event),
            Action::OutOfMemory { .. } => self.driver_failed(event, tables),
            _ if !succeeded => {
                self.thread(event).refused_mapping = is_mapping(event, tables);
                self.queue.push(*event);
            }
            Action::Exit => {
                self.emit_usage(event);
                self.pass(event);
            }
            Action::BlockAlloc { .. } => self.block(event, tables),
            Action::BlockFreeRequested { .. } | Action::BlockFree { .. } => {
                self.settle(event);
                self.queue.send(event, tables, self.sink);
            }
            Action::SegmentMap { .. } => self.pool_grew(event),
            // What its thread took from the driver may still be for the segment that grows next.
            Action::SegmentUnmap { .. } => self.queue.push(*event),
            Action::Alloc { kind: MemoryKind::Device, .. }
            | Action::Create { .. }
            | Action::Map { .. } => self.driver_gave(event),
            Action::Setting { name, value } if tables.text(name) == DEVICE_UUID => {
                let (device, uuid) = (event.origin.device, tables.text(value).to_owned());
                self.process(event).device_names.uuids.insert(device, uuid);
            }
            // An older recorder wrote down more variables than are needed.
            Action::Setting { name, .. } if is_withheld(tables.text(name)) => {}
            Action::Setting { name, value } => {
                if tables.text(name) == POOL {
                    self.process(event).has_pool = true;
                }
                if tables.text(name) == "CUDA_VISIBLE_DEVICES" {
                    let visible = tables.text(value).to_owned();
                    self.process(event).device_names.visible = Some(visible);
                }
                self.queue.push(*event);
            }
            _ => self.pass(event),
        }
    }

    fn pass(&mut self, event: &Event) {
        self.settle(event);
        let queue = &mut self.queue;
        let process = self.processes.entry(event.origin.process);
        if let Some(event) = process.passing(event) {
            queue.push(event);
        }
    }

    /// What a process was seen to use, when it ends.
    fn emit_usage(&mut self, exit: &Event) {
        let process = exit.origin.process;
        let names = self.processes.get(process).map(|process| &process.device_names);
        for action in self.machine.used(process, names.unwrap_or(&DeviceNames::default())) {
            self.queue.push(Event { action, ..*exit });
        }
    }

    /// Memory came from the driver: whose it is, the thread's next events tell.
    fn driver_gave(&mut self, event: &Event) {
        if matches!(event.action, Action::Alloc { .. }) {
            self.settle(event);
        }
        let process = self.processes.entry(event.origin.process);
        if let Some(ticket) = process.gave(event, &mut self.queue) {
            self.thread(event).undecided.push(ticket);
        }
    }

    /// PyTorch's allocator gave a block: the driver memory around it is its segment.
    fn block(&mut self, event: &Event, tables: &Tables) {
        self.recovered(event);
        let process = self.processes.entry(event.origin.process);
        let mut block = *event;
        block.origin.pool = process.claim(event, &mut self.queue);
        self.settle(event);
        self.queue.send(&block, tables, self.sink);
    }

    /// whyoom's pool tells of a segment: the driver memory behind it is told by that.
    fn pool_grew(&mut self, event: &Event) {
        let process = self.processes.entry(event.origin.process);
        process.claim_for_pool(event, &mut self.queue);
        let Action::SegmentMap { address, size, .. } = event.action else { return };
        // The request that a page came for is told with it, but pages serve requests of any size: a
        // block may lie across two that came for different ones.
        let action = Action::SegmentMap { address, size, class: SizeClass::Large };
        self.queue.push(Event { action, ..*event });
    }

    /// What this thread took from the driver before is nobody's segment so far.
    fn settle(&mut self, event: &Event) {
        let key = (event.origin.process, event.origin.thread);
        let Some(thread) = self.threads.get_mut(key) else { return };
        for ticket in thread.undecided.drain(..) {
            self.queue.release(ticket);
        }
    }

    /// PyTorch's allocator got on: earlier failures of the driver were no failures of the program.
    fn recovered(&mut self, event: &Event) {
        let key = (event.origin.process, event.origin.thread);
        let Some(thread) = self.threads.get_mut(key) else { return };
        thread.of_driver.clear();
        for ticket in thread.failures.drain(..) {
            self.queue.replace(ticket, None);
        }
    }

    /// The driver refused. Inside PyTorch's allocator or the pool that is not the end: it frees and tries
    /// again, and tells itself if it gives up.
    fn driver_failed(&mut self, event: &Event, tables: &Tables) {
        let in_hand = self.in_hand(event);
        self.settle(event);
        let mut samples = std::mem::take(&mut self.thread(event).samples);
        let has_blocks = self.process(event).has_blocks;
        let has_pool = self.process(event).has_pool;
        let maps = std::mem::take(&mut self.thread(event).refused_mapping);
        let asked_by_allocator = may_be_retried(event, maps, has_pool, tables);
        if asked_by_allocator == Some(true) {
            samples.iter_mut().for_each(|sample| add_to_free(sample, in_hand));
        }
        match (asked_by_allocator, has_blocks) {
            (Some(false), _) | (None, false) => self.close(samples, event),
            (Some(true), true) => self.thread(event).of_driver = samples,
            // Its allocator was not heard of yet, or nobody knows who asked: its next word tells.
            (Some(true), false) | (None, true) => {
                let all = samples.iter().copied().chain(self.seen(event)).chain([*event]);
                let all: Vec<Event> = all.collect();
                let tickets: Vec<Ticket> =
                    all.into_iter().map(|event| self.queue.wait(event)).collect();
                let thread = self.thread(event);
                thread.of_driver = samples;
                thread.failures.extend(tickets);
            }
        }
    }

    /// What this thread has got in pieces for the request that fails now: PyTorch gives it back.
    fn in_hand(&self, event: &Event) -> Bytes {
        let thread = self.threads.get((event.origin.process, event.origin.thread));
        let undecided = thread.map_or(&[][..], |thread| &thread.undecided);
        let waiting = undecided.iter().filter_map(|ticket| self.queue.waiting(*ticket));
        let created = waiting.map(|event| match event.action {
            Action::Create { size, .. } => size,
            _ => Bytes::ZERO,
        });
        created.sum()
    }

    /// PyTorch's allocator gave up.
    fn allocator_failed(&mut self, event: &Event) {
        let mut samples = std::mem::take(&mut self.thread(event).of_driver);
        self.recovered(event);
        self.settle(event);
        // What the device said when the driver refused is nearer to the request than what it says now.
        let told: Vec<Counter> = samples.iter().filter_map(counter).collect();
        let is_new = |sample: &Event| counter(sample).is_none_or(|one| !told.contains(&one));
        let later = std::mem::take(&mut self.thread(event).samples);
        samples.extend(later.into_iter().filter(is_new));
        let reserved = samples.iter().rev().find_map(|sample| match sample.action {
            Action::Sample { counter: Counter::Reserved, bytes } => Some(bytes),
            _ => None,
        });
        self.compare(event, reserved);
        self.close(samples, event);
    }

    /// A failure, with what was known then before it.
    fn close(&mut self, samples: Vec<Event>, failure: &Event) {
        let seen = self.seen(failure);
        let known: Vec<Counter> = samples.iter().filter_map(counter).collect();
        for sample in samples {
            // A pool's figures stay the pool's.
            let origin = Origin { pool: sample.origin.pool, ..failure.origin };
            self.queue.push(Event { origin, ..sample });
        }
        let is_new = |event: &Event| counter(event).is_none_or(|counter| !known.contains(&counter));
        seen.into_iter().filter(is_new).for_each(|event| self.queue.push(event));
        self.queue.push(*failure);
    }

    /// What was seen of the machine because of a failure.
    fn seen(&self, failure: &Event) -> Vec<Event> {
        let process = self.processes.get(failure.origin.process);
        let names = process.map(|process| &process.device_names);
        self.machine.seen(failure, names.unwrap_or(&DeviceNames::default()))
    }

    /// Both sides of the segments must agree.
    fn compare(&mut self, event: &Event, reserved: Option<Bytes>) {
        let (process, device) = (event.origin.process, event.origin.device);
        let ours = self.process(event).reserved(device);
        // Without any segment PyTorch's memory comes from somewhere else: a pool of the driver's.
        if let Some(theirs) = reserved.filter(|theirs| *theirs != ours && ours > Bytes::ZERO) {
            self.found.disagreements.push((process, device, theirs, ours));
        }
    }

    /// Whether an event of a quiet thread goes out as it is and changes nothing here, as nearly all of a long run do.
    #[inline(always)]
    fn is_plain(&mut self, event: &Event) -> bool {
        let origin = &event.origin;
        if event.result != ResultCode(0) || !self.queue.is_empty() {
            return false;
        }
        match event.action {
            Action::BlockFreeRequested { .. } | Action::BlockFree { .. } => true,
            Action::BlockAlloc { address, .. } => {
                self.processes.entry(origin.process).has_pool_at(address, origin.pool)
            }
            _ => false,
        }
    }

    /// Whether nothing of the event's thread waits.
    fn thread_has_nothing(&mut self, event: &Event) -> bool {
        let thread = self.threads.get_mut((event.origin.process, event.origin.thread));
        thread.is_none_or(|thread| thread.has_nothing())
    }

    /// A process by the name that it has for people, which is the same in a second reading.
    fn known(&mut self, process: ProcessId, tables: &Tables) -> ProcessId {
        *self.names.entry(process).get_or_insert_with(|| {
            let named = self.machine.processes.get(tables.process_name(process));
            named.copied().unwrap_or(process)
        })
    }

    fn process(&mut self, event: &Event) -> &mut Process {
        self.processes.entry(event.origin.process)
    }

    fn thread(&mut self, event: &Event) -> &mut Thread {
        self.threads.entry((event.origin.process, event.origin.thread))
    }
}

impl EventSink for Translator<'_> {
    fn event(&mut self, event: &Event, tables: &Tables) {
        self.found.events += 1;
        let (process, thread) = (event.origin.process, event.origin.thread);
        let mut event = *event;
        if let Some(known) = self.quiet.known(process, thread) {
            event.origin.process = known;
            if self.is_plain(&event) {
                self.sink.event(&event, tables);
                return;
            }
        }
        event.origin.process = self.known(process, tables);
        event.origin.pool = self.process(&event).pool_behind(event.origin.pool);
        self.take(&event, tables);
        self.queue.flush(tables, self.sink);
        if self.process(&event).shares_pools() {
            self.quiet.clear();
        } else {
            let known = self.thread_has_nothing(&event).then_some(event.origin.process);
            self.quiet.note(process, thread, known);
        }
    }
}

fn add_to_free(sample: &mut Event, more: Bytes) {
    if let Action::Sample { counter: Counter::DeviceFree, bytes } = &mut sample.action {
        *bytes = bytes.plus(more);
    }
}

fn counter(event: &Event) -> Option<Counter> {
    match event.action {
        Action::Sample { counter, .. } => Some(counter),
        _ => None,
    }
}

/// Returns true if PyTorch's caching allocator or whyoom's pool made the call and may try it again. Both retry requests for
/// bytes, and the pool also mappings. Nothing retries a context, a launch or code. Returns `None` if no stack was recorded
/// and one of them may have made the call.
fn may_be_retried(failure: &Event, maps: bool, has_pool: bool, tables: &Tables) -> Option<bool> {
    let mut frames = tables.frames(failure.stack).peekable();
    if failure.action == (Action::OutOfMemory { requested: Bytes::ZERO }) {
        if !maps || !has_pool {
            return Some(false);
        }
        frames.peek()?;
        return Some(frames.any(is_of_pool));
    }
    frames.peek()?;
    Some(frames.any(|frame| {
        frame.file.contains("libc10_cuda")
            || frame.function.contains("CUDACachingAllocator")
            || is_of_pool(frame)
    }))
}

/// Returns true if the frame is one of whyoom's pool.
fn is_of_pool(frame: FrameText<'_>) -> bool {
    frame.file.contains("libwhyoom_pool") || frame.function.contains("whyoom_pool::")
}

/// Returns true if the failed call maps physical memory, or gives access to it.
fn is_mapping(failure: &Event, tables: &Tables) -> bool {
    let Action::LaunchFailed { kernel, .. } = failure.action else { return false };
    ["cuMemMap", "cuMemSetAccess"].contains(&tables.text(kernel))
}

/// Whether a setting is a variable of the environment that is not recorded. Settings of allocators are in small
/// letters.
fn is_withheld(name: &str) -> bool {
    let name = name.strip_prefix("late_").unwrap_or(name);
    let of_variables = |one: u8| one.is_ascii_uppercase() || one.is_ascii_digit() || one == b'_';
    name.bytes().all(of_variables) && !is_recorded(name.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::is_withheld;

    #[test]
    fn variables_that_are_not_recorded_now_are_not_read_either() {
        for name in ["NCCL_PROXY_PASSWORD", "CUDA_API_TOKEN", "late_CUDA_API_TOKEN"] {
            assert!(is_withheld(name), "{name}");
        }
        for name in ["NCCL_BUFFSIZE", "late_PYTORCH_ALLOC_CONF", "whyoom_pool", "max_split_size"] {
            assert!(!is_withheld(name), "{name}");
        }
    }
}
