//! Another error is an out-of-memory in disguise.

use whyoom_trace::{Software, Symptom};

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

fn check(scene: &Scene<'_>) -> Option<Finding> {
    let software = scene.software()?;
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
    finding.remedies = vec![
        Remedy::line(
            "torch.cuda.set_per_process_memory_fraction(0.9)",
            "leave a tenth of the GPU to libraries that allocate by themselves",
        ),
        Remedy::line(
            "print(torch.cuda.mem_get_info())",
            "right before the failing line: little free means it was memory",
        ),
    ];
    if software == Software::Nccl {
        let what = "smaller buffers per channel and peer; the default is 4 MiB";
        finding.remedies.insert(0, Remedy::line("export NCCL_BUFFSIZE=1048576", what));
    }
    Some(finding)
}
