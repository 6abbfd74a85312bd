//! The evidence does not decide.

use whyoom_memory::{Incident, Process, Space};
use whyoom_trace::{Bytes, DeviceId, Software, Symptom};

use crate::{
    cause::Cause,
    command::for_shell,
    finding::{Basis, Evidence, Finding, Remedy, Strength},
    scene::Scene,
    situation::{CONTEXT_ALLOWANCE, Situation},
};

pub(super) const CAUSE: Cause = Cause {
    id: "unknown",
    title: "the evidence does not decide",
    explanation: "\
What was given does not tell why memory ran out, or whether it did. whyoom does not guess: it says what
is missing and how to record it.

What tells more: the whole text of the message (the sizes in it decide most cases); a snapshot taken
with history, at the moment of the failure.",
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

fn check(scene: &Scene<'_>) -> Option<Finding> {
    let by_driver = scene.space.filter(|space| !space.has_allocator() && space.driver().is_some());
    let (headline, because) = match (scene.incident, scene.space) {
        (Some(_), _) => incident(scene),
        // Pinned memory that neither failed nor grew is no riddle.
        (None, Some(_)) if by_driver.is_some() && scene.device == DeviceId::HOST => return None,
        (None, _) if scene.is_log_of_allocator() => logged(scene),
        (None, _) if scene.is_report_of_profiler() => reported(scene),
        (None, _) if scene.facts().is_some() || by_driver.is_some() => recorded(scene),
        (None, Some(space)) => state(space),
        (None, None) => return None,
    };
    let mut finding = scene.finding(CAUSE.id, Strength::Fallback, headline, because);
    let holds_segments = |space: &&Space| space.segments().next().is_some();
    if let Some(space) = scene.space.filter(|_| by_driver.is_none()).filter(holds_segments) {
        let free = space.free_space();
        finding.evidence.extend([
            Evidence::bytes("free in the cache, all of it", free.total, Basis::Recorded),
            Evidence::bytes(
                "of that in wholly free segments",
                free.in_empty_segments,
                Basis::Recorded,
            ),
            Evidence::bytes("largest free piece", free.largest, Basis::Recorded),
        ]);
    }
    if let Some(space) = scene.space {
        for (place, bytes) in scene.by_place(space.live_by_stack()).into_iter().take(3) {
            let label = format!("in use, from {place}");
            finding.evidence.push(Evidence::bytes(label, bytes, Basis::Recorded));
        }
    }
    if !scene.message().is_empty() {
        finding.evidence.push(Evidence::text("message", scene.message(), Basis::Message));
    }
    finding.remedies = learn_more(scene);
    Some(finding)
}

fn state(space: &Space) -> (String, String) {
    let totals = space.totals();
    if totals.reserved == Bytes::ZERO {
        return (
            "Cannot tell: this snapshot is empty".to_owned(),
            "It holds no segment and no history: it was taken before anything was allocated."
                .to_owned(),
        );
    }
    (
        "Cannot tell: this snapshot holds a state, but no history and no failed request".to_owned(),
        format!(
            "{} reserved, {} in use; without the request and the device's free memory, nothing says \
             what was missing.",
            totals.reserved, totals.active
        ),
    )
}

/// A recorded run in which no request failed, and which is not known to have ended in order.
fn recorded(scene: &Scene<'_>) -> (String, String) {
    let failed = scene.facts().map_or(0, Process::failures_seen);
    if failed > 0 {
        return (
            "Cannot tell: a launch or a wait for the device failed, and no request for memory"
                .to_owned(),
            format!("{failed} of them failed; memory is not known to be the reason."),
        );
    }
    if let Some(status) = scene.failed_with().filter(|_| scene.exited()) {
        return (
            format!(
                "Cannot tell: the program ended with status {status}, and no request for GPU memory had failed"
            ),
            "Its own last words tell why: an error that has nothing to do with the GPU's memory, or want of \
             the host's."
                .to_owned(),
        );
    }
    if !scene.is_over() {
        return (
            "Cannot tell yet: no request has failed so far, and nothing tells that the run has ended"
                .to_owned(),
            "Does it still run? Then ask again later. Was whyoom run killed beside it? Then nobody saw its end."
                .to_owned(),
        );
    }
    (
        "Cannot tell: the recording stops before the program ended, and no request had failed"
            .to_owned(),
        "Was it killed? The system's log (dmesg) says so if it was for want of host memory."
            .to_owned(),
    )
}

/// An allocator's own log in which no request failed.
fn logged(scene: &Scene<'_>) -> (String, String) {
    let peak = scene.space.map_or(Bytes::ZERO, |space| space.peak().0.active);
    (
        format!("Nothing failed in this log: {peak} was in use at the peak"),
        "It tells what the allocator gave to the program; who asked, and what the device had left, it does not \
         tell. RMM logs a failed allocation since version 22.04."
            .to_owned(),
    )
}

/// A profiler's report in which no call failed.
fn reported(scene: &Scene<'_>) -> (String, String) {
    let peak = scene.space.map_or(Bytes::ZERO, |space| space.peak().0.active);
    (
        format!("No request for memory failed in this report: {peak} was in use at the peak"),
        "It tells what was taken from the driver while the profiler looked, and not how the program ended."
            .to_owned(),
    )
}

/// How to record what is missing, with what the software at hand has for it.
fn learn_more(scene: &Scene<'_>) -> Vec<Remedy> {
    // What a recording does not tell is who else held memory.
    let recorded = scene.facts().is_some();
    let told = |incident: &Incident| recorded || incident.totals.is_some() || incident.of_driver;
    if scene.is_log_of_allocator() {
        return vec![record_run(scene), try_others(scene)];
    }
    if scene.is_report_of_profiler() {
        return vec![record_run(scene), watch_device()];
    }
    if scene.incident.is_some_and(told) {
        let own = pytorchs_word(scene);
        return own.into_iter().chain([watch_device()]).collect();
    }
    if scene.has_pool() && scene.facts().is_none() {
        let what = "record the run: a snapshot of whyoom's pool holds the state alone, and \
                    _record_memory_history has no effect under it";
        return vec![Remedy::line(format!("whyoom run --pool -- {}", scene.script()), what)];
    }
    if scene.facts().is_some() {
        let asked = Remedy::line("sudo dmesg | tail", "whether the system ended the program");
        let read = Remedy::advice("read the last lines that the program itself wrote");
        return match scene.failed_with().filter(|_| scene.exited()) {
            Some(_) => vec![read, asked],
            None => vec![asked],
        };
    }
    let own = match scene.software() {
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
    vec![record_run(scene), own]
}

fn record_run(scene: &Scene<'_>) -> Remedy {
    let what =
        "run it so once more: it records who allocates what, and says why when memory runs out";
    Remedy::line(format!("whyoom run -- {}", scene.script()), what)
}

/// Which pool and stream a block of PyTorch's belongs to, only PyTorch's own history tells.
fn pytorchs_word(scene: &Scene<'_>) -> Option<Remedy> {
    let by_allocator = |incident: &Incident| incident.totals.is_some() && !incident.of_driver;
    let missing = scene.facts().is_some() && !scene.has_pool();
    if !missing || !scene.incident.is_some_and(by_allocator) {
        return None;
    }
    let what = "records PyTorch's own history beside it: which memory belongs to CUDA graphs and pools, and \
                which waits for a stream";
    Some(Remedy::line(format!("whyoom run --torch-history{}", scene.program()), what))
}

/// A log of requests and frees can be replayed, once somebody says in how much.
fn try_others(scene: &Scene<'_>) -> Remedy {
    let log = for_shell(scene.tables.process_name(scene.process));
    Remedy::line(
        format!("whyoom replay {log} --capacity 8GiB"),
        "whether another allocator fits the same requests into that much: what the pool may have, or the device",
    )
}

fn watch_device() -> Remedy {
    Remedy::line(
        "nvidia-smi --query-compute-apps=pid,process_name,used_memory --format=csv -l 1",
        "in a second terminal while it runs: who holds how much when it fails",
    )
}

fn record() -> Remedy {
    let what =
        "or record inside the program (PyTorch 2.1 or newer), and give oom.pickle to whyoom why";
    Remedy::line(RECORD, what)
}

/// What can be said of a failure that no cause explains, from the most to the least telling.
fn incident(scene: &Scene<'_>) -> (String, String) {
    let situation = &scene.situation;
    if let Some((free, software)) =
        situation.free.zip(scene.software()).filter(|_| is_disguised(scene))
    {
        return (
            format!("Cannot tell yet: {} failed, and {free} was free before it ran", software.name()),
            "The text names no memory, and shows no want of it; a mismatched library or driver gives the \
             same error."
                .to_owned(),
        );
    }
    if let Some((free, requested)) = situation.free.zip(situation.requested)
        && scene.is_message()
        && situation.allocated.is_none()
        && free < requested
    {
        return (
            format!(
                "Cannot tell yet: {requested} was asked for and {free} was free; who holds the rest is not told"
            ),
            "The device is full: of this program's own memory, or of another's.".to_owned(),
        );
    }
    let Some(requested) = situation.requested else {
        return (
            "Cannot tell yet: GPU memory ran out, and the message gives no sizes".to_owned(),
            "Neither the request nor what was free is in it; was it cut off?".to_owned(),
        );
    };
    if let Some(free) = situation.free.filter(|_| situation.enough_was_free()) {
        return (
            format!("Cannot tell yet: {free} was free, more than the {requested} that was asked for"),
            "The device refused all the same: a cap that the message does not name (a MIG slice, a \
             container), or memory that was freed between the request and the report."
                .to_owned(),
        );
    }
    if let Some(outside) = situation.outside_allocator().filter(|b| *b > CONTEXT_ALLOWANCE) {
        return (
            format!("Cannot tell yet: {outside} of this process lies outside PyTorch's allocator"),
            "A context takes less; libraries or a second framework in this process hold the rest."
                .to_owned(),
        );
    }
    if let Some(streams) = situation.other_streams.filter(|bytes| *bytes >= requested) {
        return (
            format!("Cannot tell yet: {streams} is free, but in segments of other streams"),
            format!("A request of {requested} on this stream cannot use them; no cause was found."),
        );
    }
    (
        format!(
            "Cannot tell yet: {requested} was asked for, and no known cause explains why it failed"
        ),
        missing(situation),
    )
}

fn is_disguised(scene: &Scene<'_>) -> bool {
    scene.symptom() == Some(Symptom::Disguised)
}

/// What the input leaves out.
fn missing(situation: &Situation) -> String {
    let figures = [
        ("the device's capacity", situation.capacity),
        ("what was free on it", situation.free),
        ("what the allocator had in use", situation.allocated),
        ("what it held", situation.reserved),
    ];
    let missing = figures.iter().filter(|(_, bytes)| bytes.is_none()).map(|(name, _)| *name);
    let missing: Vec<&str> = missing.collect();
    if missing.is_empty() {
        return "All its figures are there, and none of them is out of the ordinary.".to_owned();
    }
    format!("It does not tell {}.", missing.join(", "))
}

/// There was no event at all to judge.
pub(super) fn nothing_found(scene: &Scene<'_>) -> Finding {
    if scene.is_over() {
        return nothing_recorded(scene);
    }
    let mut finding = scene.finding(
        CAUSE.id,
        Strength::Fallback,
        "No known message of a memory failure is in this text",
        "Neither a known format nor the words of a failed allocation occur in it.",
    );
    finding.remedies = vec![
        Remedy::line(
            "whyoom run -- COMMAND",
            "rerun it like this, with its own command: it records who allocates what, and says why when memory \
             runs out",
        ),
        Remedy::advice("or paste the whole traceback, down to the line that names the error"),
    ];
    finding
}

/// A run of which nothing but its end is known.
fn nothing_recorded(scene: &Scene<'_>) -> Finding {
    let mut finding = scene.finding(
        CAUSE.id,
        Strength::Fallback,
        "Cannot tell: nothing was recorded, for no process of the command was seen to use CUDA",
        "The recorder goes along in LD_PRELOAD: what is started without that (by sudo, in a container, by a \
         program that clears its environment, one that is linked statically) is not seen; and a program may \
         end before it uses CUDA.",
    );
    finding.remedies = vec![
        Remedy::line(
            "whyoom run -- COMMAND",
            "with the command that uses CUDA itself: inside the container, behind sudo, in the script that \
             starts it",
        ),
        Remedy::advice("or paste what it printed: whyoom why FILE"),
    ];
    finding
}
