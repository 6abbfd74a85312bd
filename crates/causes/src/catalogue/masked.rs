//! Another error is an out-of-memory in disguise.

use whyoom_trace::{Bytes, Software, Symptom};

use crate::{
    cause::Cause,
    diagnosis::Diagnosis,
    finding::{Basis, Evidence, Finding, Remedy, Strength},
    library_knobs::nccl,
    outside::in_other_words,
};

pub(super) const CAUSE: Cause = Cause {
    id: "masked",
    title: "an error that does not mention memory is (most likely) an out-of-memory error",
    explanation: "\
Libraries report out-of-memory under their own names: CUBLAS_STATUS_ALLOC_FAILED and
CUFFT_ALLOC_FAILED state it, CUBLAS_STATUS_NOT_INITIALIZED and \"unable to find an engine\" may mean
it. PyTorch's \"NVML_SUCCESS == r INTERNAL ASSERT FAILED\" occurs while it writes an out-of-memory
report that it cannot finish (MIG slices, Jetson).

What helps: whatever helps against the underlying cause. Reserve memory for libraries (a limit on
the cache), and check how much was free at the time.

Not every such error means out of memory: a mismatched driver or library causes NOT_INITIALIZED and
\"no engine\" too. If the error does not mention memory, the verdict says \"may\".",
    check,
};

/// The share of a device that is much to have free.
const MUCH: f64 = 0.5;

/// Whether the text shows most of the device free: then an error that names no memory is no sign of want of it.
fn much_was_free(diagnosis: &Diagnosis<'_>) -> bool {
    let told = diagnosis.observed.free.zip(diagnosis.observed.capacity);
    told.is_some_and(|(free, capacity)| free.share_of(capacity) >= MUCH)
}

/// A recorded request of such a library: what the person saw is this out-of-memory, whatever lies beneath.
fn beneath(diagnosis: &Diagnosis<'_>) -> Option<Finding> {
    let (library, words) = in_other_words(diagnosis)?;
    let mut finding = diagnosis.finding(
        CAUSE.id,
        Strength::Contributing,
        format!("{words} reports this out-of-memory error indirectly"),
        format!(
            "The failed request came from inside {library}, which reports it with its own error."
        ),
    );
    if diagnosis.uses_allocator() {
        finding.remedies = vec![leave_room()];
    }
    Some(finding)
}

fn leave_room() -> Remedy {
    Remedy::line(
        "torch.cuda.set_per_process_memory_fraction(0.9)",
        "leave a tenth of the GPU to libraries that allocate directly",
    )
}

fn check(diagnosis: &Diagnosis<'_>) -> Option<Finding> {
    let Some(software) = diagnosis.software() else { return beneath(diagnosis) };
    if diagnosis.symptom()? == Symptom::IndirectOom && much_was_free(diagnosis) {
        return None;
    }
    let (strength, headline) = match diagnosis.symptom()? {
        Symptom::LibraryAllocFailed => (
            Strength::Likely,
            format!(
                "{} could not get GPU memory: an indirect out-of-memory error",
                software.name()
            ),
        ),
        Symptom::ReportFailed => (
            Strength::Likely,
            "PyTorch ran out of GPU memory, and its report of that failed".to_owned(),
        ),
        Symptom::IndirectOom => (
            Strength::Likely,
            format!("This {} error may be an indirect out-of-memory error", software.name()),
        ),
        _ => return None,
    };
    let because = match diagnosis.symptom()? {
        Symptom::LibraryAllocFailed => "Its own error code names a failed allocation.",
        Symptom::ReportFailed => {
            "The assertion is in the code that writes the out-of-memory message."
        }
        _ => {
            "The text does not mention memory; a mismatched library or driver causes the same \
              error."
        }
    };
    let mut finding = diagnosis.finding(CAUSE.id, strength, headline, because);
    finding.evidence.push(Evidence::text("message", diagnosis.message(), Basis::Message));
    finding.remedies = match diagnosis.setting("tensorflow_share_mb") {
        Some(_) => vec![Remedy::line(
            "print(tf.config.experimental.get_memory_info(\"GPU:0\"))",
            "before the failing line: current and peak use",
        )],
        None => vec![
            leave_room(),
            Remedy::line(
                "print(torch.cuda.mem_get_info())",
                "see how much is free right before the failing line: if little, memory is the cause",
            ),
        ],
    };
    if software == Software::Nccl {
        finding.remedies.splice(0..0, nccl(Bytes::ZERO));
    }
    if let Some(profile) = diagnosis.setting("mig") {
        finding.remedies.insert(0, Remedy::advice(format!(
            "the process has a MIG slice ({profile}): use a larger slice, or a smaller batch or \
             model on this one"
        )));
    }
    finding.remedies.extend(find_out(diagnosis));
    Some(finding)
}

/// Whose memory was wanting, the text does not tell: how to see it.
fn find_out(diagnosis: &Diagnosis<'_>) -> [Remedy; 2] {
    [
        diagnosis.rerun(
            "",
            "record what the program itself holds: if that accounts for all of it, a smaller batch or \
             model helps",
        ),
        Remedy::line("whyoom who", "shows whether other processes hold the GPU"),
    ]
}
