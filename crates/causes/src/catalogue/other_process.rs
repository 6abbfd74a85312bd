//! Other processes hold what this one lacks.

use whyoom_memory::Holder;
use whyoom_trace::{Bytes, Software, Standing, StringId, Symptom};

use crate::{
    cause::Cause,
    finding::{Basis, Evidence, Finding, Remedy, Strength, capitalized},
    neighbours::{Neighbours, held, idle_cache_beside},
    scene::Scene,
    situation::CONTEXT_ALLOWANCE,
};

pub(super) const CAUSE: Cause = Cause {
    id: "other-process",
    title: "other processes hold the memory that this one lacks",
    explanation: "\
The device is full, but not of this program. Alone on it, the request would have been served.

What it looks like: \"Process 2797307 has 14.85 GiB memory in use\" in PyTorch's message; little
\"already allocated\" and yet little free; a server that finds too little free at its start.

Why it happens: a notebook kernel that is still open, yesterday's run, a second job on the same GPU,
another rank that opened a context here, a worker that outlived its parent.

A fact often told wrong: when a process has really ended, the driver takes all its memory back.
Memory that is held belongs to a process that has not ended, or to somebody who holds its file
descriptor. Resetting or emptying the cache of one's own process frees nothing of another's.

What helps: find the holder and stop, move or cap it.",
    check,
};

const LIST_HOLDERS: &str =
    "nvidia-smi --query-compute-apps=pid,process_name,used_memory --format=csv";

fn check(scene: &Scene<'_>) -> Option<Finding> {
    match scene.symptom() {
        Some(Symptom::PreallocationFailed) => return startup(scene),
        Some(Symptom::Disturbed) => return Some(disturbed(scene)),
        Some(Symptom::Disguised | Symptom::LibraryAllocFailed) => return found_little(scene),
        _ => {}
    }
    // What a process of the same run merely keeps, it can give back: it need not end.
    if !scene.device_ran_out() || idle_cache_beside(scene).is_some() {
        return None;
    }
    let situation = &scene.situation;
    if let Some(finding) = found_little(scene).or_else(|| listed_without_request(scene)) {
        return Some(finding);
    }
    let lacking = situation.lacking()?;
    let neighbours = Neighbours::of(scene);
    let unnamed = situation.unexplained()?.minus(CONTEXT_ALLOWANCE);
    // With a list of processes the rest is the driver's; without one, it is somebody's.
    let by_recording = !situation.recorded_others.is_empty();
    let holders = concerned(scene, &neighbours, lacking);
    let held = match (situation.processes_listed, by_recording) {
        (true, _) => held(&holders),
        (false, true) => situation.others_hold(),
        // A list that was empty tells that it is somebody who cannot be seen.
        (false, false) if scene.nobody_was_listed() => return None,
        (false, false) => unnamed,
    };
    let capacity = situation.capacity?;
    // Less than was missing is worth a word only beside others that held the rest.
    let beside = neighbours.others_are_enough(scene.unseen().unwrap_or_default(), lacking);
    if held.share_of(capacity) < 0.05 || (held < lacking && !beside) {
        return None;
    }
    // The device would be too small for this process even if it had it alone.
    let alone = situation.too_much_alone().unwrap_or(false);
    let known = situation.processes_listed || by_recording;
    let strength = match (alone || held < lacking, known) {
        (true, _) => Strength::Contributing,
        (false, true) => Strength::Explains,
        (false, false) => Strength::Likely,
    };
    let largest = holders.iter().copied().max_by_key(|holder| holder.bytes);
    let headline = match largest.map(|holder| (scene.name_of(holder), holder.bytes)) {
        Some((name, bytes)) if holders.len() == 1 => {
            let name = capitalized(&name);
            format!("{name} holds {bytes} of this GPU; alone on it, this request would fit")
        }
        Some((name, bytes)) => format!(
            "{} other processes hold {held} of this GPU; the largest is {name} with {bytes}",
            holders.len()
        ),
        None if by_recording => recorded(scene, held),
        None => format!(
            "About {held} of this GPU is held by something that is not this program's allocator"
        ),
    };
    let own = situation.process_used.or(situation.reserved).unwrap_or_default();
    let because = format!("{}; this process uses {own} of {capacity}.", situation.missing()?);
    let mut finding = scene.finding(CAUSE.id, strength, headline, because);
    finding.gives_back = Some(held);
    if !known {
        let label = "held by nothing named, less 1 GiB for a context";
        finding.evidence.push(Evidence::bytes(label, held, Basis::Computed));
    }
    finding.remedies = stop_or_move(scene, largest, held);
    Some(finding)
}

/// So little is left of a GPU only where something else has the rest.
const HARDLY_ANYTHING: Bytes = Bytes(512 << 20);

/// TensorFlow takes all that it finds when it starts: where that was next to nothing, others had the rest.
fn found_little(scene: &Scene<'_>) -> Option<Finding> {
    let situation = &scene.situation;
    let found = situation.allowed.filter(|allowed| *allowed < HARDLY_ANYTHING)?;
    if scene.software() != Some(Software::TensorFlow) || !scene.is_message() {
        return None;
    }
    let mut finding = scene.finding(
        CAUSE.id,
        Strength::Explains,
        format!("TensorFlow found only {found} of this GPU to take: something else holds the rest"),
        "It takes nearly all that is free when it starts, and its own account names that as its limit.",
    );
    finding.evidence.push(Evidence::text("message", scene.message(), Basis::Message));
    finding.remedies = stop_or_move(scene, None, Bytes::ZERO);
    finding.remedies[0].frees = None;
    Some(finding)
}

