//! Another error is an out-of-memory in disguise.

use whyoom_trace::{Bytes, Software, Symptom};

use crate::{
    cause::Cause,
    finding::{Basis, Evidence, Finding, Remedy, Strength},
    library_knobs::nccl,
    outside::in_other_words,
    scene::Scene,
};

pub(super) const CAUSE: Cause = Cause {
    id: "masked",
    title: "an error that does not say so is (most likely) an out-of-memory",
    explanation: "\
Libraries report want of memory in their own words: CUBLAS_STATUS_ALLOC_FAILED and
CUFFT_ALLOC_FAILED say it, CUBLAS_STATUS_NOT_INITIALIZED and \"unable to find an engine\" may mean it.
PyTorch's \"NVML_SUCCESS == r INTERNAL ASSERT FAILED\" comes from writing an out-of-memory report that it
could not finish (MIG slices, Jetson).

What helps: whatever helps against the cause beneath. Reserve room for libraries (a cap on the cache),
and look at how much was free at the time.

Not every such error is want of memory: a mismatched driver or library gives NOT_INITIALIZED and \"no
engine\" too. Where the error does not name memory, the verdict says \"may\".",
    check,
};

/// The share of a device that is much to have free.
const MUCH: f64 = 0.5;

/// Whether the text shows most of the device free: then an error that names no memory is no sign of want of it.
fn much_was_free(scene: &Scene<'_>) -> bool {
    let told = scene.situation.free.zip(scene.situation.capacity);
    told.is_some_and(|(free, capacity)| free.share_of(capacity) >= MUCH)
}

/// A recorded request of such a library: what the person saw is this out-of-memory, whatever lies beneath.
fn beneath(scene: &Scene<'_>) -> Option<Finding> {
    let (library, words) = in_other_words(scene)?;
    let mut finding = scene.finding(
        CAUSE.id,
        Strength::Contributing,
        format!("{words} is this out-of-memory in other words"),
        format!("The refused request came from inside {library}, which reports it in its own way."),
    );
    if scene.uses_allocator() {
        finding.remedies = vec![leave_room()];
    }
    Some(finding)
}

fn leave_room() -> Remedy {
    Remedy::line(
        "torch.cuda.set_per_process_memory_fraction(0.9)",
        "leave a tenth of the GPU to libraries that allocate by themselves",
    )
}

fn check(scene: &Scene<'_>) -> Option<Finding> {
    let Some(software) = scene.software() else { return beneath(scene) };
    if scene.symptom()? == Symptom::Disguised && much_was_free(scene) {
        return None;
    }
    let (strength, headline) = match scene.symptom()? {
        Symptom::LibraryAllocFailed => (
            Strength::Likely,
            format!(
                "{} could not get GPU memory: an out-of-memory in other words",
                software.name()
            ),
        ),
        Symptom::ReportFailed => (
            Strength::Likely,
            "PyTorch ran out of GPU memory, and its report of that failed".to_owned(),
        ),
        Symptom::Disguised => (
            Strength::Likely,
            format!("This {} error may be an out-of-memory in disguise", software.name()),
        ),
        _ => return None,
    };
    let because = match scene.symptom()? {
        Symptom::LibraryAllocFailed => "Its own error code names a failed allocation.",
        Symptom::ReportFailed => {
            "The assertion sits in the code that writes the out-of-memory message."
        }
        _ => "The text names no memory; a mismatched library or driver gives the same error.",
    };
    let mut finding = scene.finding(CAUSE.id, strength, headline, because);
    finding.evidence.push(Evidence::text("message", scene.message(), Basis::Message));
    finding.remedies = match scene.setting("tensorflow_share_mb") {
        Some(_) => vec![Remedy::line(
            "print(tf.config.experimental.get_memory_info(\"GPU:0\"))",
            "before the failing line: current and peak use",
        )],
        None => vec![
            leave_room(),
            Remedy::line(
                "print(torch.cuda.mem_get_info())",
                "right before the failing line: little free means it was memory",
            ),
        ],
    };
    if software == Software::Nccl {
        finding.remedies.splice(0..0, nccl(Bytes::ZERO));
    }
    if let Some(profile) = scene.setting("mig") {
        finding.remedies.insert(0, Remedy::advice(format!(
            "the process has a MIG slice ({profile}): a larger slice, or a smaller batch or model for this one"
        )));
    }
    finding.remedies.extend(find_out(scene));
    Some(finding)
}

/// Whose memory was wanting, the text does not tell: how to see it.
fn find_out(scene: &Scene<'_>) -> [Remedy; 2] {
    let run = format!("whyoom run -- {}", scene.script());
    [
        Remedy::line(
            run,
            "records what the program itself holds: if that is all, a smaller batch or model helps",
        ),
        Remedy::line("whyoom who", "shows whether other processes hold the GPU"),
    ]
}
