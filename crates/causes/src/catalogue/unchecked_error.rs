//! A call failed, and nobody looked.

use whyoom_memory::{FailedCall, Failure};
use whyoom_trace::{Bytes, DeviceId, MemoryKind, ResultCode, StackId, StringId};

use crate::{
    cause::Cause,
    diagnosis::Diagnosis,
    finding::{Basis, Evidence, Finding, Remedy, Strength},
    quotation_marks::word_or_quoted,
    result_code::code_name,
};

pub(super) const CAUSE: Cause = Cause {
    id: "unchecked-error",
    title: "a launch or copy failed and the program continued as if nothing had happened",
    explanation: "\
A kernel launch returns nothing: its error is only reported when the program checks for it. The next
check, often after an unrelated allocation or copy, then reports it, and the wrong call is blamed.

Symptoms: \"invalid argument\" or \"invalid configuration\" from a correct cudaMalloc or cudaMemcpy;
results that are all zeros.

Why it happens: more dynamic shared memory than a block may have (48 KiB by default; up to the
device's limit if the kernel opts in), too many threads, too few registers, code for another
architecture.

A copy or memset whose range is not within one buffer fails and returns its error immediately; a
program that does not check it continues with the previous contents. Freeing an address that the
driver does not know frees nothing, and the intended buffer stays allocated.

What helps: check after every launch: cudaGetLastError() immediately, and the result of the
synchronize later; and check what copies and frees return.",
    check,
};

/// Fewer frees that fail are a mistake, not what fills a device.
const MANY_FREES: u64 = 8;
/// What a block may have of shared memory without asking.
const SHARED_WITHOUT_ASKING: Bytes = Bytes(48 << 10);
/// The driver's code for too little memory.
const OUT_OF_MEMORY: ResultCode = ResultCode(2);
/// Those for wrong sizes of blocks or grids, for more than a block can have, and for code of another GPU.
const INVALID_VALUE: ResultCode = ResultCode(1);
const OUT_OF_RESOURCES: ResultCode = ResultCode(701);
const NO_BINARY: ResultCode = ResultCode(209);

fn check(diagnosis: &Diagnosis<'_>) -> Option<Finding> {
    let facts = diagnosis.process()?;
    let is_mistake = |failure: &&Failure| {
        let may_be_one = match failure.call {
            FailedCall::Synchronize(_) => false,
            // A free too many of what is gone costs nothing.
            FailedCall::Free { .. } => left(diagnosis, failure.call).is_some(),
            _ => diagnosis.device != DeviceId::HOST,
        };
        may_be_one
            && failure.device == diagnosis.device
            // One that found too little memory is no mistake in its arguments.
            && failure.result != OUT_OF_MEMORY
    };
    let failure = facts.failures().iter().chain(facts.refused_frees()).find(is_mistake)?;
    let later = facts.went_on_after(failure);
    let failed = match failure.call {
        FailedCall::Launch { kernel, shared_memory } => {
            launch(diagnosis, failure, kernel, shared_memory)
        }
        FailedCall::Copy { call } => copy(diagnosis, failure, call),
        FailedCall::Free { kind } => free(diagnosis, failure, kind),
        FailedCall::Synchronize(_) => return None,
    };
    let is_free = matches!(failure.call, FailedCall::Free { .. });
    let failed_calls = if is_free { facts.refused_frees_seen() } else { facts.failures_seen() };
    // Frees that fail again and again leave behind what the next request lacks.
    let fills = is_free
        && diagnosis.incident.is_some()
        && diagnosis.growth.is_none()
        && failed_calls >= MANY_FREES;
    let strength = match (diagnosis.incident, later) {
        _ if fills => Strength::Explains,
        // What such a free leaves behind is the cause; this is why.
        _ if is_free => Strength::Contributing,
        (Some(_), _) => Strength::Contributing,
        (None, 0) => Strength::Likely,
        (None, _) => Strength::Explains,
    };
    let (what, code) = (&failed.what, code_name(failure.result));
    let headline = match later {
        _ if fills => format!(
            "{failed_calls} calls of {what} failed with {code}: what they were to free is still \
             allocated"
        ),
        0 => format!("{what} failed with {code}, which is not an out-of-memory error"),
        _ => format!("{what} failed with {code}, and calls after it succeeded"),
    };
    let requests = match diagnosis.incident {
        Some(_) if fills => "Then a memory request failed.",
        Some(_) => "A memory request failed as well; that is a separate problem.",
        None => "No device memory request had failed.",
    };
    let because = format!("{}{requests}", failed.because);
    let mut finding = diagnosis.finding(CAUSE.id, strength, headline, because);
    finding.point_at(failed.call_site, format!("fails with {code}"));
    finding.reclaimable = left(diagnosis, failure.call).filter(|_| fills);
    finding.evidence.extend(failed.evidence);
    finding.evidence.extend([
        Evidence::count("calls that succeeded afterwards", later, Basis::Recorded),
        Evidence::count("calls that failed", failed_calls, Basis::Recorded),
    ]);
    finding.remedies = failed.remedies;
    Some(finding)
}

/// What is to be said of a call that failed.
struct Failed {
    what: String,
    /// A sentence with a blank behind it, or nothing.
    because: String,
    call_site: String,
    evidence: Vec<Evidence>,
    remedies: Vec<Remedy>,
}

fn launch(
    diagnosis: &Diagnosis<'_>,
    failure: &Failure,
    kernel: StringId,
    shared_memory: Bytes,
) -> Failed {
    let kernel = plain_name(diagnosis.tables.text(kernel));
    let because = match shared_memory > SHARED_WITHOUT_ASKING {
        true => format!(
            "It requested {shared_memory} of dynamic shared memory per block; the default limit is \
             48 KiB. "
        ),
        false => String::new(),
    };
    let call_site = launched_at(diagnosis, failure.stack, &kernel);
    let shown = if kernel == UNNAMED { kernel.clone() } else { word_or_quoted(&kernel) };
    Failed {
        what: format!("The launch of {shown}"),
        because,
        call_site,
        evidence: vec![
            Evidence::text("kernel", kernel, Basis::Recorded),
            Evidence::bytes("dynamic shared memory requested", shared_memory, Basis::Recorded),
        ],
        remedies: remedies(shared_memory, failure.result),
    }
}

/// A copy or a fill. Its name in the runtime's words is the one that most programs know.
fn copy(diagnosis: &Diagnosis<'_>, failure: &Failure, call: StringId) -> Failed {
    let call = diagnosis.tables.text(call);
    let call = call.trim_end_matches("_ptsz").trim_end_matches("_ptds").trim_end_matches("_v2");
    let call = word_or_quoted(call);
    let (runtime, kind) = match call.starts_with("cuMemset") {
        true => ("cudaMemset", "fill"),
        false => ("cudaMemcpy", "copy"),
    };
    let call_site = diagnosis.call_site(failure.stack);
    Failed {
        what: call.clone(),
        because: format!("This {kind} wrote nothing: the previous contents are still there. "),
        evidence: Vec::new(),
        remedies: vec![
            look_at_result(&call, runtime, &call_site),
            Remedy::advice(format!(
                "{call} fails if the range is not within one buffer: compare the size of this \
                 {kind} with what was allocated for its destination and its source"
            )),
        ],
        call_site,
    }
}

/// The check that was left out, by the runtime's name for the call.
fn look_at_result(call: &str, runtime: &str, call_site: &str) -> Remedy {
    Remedy::example(
        format!(
            "if (cudaError_t e = {runtime}(...)) {{ fprintf(stderr, \"%s\\n\", \
             cudaGetErrorString(e)); abort(); }}"
        ),
        format!(
            "check what {call} returns at {call_site}: then the error is reported where it occurs"
        ),
    )
}

/// What was never given back of the kind of memory that a call was to free, if anything.
fn left(diagnosis: &Diagnosis<'_>, call: FailedCall) -> Option<Bytes> {
    let FailedCall::Free { kind } = call else { return None };
    let driver = diagnosis.space.and_then(|space| space.driver())?;
    driver.by_kind().get(&kind).copied().filter(|left| *left > Bytes::ZERO)
}

/// A free of what the driver does not know at that address.
fn free(diagnosis: &Diagnosis<'_>, failure: &Failure, kind: MemoryKind) -> Failed {
    let (call, runtime) = match kind {
        MemoryKind::Pinned => ("cuMemFreeHost", "cudaFreeHost"),
        MemoryKind::Registered => ("cuMemHostUnregister", "cudaHostUnregister"),
        MemoryKind::StreamOrdered => ("cuMemFreeAsync", "cudaFreeAsync"),
        MemoryKind::Array => ("cuArrayDestroy", "cudaFreeArray"),
        _ => ("cuMemFree", "cudaFree"),
    };
    let call_site = diagnosis.call_site(failure.stack);
    Failed {
        what: call.to_owned(),
        because: "It freed nothing: the intended buffer is still allocated. ".to_owned(),
        evidence: Vec::new(),
        remedies: vec![
            look_at_result(call, runtime, &call_site),
            Remedy::advice(format!(
                "pass {call} the address that the allocation returned, not the address of the \
                 variable that holds it, nor one in the middle of the buffer, and use the free \
                 function that matches the allocation function"
            )),
        ],
        call_site,
    }
}

/// Who launched: in compiled code, the caller of the function that the compiler made of the kernel.
fn launched_at(diagnosis: &Diagnosis<'_>, stack: StackId, kernel: &str) -> String {
    let mut frames = diagnosis.tables.frames(stack);
    let is_kernel = |function: &str| function.split('(').next() == Some(kernel);
    let behind = frames.find(|frame| is_kernel(frame.function)).and_then(|_| frames.next());
    match behind.filter(|_| diagnosis.is_compiled(stack)) {
        Some(caller) => {
            let file = caller.file.rsplit('/').next().unwrap_or(caller.file);
            format!("{file}:{} {}", caller.line, caller.function)
        }
        None => diagnosis.call_site(stack),
    }
}

fn remedies(shared_memory: Bytes, result: ResultCode) -> Vec<Remedy> {
    let mut remedies = vec![Remedy::line(
        "if (cudaError_t e = cudaGetLastError()) { fprintf(stderr, \"%s\\n\", cudaGetErrorString(e)); abort(); }",
        "right after the launch: then the error is reported where it occurs",
    )];
    let reason = match result {
        _ if shared_memory > SHARED_WITHOUT_ASKING => Some(Remedy::example(
            "cudaDeviceGetAttribute(&most, cudaDevAttrMaxSharedMemoryPerBlockOptin, device);",
            "stay within the maximum per block, and opt in to it with cudaFuncSetAttribute(kernel, \
             cudaFuncAttributeMaxDynamicSharedMemorySize, bytes)",
        )),
        INVALID_VALUE | OUT_OF_RESOURCES => Some(Remedy::example(
            "cudaFuncGetAttributes(&attributes, kernel); // attributes.maxThreadsPerBlock",
            "stay within the maximum number of threads per block: never more than 1024, and fewer if each needs \
             many registers; launch more blocks of fewer threads",
        )),
        NO_BINARY => Some(Remedy::example(
            "nvcc -arch=native ...",
            "the program contains no code for this GPU's architecture: build it for that",
        )),
        _ => None,
    };
    remedies.extend(reason);
    remedies
}

/// The words for a kernel without a name.
const UNNAMED: &str = "a kernel";

/// A kernel's name without what the compiler added: `_Z13sum_in_sharedPKfiPf` is `sum_in_shared`.
fn plain_name(kernel: &str) -> String {
    let plain = || {
        let rest = kernel.strip_prefix("_Z")?;
        let rest = rest.strip_prefix('N').unwrap_or(rest);
        let digits = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        let length: usize = rest[..digits].parse().ok()?;
        rest.get(digits..digits.checked_add(length)?)
    };
    match (kernel, plain()) {
        ("", _) => UNNAMED.to_owned(),
        (_, Some(plain)) => plain.to_owned(),
        (mangled, None) => mangled.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_lose_what_the_compiler_added() {
        assert_eq!(plain_name("_Z13sum_in_sharedPKfiPf"), "sum_in_shared");
        assert_eq!(plain_name("allocate_in_kernel"), "allocate_in_kernel");
        assert_eq!(plain_name("_Z99short"), "_Z99short");
        assert_eq!(plain_name(""), "a kernel");
    }
}