/// Others were listed with more than half of the device, and nobody told how much was asked for.
fn listed_without_request(scene: &Scene<'_>) -> Option<Finding> {
    let situation = &scene.situation;
    let told = situation.requested.is_some() || situation.free.is_some();
    let (held, capacity) = (situation.others_hold(), situation.capacity?);
    if told || !scene.is_message() || held.share_of(capacity) < 0.5 {
        return None;
    }
    let largest = situation.others.iter().max_by_key(|holder| holder.bytes)?;
    let count = situation.others.len();
    let mut finding = scene.finding(
        CAUSE.id,
        Strength::Explains,
        format!(
            "{count} other {} {held} of this GPU's {capacity}; the largest is {} with {}",
            if count == 1 { "process holds" } else { "processes hold" },
            scene.name_of(largest),
            largest.bytes
        ),
        format!("That leaves {} for whoever comes next.", capacity.minus(held)),
    );
    finding.gives_back = Some(held);
    finding.remedies = stop_or_move(scene, Some(largest), held);
    Some(finding)
}

/// Those that work here. Where these hold most, or no kind of holders would do alone, all that do not belong to
/// the run are meant.
fn concerned<'a>(
    scene: &'a Scene<'_>,
    neighbours: &Neighbours<'a>,
    lacking: Bytes,
) -> Vec<&'a Holder> {
    if !neighbours.one_kind_is_enough(lacking) {
        return scene.situation.others.iter().collect();
    }
    let strangers = neighbours.lost.iter().chain(&neighbours.contexts);
    let strangers = strangers.filter(|holder| holder.standing != Standing::Recorded);
    let with_all = held(&neighbours.at_work) >= neighbours.largest_of_others();
    neighbours.at_work.iter().chain(strangers.filter(|_| with_all)).copied().collect()
}

/// What other recorded processes had taken.
fn recorded(scene: &Scene<'_>, held: Bytes) -> String {
    let others = &scene.situation.recorded_others;
    let name = |process| scene.tables.process_name(process);
    match others.as_slice() {
        [(process, bytes)] => format!(
            "{} had taken {bytes} of this GPU; alone on it, this request would fit",
            name(*process)
        ),
        [(process, bytes), ..] => format!(
            "{} other processes of this run had taken {held} of this GPU; the largest is {} with {bytes}",
            others.len(),
            name(*process)
        ),
        [] => String::new(),
    }
}

fn stop_or_move(scene: &Scene<'_>, holder: Option<&Holder>, held: Bytes) -> Vec<Remedy> {
    let look = match holder {
        Some(holder) if holder.standing == Standing::Ghost => Remedy::line(
            "sudo whyoom who",
            "on the host, outside any container: from here the system does not know that process",
        ),
        Some(holder) if holder.command != StringId(0) => {
            let age = scene
                .age_of(holder)
                .map_or(String::new(), |age| format!(", which has run for {age}"));
            let name = scene.name_of(holder);
            let what = format!("stop {name}{age}, if it is yours and not needed");
            Remedy::line(format!("kill {}", holder.pid), what)
        }
        Some(holder) => {
            let what = "see who that is; then stop it (kill PID) if it is yours and not needed";
            Remedy::line(format!("ps -o pid,user,etime,args -p {}", holder.pid), what)
        }
        None => Remedy::line(
            LIST_HOLDERS,
            "see who holds memory here (on the host, not in a container)",
        ),
    };
    vec![
        look.freeing(held),
        Remedy::line(
            "nvidia-smi --query-gpu=index,memory.free --format=csv",
            "or find a GPU that is free, and run with CUDA_VISIBLE_DEVICES=its index",
        ),
    ]
}

/// A server found far too little free when it started.
fn startup(scene: &Scene<'_>) -> Option<Finding> {
    let (free, total) = (scene.situation.free?, scene.situation.capacity?);
    let wanted = scene.incident?.counter(whyoom_trace::Counter::Preallocation)?;
    if free.0 >= wanted.0 / 2 {
        return None;
    }
    let held = total.minus(free);
    let mut finding = scene.finding(
        CAUSE.id,
        Strength::Explains,
        format!(
            "Other processes hold {held} of this GPU's {total}: only {free} is free at start-up"
        ),
        format!("vLLM wants {wanted}."),
    );
    finding.gives_back = Some(held);
    finding.evidence.push(Evidence::bytes("wanted in advance", wanted, Basis::Message));
    finding.remedies = stop_or_move(scene, None, held);
    Some(finding)
}

fn disturbed(scene: &Scene<'_>) -> Finding {
    let mut finding = scene.finding(
        CAUSE.id,
        Strength::Explains,
        "Another process gave memory back while vLLM was measuring the GPU",
        "Free memory grew during its profiling, so its plan would have been wrong.",
    );
    finding.evidence.push(Evidence::text("message", scene.message(), Basis::Message));
    finding.remedies =
        vec![Remedy::line(LIST_HOLDERS, "wait until the others have settled, then start again")];
    finding
}
