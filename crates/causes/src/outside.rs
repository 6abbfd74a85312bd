//! What a process takes beside its caching allocator, and which of its code takes it.

use whyoom_trace::{Bytes, StackId};

use crate::diagnosis::Diagnosis;

/// Through these Python calls any library: who asked is told by the line.
const GLUE: [&str; 4] = ["_ctypes", "_cffi", "libffi", "libpython"];

/// The library that a stack leads to, where it is one that takes memory for itself.
pub(crate) fn names_library<'a>(diagnosis: &Diagnosis<'a>, stack: StackId) -> Option<&'a str> {
    let names_owner =
        |file: &&str| file.contains(".so") && !GLUE.iter().any(|glue| file.starts_with(glue));
    diagnosis.library(stack).filter(names_owner)
}

/// Libraries that report out of memory with messages of their own, and which these are.
const IN_OTHER_WORDS: [(&str, &str); 5] = [
    ("libcublas", "CUBLAS_STATUS_ALLOC_FAILED or CUBLAS_STATUS_NOT_INITIALIZED"),
    ("libcudnn", "CUDNN_STATUS_ALLOC_FAILED, or \"unable to find an engine\""),
    ("libcufft", "CUFFT_ALLOC_FAILED"),
    ("libcusolver", "CUSOLVER_STATUS_ALLOC_FAILED"),
    ("libcusparse", "CUSPARSE_STATUS_ALLOC_FAILED"),
];

/// The library that asked for what the driver refused, in a recorded run.
pub(crate) fn asking_library(diagnosis: &Diagnosis<'_>) -> Option<&'static str> {
    in_other_words(diagnosis).map(|(library, _)| library)
}

/// The same, with the words in which it tells.
pub(crate) fn in_other_words(diagnosis: &Diagnosis<'_>) -> Option<(&'static str, &'static str)> {
    let incident =
        diagnosis.incident.filter(|incident| incident.of_driver && diagnosis.device_refused())?;
    let asks = |name: &str| {
        let mut frames = diagnosis.tables.frames(incident.stack);
        frames.any(|frame| [frame.file, frame.library].iter().any(|code| code.contains(name)))
    };
    IN_OTHER_WORDS.into_iter().find(|(name, _)| asks(name))
}

/// A block of more than this share of the device is hardly one buffer: it is a pool, preallocated.
const MOST: f64 = 0.7;
/// The same for one that is made where the program speaks of a pool.
const MOST_OF_POOL: f64 = 0.5;
/// What programs call a pool.
const POOLS: [&str; 4] = ["pool", "arena", "reserve", "preallocate"];

/// Whether a part of a call site's name is a pool's.
fn names_pool(call_site: &str) -> bool {
    let call_site = call_site.to_lowercase();
    let mut parts = call_site.split(|letter: char| !letter.is_alphanumeric());
    parts.any(|part| POOLS.iter().any(|pool| part.ends_with(pool)))
}

/// Most of the device, taken in one block by the program's own code: nobody's arena that is known, and whoever
/// made it decides how large it is.
pub(crate) fn block_in_advance(diagnosis: &Diagnosis<'_>) -> Option<(StackId, Bytes)> {
    let incident = diagnosis.incident.filter(|incident| !incident.of_driver)?;
    let (capacity, shortfall) = (diagnosis.observed.capacity?, diagnosis.observed.shortfall()?);
    let blocks = incident.driver.as_ref()?.outside.iter();
    let (stack, usage) = blocks.max_by_key(|(_, usage)| usage.bytes)?;
    let most = if names_pool(&diagnosis.call_site(*stack)) { MOST_OF_POOL } else { MOST };
    let is_one = usage.blocks == 1 && usage.bytes.share_of(capacity) > most;
    let suffices = usage.bytes >= shortfall && names_library(diagnosis, *stack).is_none();
    (is_one && suffices && diagnosis.device_ran_out()).then_some((*stack, usage.bytes))
}
