//! A call failed, and nobody looked.

use whyoom_memory::{FailedCall, Failure};
use whyoom_trace::{Bytes, DeviceId, MemoryKind, ResultCode, StackId, StringId};

use crate::{
    cause::Cause,
    finding::{Basis, Evidence, Finding, Remedy, Strength},
    result_code::code_name,
    scene::Scene,
};

pub(super) const CAUSE: Cause = Cause {
    id: "unchecked-error",
    title: "a launch or copy failed and the program went on as if nothing had happened",
    explanation: "\
A kernel launch returns nothing: its error waits until somebody asks. The next check, often behind an
innocent allocation or copy, then reports it, and the wrong call is blamed.

What it looks like: \"invalid argument\" or \"invalid configuration\" from a cudaMalloc or cudaMemcpy that is
fine; results that are zeros.

Why it happens: more dynamic shared memory than a block may have (48 KiB unless the kernel is told otherwise,
then what the device allows), too many threads, registers that do not suffice, code for another architecture.

A copy or a fill that is refused, because its bytes do not lie in one buffer, returns its error at once; who
does not look at it works on with what was there before. A free of an address that the driver does not know
frees nothing, and what it was meant for stays.

What helps: look after every launch: cudaGetLastError() at once, and the synchronize's result later; and look
at what copies and frees return.",
    check,
};

/// What a block may have of shared memory without asking.
const SHARED_WITHOUT_ASKING: Bytes = Bytes(48 << 10);
/// The driver's code for too little memory.
const OUT_OF_MEMORY: ResultCode = ResultCode(2);
/// Those for wrong sizes of blocks or grids, for more than a block can have, and for code of another GPU.
const INVALID_VALUE: ResultCode = ResultCode(1);
const OUT_OF_RESOURCES: ResultCode = ResultCode(701);
const NO_BINARY: ResultCode = ResultCode(209);

fn check(scene: &Scene<'_>) -> Option<Finding> {
    let facts = scene.facts()?;
    let is_mistake = |failure: &&Failure| {
        let may_be_one = match failure.call {
            FailedCall::Synchronize(_) => false,
            FailedCall::Free { kind } => left_something(scene, kind),
            _ => scene.device != DeviceId::HOST,
        };
        may_be_one
            && failure.device == scene.device
            // One that found too little memory is no mistake in its arguments.
            && failure.result != OUT_OF_MEMORY
    };
    let failure = facts.failures().iter().chain(facts.refused_frees()).find(is_mistake)?;
    let later = facts.went_on_after(failure);
    let failed = match failure.call {
        FailedCall::Launch { kernel, shared_memory } => {
            launch(scene, failure, kernel, shared_memory)
        }
        FailedCall::Copy { call } => copy(scene, failure, call),
        FailedCall::Free { kind } => free(scene, failure, kind),
        FailedCall::Synchronize(_) => return None,
    };
    let is_free = matches!(failure.call, FailedCall::Free { .. });
    let failed_calls = if is_free { facts.refused_frees_seen() } else { facts.failures_seen() };
    let strength = match (scene.incident, later) {
        // What such a free leaves behind is the cause; this is why.
        _ if is_free => Strength::Contributing,
        (Some(_), _) => Strength::Contributing,
        (None, 0) => Strength::Likely,
        (None, _) => Strength::Explains,
    };
    let (what, code) = (&failed.what, code_name(failure.result));
    let headline = match later {
        0 => format!("{what} failed with {code}, which is no want of memory"),
        _ => format!("{what} failed with {code}, and calls after it succeeded"),
    };
    let requests = match scene.incident {
        Some(_) => "A request for memory failed too, and that is another matter.",
        None => "No request for device memory had failed.",
    };
    let because = format!("{}{requests}", failed.because);
    let mut finding = scene.finding(CAUSE.id, strength, headline, because);
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
    evidence: Vec<Evidence>,
    remedies: Vec<Remedy>,
}

fn launch(scene: &Scene<'_>, failure: &Failure, kernel: StringId, shared_memory: Bytes) -> Failed {
    let kernel = plain_name(scene.tables.text(kernel));
    let because = match shared_memory > SHARED_WITHOUT_ASKING {
        true => format!(
            "It asked for {shared_memory} of dynamic shared memory a block; without asking a block may \
             have 48 KiB. "
        ),
        false => String::new(),
    };
    let launched_at = launched_at(scene, failure.stack, &kernel);
    Failed {
        what: format!("The launch of {kernel}"),
        because,
        evidence: vec![
            Evidence::text("kernel", kernel, Basis::Recorded),
            Evidence::text("launched at", launched_at, Basis::Recorded),
            Evidence::bytes("dynamic shared memory asked for", shared_memory, Basis::Recorded),
        ],
        remedies: remedies(shared_memory, failure.result),
    }
}

