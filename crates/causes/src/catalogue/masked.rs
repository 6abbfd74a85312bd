//! Another error is an out-of-memory in disguise.

use whyoom_trace::{Bytes, Software, Symptom};

use super::{library_knobs::nccl, unknown::program};
use crate::{
    cause::Cause,
    finding::{Basis, Evidence, Finding, Remedy, Strength},
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

/// Libraries that tell of want of memory in words of their own, and which these are.
const IN_OTHER_WORDS: [(&str, &str); 5] = [
    ("libcublas", "CUBLAS_STATUS_ALLOC_FAILED or CUBLAS_STATUS_NOT_INITIALIZED"),
    ("libcudnn", "CUDNN_STATUS_ALLOC_FAILED, or \"unable to find an engine\""),
    ("libcufft", "CUFFT_ALLOC_FAILED"),
    ("libcusolver", "CUSOLVER_STATUS_ALLOC_FAILED"),
    ("libcusparse", "CUSPARSE_STATUS_ALLOC_FAILED"),
];

/// The library that asked for what the driver refused, in a recorded run.
pub(super) fn asking_library(scene: &Scene<'_>) -> Option<&'static str> {
    in_other_words(scene).map(|(library, _)| library)
}

fn in_other_words(scene: &Scene<'_>) -> Option<(&'static str, &'static str)> {
    let incident =
        scene.incident.filter(|incident| incident.of_driver && scene.device_refused())?;
    let asks = |name: &str| {
        let mut frames = scene.tables.frames(incident.stack);
        frames.any(|frame| [frame.file, frame.library].iter().any(|code| code.contains(name)))
    };
    IN_OTHER_WORDS.into_iter().find(|(name, _)| asks(name))
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
    let run = format!("whyoom run -- {}", program(scene));
    [
        Remedy::line(
            run,
            "records what the program itself holds: if that is all, a smaller batch or model helps",
        ),
        Remedy::line("whyoom who", "shows whether other processes hold the GPU"),
    ]
}
