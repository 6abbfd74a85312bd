//! A call failed, and nobody looked.

use whyoom_memory::{FailedCall, Failure};
use whyoom_trace::{Bytes, DeviceId, ResultCode, StackId};

use crate::{
    cause::Cause,
    finding::{Basis, Evidence, Finding, Remedy, Strength},
    scene::Scene,
};

pub(super) const CAUSE: Cause = Cause {
    id: "unchecked-error",
    title: "a launch failed and the program went on as if nothing had happened",
    explanation: "\
A kernel launch returns nothing: its error waits until somebody asks. The next check, often behind an
innocent allocation or copy, then reports it, and the wrong call is blamed.

What it looks like: \"invalid argument\" or \"invalid configuration\" from a cudaMalloc or cudaMemcpy that is
fine; results that are zeros.

Why it happens: more dynamic shared memory than a block may have (48 KiB unless the kernel is told otherwise,
then what the device allows), too many threads, registers that do not suffice, code for another architecture.

What helps: look after every launch: cudaGetLastError() at once, and the synchronize's result later.",
    check,
};

/// What a block may have of shared memory without asking.
const SHARED_WITHOUT_ASKING: Bytes = Bytes(48 << 10);
/// The driver's code for too little memory.
const OUT_OF_MEMORY: ResultCode = ResultCode(2);

fn check(scene: &Scene<'_>) -> Option<Finding> {
    let facts = scene.facts().filter(|_| scene.device != DeviceId::HOST)?;
    let launch = |failure: &&Failure| {
        matches!(failure.call, FailedCall::Launch { .. })
            && failure.device == scene.device
            // A launch that found too little memory is no mistake in its arguments.
            && failure.result != OUT_OF_MEMORY
    };
    let failure = facts.failures().iter().find(launch)?;
    let FailedCall::Launch { kernel, shared_memory } = failure.call else { return None };
    let kernel = plain_name(scene.tables.text(kernel));
    let later = facts.went_on_after(failure);
    let strength = match (scene.incident, later) {
        (Some(_), _) => Strength::Contributing,
        (None, 0) => Strength::Likely,
        (None, _) => Strength::Explains,
    };
    let code = code_name(failure.result);
    let launched_at = launched_at(scene, failure.stack, &kernel);
    let headline = match later {
        0 => format!("The launch of {kernel} failed with {code}, which is no want of memory"),
        _ => format!("The launch of {kernel} failed with {code}, and calls after it succeeded"),
    };
    let mut finding = scene.finding(CAUSE.id, strength, headline, because(scene, shared_memory));
    finding.evidence.extend([
        Evidence::text("kernel", kernel, Basis::Recorded),
        Evidence::text("launched at", launched_at, Basis::Recorded),
        Evidence::bytes("dynamic shared memory asked for", shared_memory, Basis::Recorded),
        Evidence::count("calls that succeeded afterwards", later, Basis::Recorded),
        Evidence::count("launches and waits that failed", facts.failures_seen(), Basis::Recorded),
    ]);
    finding.remedies = remedies(shared_memory);
    Some(finding)
}

fn because(scene: &Scene<'_>, shared_memory: Bytes) -> String {
    let requests = match scene.incident {
        Some(_) => "A request for memory failed too, and that is another matter.",
        None => "No request for device memory had failed.",
    };
    match shared_memory > SHARED_WITHOUT_ASKING {
        true => format!(
            "It asked for {shared_memory} of dynamic shared memory a block; without asking a block may \
             have 48 KiB. {requests}"
        ),
        false => requests.to_owned(),
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

fn remedies(shared_memory: Bytes) -> Vec<Remedy> {
    let mut remedies = vec![Remedy::line(
        "if (cudaError_t e = cudaGetLastError()) { fprintf(stderr, \"%s\\n\", cudaGetErrorString(e)); abort(); }",
        "right after the launch: then the error is told where it belongs",
    )];
    if shared_memory > SHARED_WITHOUT_ASKING {
        remedies.push(Remedy::line(
            "cudaDeviceGetAttribute(&most, cudaDevAttrMaxSharedMemoryPerBlockOptin, device);",
            "what a block may have at most, once the kernel was told so by \
             cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes)",
        ));
    }
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

/// The driver's name for a code.
pub(super) fn code_name(code: ResultCode) -> String {
    let name = match code.0 {
        1 => "CUDA_ERROR_INVALID_VALUE",
        2 => "CUDA_ERROR_OUT_OF_MEMORY",
        209 => "CUDA_ERROR_NO_BINARY_FOR_GPU",
        218 => "CUDA_ERROR_INVALID_PTX",
        400 => "CUDA_ERROR_INVALID_HANDLE",
        700 => "CUDA_ERROR_ILLEGAL_ADDRESS",
        701 => "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES",
        702 => "CUDA_ERROR_LAUNCH_TIMEOUT",
        710 => "CUDA_ERROR_ASSERT",
        715 => "CUDA_ERROR_ILLEGAL_INSTRUCTION",
        716 => "CUDA_ERROR_MISALIGNED_ADDRESS",
        719 => "CUDA_ERROR_LAUNCH_FAILED",
        720 => "CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE",
        code => return format!("error {code}"),
    };
    name.to_owned()
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
