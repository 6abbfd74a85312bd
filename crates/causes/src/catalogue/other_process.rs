//! Other processes hold what this one lacks.

use whyoom_memory::Holder;
use whyoom_trace::{Bytes, ProcessState, Software, StringId, Symptom};

use crate::{
    cause::Cause,
    diagnosis::{Diagnosis, Era},
    end_processes::{Signal, end_processes},
    finding::{Basis, Evidence, Finding, Remedy, Strength, capitalized},
    observed::CONTEXT_ALLOWANCE,
    other_gpu_processes::{OtherGpuProcesses, held, idle_cache_beside},
    quotation_marks::in_quotation_marks,
};

pub(super) const CAUSE: Cause = Cause {
    id: "other-process",
    title: "other processes hold the memory that this one needs",
    explanation: "\
The device is full, but not because of this program. Without other processes, the request would have
fit.

Symptoms: \"Process 2797307 has 14.85 GiB memory in use\" in PyTorch's message; little \"already
allocated\" and yet little free; a server that finds too little free memory at startup.

Why it happens: a notebook kernel that is still open, yesterday's run, a second job on the same GPU,
another rank that created a context here, a worker that outlived its parent.

Common misconception: memory leaked by an exited process. When a process has fully exited, the
driver frees all its memory. Memory in use belongs to a process that has not exited, or to one that
holds its file descriptor. Resetting or emptying the cache of your own process frees nothing of
another one's.

What helps: find the holder, and stop, move or limit it.",
    check,
};

fn check(diagnosis: &Diagnosis<'_>) -> Option<Finding> {
    match diagnosis.symptom() {
        Some(Symptom::PreallocationFailed) => return startup(diagnosis),
        Some(Symptom::FreeMemoryChanged) => return Some(disturbed(diagnosis)),
        Some(Symptom::IndirectOom | Symptom::LibraryAllocFailed) => return found_little(diagnosis),
        _ => {}
    }
    // What a process of the same run merely keeps, it can give back: it need not end.
    if !diagnosis.device_ran_out() || idle_cache_beside(diagnosis).is_some() {
        return None;
    }
    let observed = &diagnosis.observed;
    if let Some(finding) = found_little(diagnosis).or_else(|| listed_without_request(diagnosis)) {
        return Some(finding);
    }
    let shortfall = observed.shortfall()?;
    let other_gpu_processes = OtherGpuProcesses::of(diagnosis);
    let unnamed = observed.unexplained()?.minus(CONTEXT_ALLOWANCE);
    // With a list of processes the rest is the driver's; without one, it is somebody's.
    let by_recording = !observed.recorded_others.is_empty();
    let holders = concerned(diagnosis, &other_gpu_processes, shortfall);
    let held = match (observed.processes_listed, by_recording) {
        (true, _) => held(&holders),
        (false, true) => observed.others_hold(),
        // A list that was empty tells that it is somebody who cannot be seen.
        (false, false) if diagnosis.nobody_was_listed() => return None,
        (false, false) => unnamed,
    };
    let capacity = observed.capacity?;
    // Less than was missing is worth a word only beside others that held the rest.
    let beside =
        other_gpu_processes.others_are_enough(diagnosis.unseen().unwrap_or_default(), shortfall);
    if held.share_of(capacity) < 0.05 || (held < shortfall && !beside) {
        return None;
    }
    // The device would be too small for this process even if it had it alone.
    let alone = observed.too_much_alone().unwrap_or(false);
    let known = observed.processes_listed || by_recording;
    let strength = match (alone || held < shortfall, known) {
        (true, _) => Strength::Contributing,
        (false, true) => Strength::Explains,
        (false, false) => Strength::Likely,
    };
    let largest = holders.iter().copied().max_by_key(|holder| holder.bytes);
    let headline = match largest.map(|holder| (diagnosis.name_of(holder), holder.bytes)) {
        Some((name, bytes)) if holders.len() == 1 => {
            let name = capitalized(&name);
            format!("{name} holds {bytes} of this GPU; without it, this request would fit")
        }
        Some((name, bytes)) => format!(
            "{} other processes hold {held} of this GPU; the largest is {name} with {bytes}",
            holders.len()
        ),
        None if by_recording => recorded(diagnosis, held),
        None => format!(
            "About {held} of this GPU is held by something outside this program's allocator"
        ),
    };
    let own = observed.process_used.or(observed.reserved).unwrap_or_default();
    let because = format!("{}; this process uses {own} of {capacity}.", observed.missing()?);
    let mut finding = diagnosis.finding(CAUSE.id, strength, headline, because);
    finding.reclaimable = Some(held);
    if !known {
        let label = "held by unidentified processes, minus 1 GiB for a context";
        finding.evidence.push(Evidence::bytes(label, held, Basis::Computed));
    }
    finding.remedies = stop_or_move(diagnosis, largest, held);
    finding.remedies.extend(own_cache(diagnosis));
    Some(finding)
}

