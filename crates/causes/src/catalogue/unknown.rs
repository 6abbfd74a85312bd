//! The evidence does not decide.

use whyoom_memory::{Incident, Process, Space};
use whyoom_trace::{Bytes, DeviceId, Software, Symptom};

use crate::{
    cause::Cause,
    diagnosis::Diagnosis,
    finding::{Basis, Evidence, Finding, Remedy, Strength},
    library_frames,
    observed::{CONTEXT_ALLOWANCE, ObservedFigures},
    quotation_marks::text_in_quotation_marks,
    shell_line::ShellLine,
};

pub(super) const CAUSE: Cause = Cause {
    id: "unknown",
    title: "the evidence is inconclusive",
    explanation: "\
The input does not show why memory ran out, or whether it did. whyoom does not guess: it reports
what is missing and how to record it.

What provides more evidence: the complete text of the message (the sizes in it decide most cases); a
snapshot with history, taken at the moment of the failure.",
    check,
};

/// Records history and dumps it when memory runs out.
const RECORD: &str = "\
torch.cuda.memory._record_memory_history(max_entries=1_000_000)
try:
    main()
except torch.cuda.OutOfMemoryError:
    torch.cuda.memory._dump_snapshot(\"oom.pickle\")
    raise";

fn check(diagnosis: &Diagnosis<'_>) -> Option<Finding> {
    let by_driver =
        diagnosis.space.filter(|space| !space.has_allocator() && space.driver().is_some());
    let (headline, because) = match (diagnosis.incident, diagnosis.space) {
        (Some(_), _) => incident(diagnosis),
        // Pinned memory that neither failed nor grew is no riddle.
        (None, Some(_)) if by_driver.is_some() && diagnosis.device == DeviceId::HOST => {
            return None;
        }
        (None, _) if diagnosis.is_log_of_allocator() => logged(diagnosis),
        (None, _) if diagnosis.is_report_of_profiler() => reported(diagnosis),
        (None, _) if diagnosis.process().is_some() || by_driver.is_some() => recorded(diagnosis),
        (None, Some(space)) => state(space),
        (None, None) => return None,
    };
    let mut finding = diagnosis.finding(CAUSE.id, Strength::Fallback, headline, because);
    let holds_segments = |space: &&Space| space.segments().next().is_some();
    if let Some(space) = diagnosis.space.filter(|_| by_driver.is_none()).filter(holds_segments) {
        let free = space.free_space();
        finding.evidence.extend([
            Evidence::bytes("free in the cache, total", free.total, Basis::Recorded),
            Evidence::bytes(
                "of that, in completely free segments",
                free.in_empty_segments,
                Basis::Recorded,
            ),
            Evidence::bytes("largest free block", free.largest, Basis::Recorded),
        ]);
    }
    if let Some(space) = diagnosis.space {
        for (call_site, bytes) in diagnosis.by_call_site(space.live_by_stack()).into_iter().take(3)
        {
            let label = format!("in use, from {call_site}");
            finding.evidence.push(Evidence::bytes(label, bytes, Basis::Recorded));
        }
    }
    if !diagnosis.message().is_empty() {
        finding.evidence.push(Evidence::text("message", diagnosis.message(), Basis::Message));
    }
    finding.remedies = learn_more(diagnosis);
    Some(finding)
}

fn state(space: &Space) -> (String, String) {
    let totals = space.totals();
    if totals.reserved == Bytes::ZERO {
        return (
            "Cannot tell: this snapshot is empty".to_owned(),
            "It contains no segment and no history: it was taken before anything was allocated."
                .to_owned(),
        );
    }
    (
        "Cannot tell: this snapshot contains a state, but no history and no failed request"
            .to_owned(),
        format!(
            "{} reserved, {} allocated; without the request and the device's free memory, the \
             shortfall is unknown.",
            totals.reserved, totals.active
        ),
    )
}

/// A recorded run in which no request failed, and which is not known to have ended in order.
fn recorded(diagnosis: &Diagnosis<'_>) -> (String, String) {
    let failed = diagnosis.process().map_or(0, Process::failures_seen);
    if failed > 0 {
        return (
            "Cannot tell: a launch or a synchronize failed, but no memory request".to_owned(),
            format!("{failed} of them failed; whether memory is the reason is not known."),
        );
    }
    if let Some(status) = diagnosis.failed_with().filter(|_| diagnosis.exited()) {
        return (
            format!(
                "Cannot tell: the program exited with status {status}, and no GPU memory request \
                 had failed"
            ),
            "Its own last output gives the reason: an error unrelated to GPU memory, or host memory \
             that ran out."
                .to_owned(),
        );
    }
    if !diagnosis.is_over() {
        return (
            "Cannot tell yet: no request has failed so far, and the recording does not show that \
             the run has ended"
                .to_owned(),
            "If it is still running, try again later. If whyoom run was killed with it, its exit \
             was not recorded."
                .to_owned(),
        );
    }
    (
        "Cannot tell: the recording stops before the program exited, and no request had failed"
            .to_owned(),
        "If it was killed because host memory ran out, the system log (dmesg) shows it.".to_owned(),
    )
}

/// An allocator's own log in which no request failed.
fn logged(diagnosis: &Diagnosis<'_>) -> (String, String) {
    let peak = diagnosis.space.map_or(Bytes::ZERO, |space| space.peak().0.active);
    (
        format!("Nothing failed in this log: {peak} was in use at the peak"),
        "It shows what the allocator returned to the program, but not which code requested it or \
         what the device had left. RMM logs failed allocations since version 22.04."
            .to_owned(),
    )
}

/// A profiler's report in which no call failed.
fn reported(diagnosis: &Diagnosis<'_>) -> (String, String) {
    let peak = diagnosis.space.map_or(Bytes::ZERO, |space| space.peak().0.active);
    (
        format!("No memory request failed in this report: {peak} was in use at the peak"),
        "It shows what was allocated from the driver while the profiler was running, but not how \
         the program exited."
            .to_owned(),
    )
}

/// Returns what leaves the driver memory for its CUDA graphs. Returns `None` if no graph was refused.
fn fewer_graphs(diagnosis: &Diagnosis<'_>) -> Option<Remedy> {
    let purpose = diagnosis.observed.refused_for?;
    let what = "capture CUDA graphs for fewer batch sizes, or keep more of the GPU free until they are \
                instantiated (vLLM: a lower gpu_memory_utilization)";
    purpose.contains("CUDA graph").then(|| Remedy::advice(what))
}

/// How to record what is missing, with what the software at hand has for it.
fn learn_more(diagnosis: &Diagnosis<'_>) -> Vec<Remedy> {
    // What a recording does not tell is who else held memory.
    let recorded = diagnosis.process().is_some();
    let told = |incident: &Incident| recorded || incident.totals.is_some() || incident.of_driver;
    if diagnosis.is_log_of_allocator() {
        return vec![record_run(diagnosis), try_others(diagnosis)];
    }
    if diagnosis.is_report_of_profiler() {
        return vec![record_run(diagnosis), watch_device()];
    }
    if diagnosis.incident.is_some_and(told) {
        let own = fewer_graphs(diagnosis).into_iter().chain(pytorchs_word(diagnosis));
        return own.chain([watch_device()]).collect();
    }
    if diagnosis.has_pool() && diagnosis.process().is_none() {
        let what = "record the run: a snapshot of whyoom's pool contains only the state, and \
                    _record_memory_history has no effect under it";
        return vec![diagnosis.rerun(" --pool", what)];
    }
    if diagnosis.process().is_some() {
        let asked =
            Remedy::line("sudo dmesg | tail", "shows whether the kernel terminated the program");
        let read = Remedy::advice("read the last lines of the program's own output");
        return match diagnosis.failed_with().filter(|_| diagnosis.exited()) {
            Some(_) => vec![read, asked],
            None => vec![asked],
        };
    }
    let outside = diagnosis.observed.outside_allocator();
    let own = match diagnosis.software() {
        // A snapshot of PyTorch's allocator knows nothing of what lies outside it.
        Some(Software::PyTorch) if outside.is_some_and(|bytes| bytes > CONTEXT_ALLOWANCE) => {
            watch_device()
        }
        Some(Software::Xla) => Remedy::line(
            "jax.profiler.save_device_memory_profile(\"memory.prof\")",
            "before the failing line: it lists what is live on the device, by stack",
        ),
        Some(Software::TensorFlow) => Remedy::line(
            "print(tf.config.experimental.get_memory_info(\"GPU:0\"))",
            "before the failing line: current and peak use",
        ),
        Some(Software::LlamaCpp) => Remedy::advice(
            "the lines before it list the size of each buffer: offload fewer layers (-ngl) or \
             shorten the context (-c) until they fit",
        ),
        Some(Software::PyTorch) | None => record(),
        Some(_) => watch_device(),
    };
    let by_library = library_frames::of_request(diagnosis);
    let by_library = by_library.into_iter().flat_map(|advice| advice.remedies);
    let others = has_no_figures(diagnosis).then(|| [who_holds_it(), another_gpu()]);
    let others = others.into_iter().flatten();
    others.chain(by_library).chain([record_run(diagnosis), own]).collect()
}

/// Returns true if a message says that the device is full, and gives neither the request nor what is in use.
fn has_no_figures(diagnosis: &Diagnosis<'_>) -> bool {
    let observed = &diagnosis.observed;
    let is_bare = observed.requested.is_none() && observed.allocated.is_none();
    is_bare && observed.free.is_none() && diagnosis.is_message() && diagnosis.device_refused()
}

fn who_holds_it() -> Remedy {
    let what = "first see who holds memory of this GPU: another program that fills it gives the same message \
                (or nvidia-smi, which does not list every holder)";
    Remedy::line("whyoom who", what)
}

fn another_gpu() -> Remedy {
    let what = "if another program holds it, use a GPU that is free: put the number of one there";
    Remedy::example("export CUDA_VISIBLE_DEVICES=1", what)
}

fn record_run(diagnosis: &Diagnosis<'_>) -> Remedy {
    let what = "rerun it like this: it records every allocation and its call site, and explains why when \
         memory runs out";
    diagnosis.rerun("", what)
}

/// Which pool and stream a block of PyTorch's belongs to, only PyTorch's own history tells.
fn pytorchs_word(diagnosis: &Diagnosis<'_>) -> Option<Remedy> {
    let by_allocator = |incident: &Incident| incident.totals.is_some() && !incident.of_driver;
    let missing = diagnosis.process().is_some() && !diagnosis.has_pool();
    if !missing || !diagnosis.incident.is_some_and(by_allocator) {
        return None;
    }
    let what = "also record PyTorch's own history: which memory belongs to CUDA graphs and pools, \
                and which waits for a stream";
    Some(diagnosis.rerun(" --torch-history", what))
}

/// A log of requests and frees can be replayed, once somebody says in how much.
fn try_others(diagnosis: &Diagnosis<'_>) -> Remedy {
    let log = diagnosis.tables.process_name(diagnosis.process);
    Remedy::command(
        ShellLine::new("whyoom replay").file(log).literal("--capacity 8GiB"),
        "shows whether another allocator fits the same requests into that much: the limit of the \
         pool, or of the device",
    )
}

fn watch_device() -> Remedy {
    Remedy::line(
        "nvidia-smi --query-compute-apps=pid,process_name,used_memory --format=csv -l 1",
        "in a second terminal while it runs: shows which process holds how much when it fails",
    )
}

fn record() -> Remedy {
    let what =
        "or record inside the program (PyTorch 2.1 or newer), and pass oom.pickle to whyoom why";
    Remedy::example(RECORD, what)
}

/// What can be said of a failure that no cause explains, from the most to the least telling.
fn incident(diagnosis: &Diagnosis<'_>) -> (String, String) {
    let observed = &diagnosis.observed;
    if let Some((free, software)) =
        observed.free.zip(diagnosis.software()).filter(|_| is_disguised(diagnosis))
    {
        return (
            format!(
                "Cannot tell yet: {} failed, and {free} was free before it ran",
                software.name()
            ),
            "The text does not mention memory or a lack of it; a mismatched library or driver \
             causes the same error."
                .to_owned(),
        );
    }
    if let Some((free, requested)) = observed.free.zip(observed.requested)
        && diagnosis.is_message()
        && observed.allocated.is_none()
        && free < requested
    {
        return (
            format!(
                "Cannot tell yet: {requested} was requested and {free} was free; what holds the \
                 rest is unknown"
            ),
            "Either this program's own memory fills the device, or another's.".to_owned(),
        );
    }
    if let Some(purpose) = observed.refused_for {
        let free = observed.free.map_or(String::new(), |free| format!("{free} was free. "));
        return (
            format!("Cannot tell yet: the driver had no memory for {purpose}"),
            format!("{free}How much the driver needs for it is not known."),
        );
    }
    let Some(requested) = observed.requested else {
        return (
            "Cannot tell yet: GPU memory ran out, and the message gives no sizes".to_owned(),
            "It contains neither the request nor the free memory; it may be truncated.".to_owned(),
        );
    };
    if let Some(free) = observed.free.filter(|_| observed.enough_was_free()) {
        return (
            format!("Cannot tell yet: {free} was free, more than the {requested} requested"),
            "The request failed nevertheless: a limit that the message does not mention (a MIG \
             slice, a container), or memory that was freed between the request and the report."
                .to_owned(),
        );
    }
    if let Some(outside) = observed.outside_allocator().filter(|b| *b > CONTEXT_ALLOWANCE) {
        return (
            format!("Cannot tell yet: {outside} of this process is outside PyTorch's allocator"),
            "A context takes less; libraries or a second framework in this process hold the rest."
                .to_owned(),
        );
    }
    if let Some(streams) = observed.other_streams.filter(|bytes| *bytes >= requested) {
        return (
            format!("Cannot tell yet: {streams} is free, but in segments of other streams"),
            format!("A request of {requested} on this stream cannot use them; no cause was found."),
        );
    }
    let why = match observed.free {
        None if diagnosis.is_message() => "the message does not say how much was free",
        _ => "no known cause explains why it failed",
    };
    (format!("Cannot tell yet: {requested} was requested, and {why}"), missing(observed))
}

fn is_disguised(diagnosis: &Diagnosis<'_>) -> bool {
    diagnosis.symptom() == Some(Symptom::IndirectOom)
}

/// What the input leaves out.
fn missing(observed: &ObservedFigures) -> String {
    let figures = [
        ("the device's capacity", observed.capacity),
        ("the device's free memory", observed.free),
        ("what the allocator had allocated", observed.allocated),
        ("what it had reserved", observed.reserved),
    ];
    let missing = figures.iter().filter(|(_, bytes)| bytes.is_none()).map(|(name, _)| *name);
    match missing.collect::<Vec<&str>>().as_slice() {
        [] => "It gives all its numbers, and none of them is unusual.".to_owned(),
        [one] => format!("It does not give {one}."),
        [first @ .., last] => format!("It does not give {} or {last}.", first.join(", ")),
    }
}

/// There was no event at all to judge.
pub(super) fn nothing_found(diagnosis: &Diagnosis<'_>) -> Finding {
    if let Some(seen) = diagnosis.disk_full() {
        return nothing_written(diagnosis, seen);
    }
    if let Some(reason) = diagnosis.stopped_because() {
        return recorder_stopped(diagnosis, reason);
    }
    if diagnosis.is_over() {
        return nothing_recorded(diagnosis);
    }
    if diagnosis.is_empty_recording() {
        return empty_recording(diagnosis);
    }
    let mut finding = diagnosis.finding(
        CAUSE.id,
        Strength::Fallback,
        "This text contains no known message of a memory failure",
        "It matches no known format and does not mention a failed allocation.",
    );
    finding.remedies = vec![
        Remedy::example(
            "whyoom run -- COMMAND",
            "rerun it like this, with its own command: it records every allocation and its call \
             site, and explains why when memory runs out",
        ),
        Remedy::advice("or paste the whole traceback, down to the line with the error"),
    ];
    finding
}

/// A recording that does not even say how the run ended.
fn empty_recording(diagnosis: &Diagnosis<'_>) -> Finding {
    let mut finding = diagnosis.finding(
        CAUSE.id,
        Strength::Fallback,
        "Cannot tell: this recording contains no events",
        "The program has not used CUDA yet, or files of the recording are missing or damaged.",
    );
    let what = "if it still runs, ask again later; if it has ended, record it again";
    finding.remedies = vec![Remedy::example("whyoom run -- COMMAND", what)];
    finding
}

/// Returns the finding for a run of which nothing could be written, because the disk was full.
fn nothing_written(diagnosis: &Diagnosis<'_>, seen: bool) -> Finding {
    let mut finding = if seen {
        diagnosis.finding(
            CAUSE.id,
            Strength::Fallback,
            "Cannot tell: nothing was recorded, because the disk of the recording was full",
            "The recorder leaves the last 1 GiB of a disk, or 5% if that is less, to the program. Whether the \
             program used CUDA is not known.",
        )
    } else {
        diagnosis.finding(
            CAUSE.id,
            Strength::Fallback,
            "Cannot tell: nothing was recorded, and the disk of the recording was probably full",
            "run.json was begun and not written to its end. Whether the program used CUDA is not known.",
        )
    };
    finding.remedies = vec![Remedy::example(
        "whyoom run -o FOLDER -- COMMAND",
        "free some space, or record to a FOLDER on another disk",
    )];
    finding
}

/// Returns the finding for a run in which the recorder stopped before it recorded anything.
fn recorder_stopped(diagnosis: &Diagnosis<'_>, reason: &str) -> Finding {
    let mut finding = diagnosis.finding(
        CAUSE.id,
        Strength::Fallback,
        "Cannot tell: nothing was recorded, because the recorder stopped",
        format!("Its reason: {}.", text_in_quotation_marks(reason)),
    );
    let what = "record again without that obstacle";
    finding.remedies = vec![Remedy::example("whyoom run -- COMMAND", what)];
    finding
}

/// A run of which nothing but its end is known.
fn nothing_recorded(diagnosis: &Diagnosis<'_>) -> Finding {
    let mut finding = diagnosis.finding(
        CAUSE.id,
        Strength::Fallback,
        "Cannot tell: nothing was recorded, because no process of the command used CUDA",
        "The recorder is loaded with LD_PRELOAD: processes started without it (by sudo, in a \
         container, by a program that clears its environment, or statically linked ones) are not \
         recorded; and a program may exit before it uses CUDA.",
    );
    finding.remedies = vec![
        Remedy::example(
            "whyoom run -- COMMAND",
            "with the command that uses CUDA itself: inside the container, after sudo, in the \
             script that starts it",
        ),
        Remedy::advice("or paste what it printed: whyoom why FILE"),
    ];
    finding
}
