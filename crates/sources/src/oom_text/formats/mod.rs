//! The formats of messages, one file a family. To add one: a file here, a line in [`FORMATS`], its
//! samples in `tests/messages.rs`.

mod cupy;
mod format;
pub(super) mod general;
mod hami;
mod host;
mod libraries;
pub(super) mod llama_cpp;
mod nccl;
mod opencl;
mod pytorch;
mod rmm;
pub(super) mod tensorflow;
mod vllm;
mod xla;

pub(super) use format::Format;

/// All families. Of those that share an anchor, the first that understands it has it.
pub(super) const FORMATS: &[Format] = &[
    pytorch::FORMAT,
    libraries::FORMAT,
    host::FORMAT,
    tensorflow::FORMAT,
    xla::FORMAT,
    cupy::FORMAT,
    rmm::FORMAT,
    nccl::FORMAT,
    vllm::FORMAT,
    llama_cpp::FORMAT,
    hami::FORMAT,
    opencl::FORMAT,
];