/// What PyTorch has free in pieces would have been enough as well, and needs nobody else.
fn own_cache(diagnosis: &Diagnosis<'_>) -> Option<Remedy> {
    let cached = diagnosis.observed.cache_that_would_do()?;
    let requested = diagnosis.observed.requested.filter(|requested| cached >= *requested)?;
    if diagnosis.expandable_segments_on()
        || diagnosis.era() != Era::Today
        || diagnosis.on_windows()
        || diagnosis.software().is_some_and(|software| software != Software::PyTorch)
    {
        return None;
    }
    let what = format!(
        "without anybody else: {cached} is free in PyTorch's cache, in pieces smaller than {requested}; \
         this lets them merge"
    );
    let remedy = diagnosis.set_conf("expandable_segments:True", &what);
    Some(remedy.by_setting("expandable_segments:True").freeing(cached))
}

/// So little is left of a GPU only where something else has the rest.
const HARDLY_ANYTHING: Bytes = Bytes(512 << 20);

/// TensorFlow takes all that it finds when it starts: where that was next to nothing, others had the rest.
fn found_little(diagnosis: &Diagnosis<'_>) -> Option<Finding> {
    let observed = &diagnosis.observed;
    let found = observed.allowed.filter(|allowed| *allowed < HARDLY_ANYTHING)?;
    if diagnosis.software() != Some(Software::TensorFlow) || !diagnosis.is_message() {
        return None;
    }
    let mut finding = diagnosis.finding(
        CAUSE.id,
        Strength::Explains,
        format!("TensorFlow could take only {found} of this GPU: something else holds the rest"),
        "It takes nearly all free memory at startup, and its own log reports that as its limit.",
    );
    finding.evidence.push(Evidence::text("message", diagnosis.message(), Basis::Message));
    finding.remedies = stop_or_move(diagnosis, None, Bytes::ZERO);
    finding.remedies[0].frees = None;
    Some(finding)
}

/// Others were listed with more than half of the device, and nobody told how much was asked for.
fn listed_without_request(diagnosis: &Diagnosis<'_>) -> Option<Finding> {
    let observed = &diagnosis.observed;
    let told = observed.requested.is_some() || observed.free.is_some();
    let (held, capacity) = (observed.others_hold(), observed.capacity?);
    if told || !diagnosis.is_message() || held.share_of(capacity) < 0.5 {
        return None;
    }
    let largest = observed.others.iter().max_by_key(|holder| holder.bytes)?;
    let count = observed.others.len();
    let mut finding = diagnosis.finding(
        CAUSE.id,
        Strength::Explains,
        format!(
            "{count} other {} {held} of this GPU's {capacity}; the largest is {} with {}",
            if count == 1 { "process holds" } else { "processes hold" },
            diagnosis.name_of(largest),
            largest.bytes
        ),
        format!("That leaves {} for the next process.", capacity.minus(held)),
    );
    finding.reclaimable = Some(held);
    finding.remedies = stop_or_move(diagnosis, Some(largest), held);
    Some(finding)
}

/// Those that work here. Where these hold most, or no kind of holders would do alone, all that do not belong to
/// the run are meant.
fn concerned<'a>(
    diagnosis: &'a Diagnosis<'_>,
    other_gpu_processes: &OtherGpuProcesses<'a>,
    shortfall: Bytes,
) -> Vec<&'a Holder> {
    if !other_gpu_processes.one_kind_is_enough(shortfall) {
        return diagnosis.observed.others.iter().collect();
    }
    let strangers = other_gpu_processes.lost.iter().chain(&other_gpu_processes.contexts);
    let strangers = strangers.filter(|holder| holder.standing != ProcessState::Recorded);
    let with_all = held(&other_gpu_processes.at_work) >= other_gpu_processes.largest_of_others();
    other_gpu_processes.at_work.iter().chain(strangers.filter(|_| with_all)).copied().collect()
}