/// A copy or a fill. Its name in the runtime's words is the one that most programs know.
fn copy(scene: &Scene<'_>, failure: &Failure, call: StringId) -> Failed {
    let call = scene.tables.text(call);
    let call = call.trim_end_matches("_ptsz").trim_end_matches("_ptds").trim_end_matches("_v2");
    let (runtime, kind) = match call.starts_with("cuMemset") {
        true => ("cudaMemset", "fill"),
        false => ("cudaMemcpy", "copy"),
    };
    let place = scene.place(failure.stack);
    Failed {
        what: format!("{call} at {place}"),
        because: format!(
            "Nothing was written by this {kind}: what lay there before is there still. "
        ),
        evidence: vec![Evidence::text("called at", place.as_str(), Basis::Recorded)],
        remedies: vec![
            look_at_result(call, runtime, &place),
            Remedy::advice(format!(
                "{call} is refused where the bytes do not lie in one buffer: compare the size of this {kind} \
                 with what was allocated for its target and its source"
            )),
        ],
    }
}

/// The check that was left out, by the runtime's name for the call.
fn look_at_result(call: &str, runtime: &str, place: &str) -> Remedy {
    Remedy::line(
        format!(
            "if (cudaError_t e = {runtime}(...)) {{ fprintf(stderr, \"%s\\n\", \
             cudaGetErrorString(e)); abort(); }}"
        ),
        format!("look at what {call} returns at {place}: then the error is told where it belongs"),
    )
}

/// Whether memory of that kind was never given back. A free too many of what is gone costs nothing.
fn left_something(scene: &Scene<'_>, kind: MemoryKind) -> bool {
    let driver = scene.space.and_then(|space| space.driver());
    let left = driver.and_then(|driver| driver.by_kind().get(&kind).copied());
    left.is_some_and(|left| left > Bytes::ZERO)
}

/// A free of what the driver does not know at that address.
fn free(scene: &Scene<'_>, failure: &Failure, kind: MemoryKind) -> Failed {
    let (call, runtime) = match kind {
        MemoryKind::Pinned => ("cuMemFreeHost", "cudaFreeHost"),
        MemoryKind::Registered => ("cuMemHostUnregister", "cudaHostUnregister"),
        MemoryKind::StreamOrdered => ("cuMemFreeAsync", "cudaFreeAsync"),
        MemoryKind::Array => ("cuArrayDestroy", "cudaFreeArray"),
        _ => ("cuMemFree", "cudaFree"),
    };
    let place = scene.place(failure.stack);
    Failed {
        what: format!("{call} at {place}"),
        because: "Nothing was freed by it: what it was meant for is held still. ".to_owned(),
        evidence: vec![Evidence::text("called at", place.as_str(), Basis::Recorded)],
        remedies: vec![
            look_at_result(call, runtime, &place),
            Remedy::advice(format!(
                "give {call} the address that the allocation returned, not that of the variable which holds it, \
                 nor one in the middle of the buffer, and by the function that belongs to how it was taken"
            )),
        ],
    }
}

/// Who launched: in compiled code, the caller of the function that the compiler made of the kernel.
fn launched_at(scene: &Scene<'_>, stack: StackId, kernel: &str) -> String {
    let mut frames = scene.tables.frames(stack);
    let is_kernel = |function: &str| function.split('(').next() == Some(kernel);
    let behind = frames.find(|frame| is_kernel(frame.function)).and_then(|_| frames.next());
    match behind.filter(|_| scene.is_compiled(stack)) {
        Some(caller) => {
            let file = caller.file.rsplit('/').next().unwrap_or(caller.file);
            format!("{file}:{} {}", caller.line, caller.function)
        }
        None => scene.place(stack),
    }
}

fn remedies(shared_memory: Bytes, result: ResultCode) -> Vec<Remedy> {
    let mut remedies = vec![Remedy::line(
        "if (cudaError_t e = cudaGetLastError()) { fprintf(stderr, \"%s\\n\", cudaGetErrorString(e)); abort(); }",
        "right after the launch: then the error is told where it belongs",
    )];
    let reason = match result {
        _ if shared_memory > SHARED_WITHOUT_ASKING => Some(Remedy::line(
            "cudaDeviceGetAttribute(&most, cudaDevAttrMaxSharedMemoryPerBlockOptin, device);",
            "what a block may have at most, once the kernel was told so by \
             cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes)",
        )),
        INVALID_VALUE | OUT_OF_RESOURCES => Some(Remedy::line(
            "cudaFuncGetAttributes(&attributes, kernel); // attributes.maxThreadsPerBlock",
            "so many threads a block may have: never more than 1024, and fewer where each needs many \
             registers; launch more blocks of fewer threads",
        )),
        NO_BINARY => Some(Remedy::line(
            "nvcc -arch=native ...",
            "the program has no code for this GPU's architecture: build it for that",
        )),
        _ => None,
    };
    remedies.extend(reason);
    remedies
}

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
        ("", _) => "a kernel".to_owned(),
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