/// What other recorded processes had taken.
fn recorded(diagnosis: &Diagnosis<'_>, held: Bytes) -> String {
    let others = &diagnosis.observed.recorded_others;
    let name = |process| in_quotation_marks(diagnosis.tables.process_name(process));
    match others.as_slice() {
        [(process, bytes)] => format!(
            "{} had allocated {bytes} of this GPU; without it, this request would fit",
            name(*process)
        ),
        [(process, bytes), ..] => format!(
            "{} other processes of this run had allocated {held} of this GPU; the largest is {} \
             with {bytes}",
            others.len(),
            name(*process)
        ),
        [] => String::new(),
    }
}

fn stop_or_move(diagnosis: &Diagnosis<'_>, holder: Option<&Holder>, held: Bytes) -> Vec<Remedy> {
    if let Some(holder) = holder.filter(|holder| holder.standing == ProcessState::Recorded) {
        let apart = "both are processes of this run: give each a GPU of its own \
                     (CUDA_VISIBLE_DEVICES, torch.cuda.set_device), or run one after the other";
        let stop = format!("stop {}, if it is not needed", diagnosis.name_of(holder));
        let stop = end_processes(diagnosis.origin, Signal::Term, &[holder], &stop);
        return vec![Remedy::advice(apart), stop, list_gpus()];
    }
    let look = match holder {
        Some(holder) if holder.standing == ProcessState::Ghost => Remedy::line(
            "sudo whyoom who",
            "on the host, outside any container: that process is not visible from here",
        ),
        Some(holder) if holder.command != StringId(0) => {
            let age = diagnosis
                .age_of(holder)
                .map_or(String::new(), |age| format!(", running for {age}"));
            let name = diagnosis.name_of(holder);
            let what = format!("stop {name}{age}, if it is yours and not needed");
            end_processes(diagnosis.origin, Signal::Term, &[holder], &what)
        }
        Some(holder) => {
            let what = format!(
                "shows what process {} is and how to stop it safely, if it is yours and not needed",
                holder.pid
            );
            Remedy::line("whyoom who", what)
        }
        None => Remedy::line(
            "whyoom who",
            "shows which processes hold memory here; run it on the host, not in a container (without \
             whyoom: nvidia-smi)",
        ),
    };
    let held = holder.map_or(held, |holder| holder.bytes);
    vec![look.freeing(held), list_gpus()]
}

fn list_gpus() -> Remedy {
    Remedy::line(
        "nvidia-smi --query-gpu=index,memory.free --format=csv",
        "lists the GPUs with free memory: run with CUDA_VISIBLE_DEVICES=its index",
    )
}

/// A server found far too little free when it started.
fn startup(diagnosis: &Diagnosis<'_>) -> Option<Finding> {
    let (free, total) = (diagnosis.observed.free?, diagnosis.observed.capacity?);
    let wanted = diagnosis.incident?.counter(whyoom_trace::Counter::Preallocation)?;
    if free.0 >= wanted.0 / 2 {
        return None;
    }
    let held = total.minus(free);
    let mut finding = diagnosis.finding(
        CAUSE.id,
        Strength::Explains,
        format!(
            "Other processes hold {held} of this GPU's {total}: only {free} is free at startup"
        ),
        format!("vLLM needs {wanted}."),
    );
    finding.reclaimable = Some(held);
    finding.evidence.push(Evidence::bytes("preallocation", wanted, Basis::Message));
    finding.remedies = stop_or_move(diagnosis, None, held);
    Some(finding)
}

fn disturbed(diagnosis: &Diagnosis<'_>) -> Finding {
    let mut finding = diagnosis.finding(
        CAUSE.id,
        Strength::Explains,
        "Another process freed memory while vLLM was profiling the GPU",
        "Free memory grew during profiling, so its plan would have been wrong.",
    );
    finding.evidence.push(Evidence::text("message", diagnosis.message(), Basis::Message));
    finding.remedies = vec![Remedy::line(
        "whyoom who",
        "wait until the other processes have settled, then start again",
    )];
    finding
}
