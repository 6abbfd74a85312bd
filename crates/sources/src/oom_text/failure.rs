//! What a failed allocation reads like, in anybody's words: the first layer of reading. A line fails where it
//! names an event; what failed follows from its subject. Once recognised, a failure is never denied.

use std::sync::LazyLock;

use regex::Regex;
use whyoom_trace::Symptom;

use super::amount::regex;

/// Words of which every event has one, in any case. They only say where to look.
pub(super) const ANCHORS: &[&str] = &[
    "out of memory",
    "out-of-memory",
    "out_of_memory",
    "outofmemory",
    "out of gpu memory",
    "out of device memory",
    "out of video memory",
    "out of host memory",
    "out of vram",
    "alloc fail",
    "alloc_fail",
    "allocation fail",
    "allocation error",
    "allocation of",
    "malloc fail",
    "malloc error",
    "failed to alloc",
    "fail to alloc",
    "fails to alloc",
    "failed to create",
    "failed to cuda",
    "failed to hip",
    "failed allocating",
    "could not alloc",
    "could not be allocated",
    "couldn't alloc",
    "cannot alloc",
    "can't alloc",
    "can not alloc",
    "unable to alloc",
    "error allocating",
    "insufficient memory",
    "insufficient vram",
    "insufficient gpu",
    "insufficient device",
    "insufficient free",
    "not enough memory",
    "not enough gpu",
    "not enough vram",
    "not enough free",
    "not enough video",
    "not enough device",
    "enough free memory",
    "enough memory",
    "memory exhausted",
    "memory is full",
    "memory is exhausted",
    "out_of_device",
    "outofdevice",
    "out_of_resources",
    "显存溢出",
    "显存不足",
    "显存不够",
    "内存不足",
    "メモリが不足",
    "메모리 부족",
    "resource_exhausted",
    "resourceexhausted",
    "resource exhausted",
    "bad_alloc",
    "badalloc",
    "memoryerror",
    "::allocate",
    "cudaerrormemoryallocation",
    "low on memory",
    "memory pressure",
    "cumemalloc",
    "oom error",
    "oom issue",
    "oom killed",
    "oom-killer",
    "oom when",
    "oom on ",
    "gpu oom",
    "cuda oom",
    "vram oom",
    "an oom",
    "context: oom",
    "oom encountered",
];

/// Memory ran out, or an allocation failed.
static EVENT: LazyLock<Regex> = LazyLock::new(|| {
    let failed = r"fail(?:ed|s|ure)?|could\s?n[o']t|cannot|can't|can\snot|unable|not\sable|error";
    regex(&format!(
        r"(?ix)
        out[\s_-]?of[\s_-]?(?:(?:gpu|device|video|cuda|host|system|graphics)[\s_]?)?(?:memory|vram)
        | (?:{failed})\s(?:to\s|while\s|when\s)?(?:re)?alloc(?:ate|ating|ation)?\b
        | (?:{failed})\s(?:to\s)?(?:cuda|hip|cu_?mem)_?(?:m?alloc)\w*
        | (?:c|m|re|mem)?alloc(?:ate|ation)?[\s(:,\[].{{0,60}}?\b(?:failed|fails|failure|error)\b
        | could\snot\sbe\sallocated
        | (?:insufficient|not\senough|too\slittle|exhausted|low\son|lack\sof|ran\sout\sof)
          \s(?:\w+\s){{0,3}}(?:memory|vram)
        | does\snot\shave\senough\s(?:\w+\s){{0,3}}(?:memory|vram)
        | memory\s(?:was\s|is\s)?(?:exhausted|full)\b | (?:显存|内存)(?:溢出|不足|不够) | メモリが不足 | 메모리\s?부족 | out_of_resources
        | недостаточно\s(?:видео)?памяти
        | bad_?alloc | \bmemoryerror\b | memoryallocation | alloc_failed
        | resource_?\s?exhausted
        | \boom\b",
    ))
});

/// Advice, and words about the failure, which are no failure of their own.
static HINT: LazyLock<Regex> = LazyLock::new(|| {
    regex(
        r"(?ix) \btry\s(?:setting|decreasing|reducing|lowering|increasing|using)\b | \bto\savoid\b
        | \bconsider\b | \bif\s(?:you|the|reserved)\b | see\sdocumentation | \bmay\s(?:cause|be)\b | \bhint\b
        | list\sof\sallocated\stensors | report_tensor_allocations | could\smean\sthat",
    )
});

/// What says itself that it is no failure.
static DENIED: LazyLock<Regex> = LazyLock::new(|| {
    regex(r"(?i)is not a failure|no out.of.memory|oom_?killed\W+false|oom_kill\W+0\b")
});

/// What is allocated and is no memory.
static OTHER_THINGS: LazyLock<Regex> = LazyLock::new(|| {
    regex(r"(?i)alloc\w*\s(?:\w+\s){0,2}(?:gateway|port|address|tty|socket|pty|ip)\b")
});

/// What people write around what machines print.
static PROSE: LazyLock<Regex> = LazyLock::new(|| {
    regex(
        r"(?x) ^\s*\#{1,6}\s | ^\s*[*_>]*\s*(?:Hi|Hello|Thanks|Thank|I|My|We|When|After|Is|How|Why|Can|Does|If|In|The|This|It|So|But|And|Also|Even)\b
        | \b(?:I|I'm|I've|my|we|our|anyone|somebody|please|because|however)\b | \?\s*$",
    )
});

/// Code that names an error, and does not raise it.
static CODE: LazyLock<Regex> = LazyLock::new(|| {
    regex(
        r#"(?x) ^\s*(?:except|raise|if|elif|def|class|import|from|return|assert|catch|\#\s*define|//|case)\b
        | \bexcept\s[\w.()\s,]*(?:OutOfMemory|MemoryError) | is_oom | oom_ | _oom\b | handle_oom
        | ^\s*File\s" | ^\s*at\s[\w.$/]+\( | ^\s*\w*Error\s+Traceback\b"#,
    )
});

/// Memory that the host locks for copies.
static PINNED: LazyLock<Regex> = LazyLock::new(|| {
    regex(
        r"(?ix) \bpinned\b | page-?locked | cuda_?host_?alloc | cuda_?malloc_?host | cu_?mem_?host_?alloc
        | cu_?mem_?alloc_?host | cuda_host_mem | host_?malloc | cudaHostRegister",
    )
});
/// The host's own memory.
static HOST: LazyLock<Regex> = LazyLock::new(|| {
    regex(
        r"(?ix) \bhost\s(?:memory|ram)\b | \bon\s(?:the\s)?host\b | (?:system|cpu|main|physical|virtual)\s(?:memory|ram)\b
        | \bram\b | (?:\b|_)cpu(?:\b|_) | page\s?file | paging\sfile | \bswap\b | shared\smemory | /dev/shm | commit\slimit
        | \bmemoryerror | arraymemoryerror | java\sheap | cpuallocator | running\slow\son\smemory
        | java\.lang | javascript\sheap | heap\slimit | std::bad_alloc
        | memory\spressure | worker.{0,20}killed | \bcgroup\b | oom-killer | kill(?:ed)?\sprocess | cannot\sallocate\smemory | errno\s12 | \bENOMEM\b",
    )
});
/// The device's.
static DEVICE: LazyLock<Regex> = LazyLock::new(|| {
    regex(
        r"(?ix) gpu | vram | 显存 | cuda | \bhip | rocm | device | video\smemory | graphics | cublas | cudnn | cusolver
        | cufft | nvrtc | nvenc | nvdec | nccl | opencl | \bmetal\b | \bmps\b | \bxpu\b | cumem | tensorrt | \btrt\b
        | \bdag\b | gpu_\d | directml | vulkan | optix",
    )
});

/// CUDA's own code, and RAPIDS' allocators, which raise it as the host's exception.
static OF_CUDA: LazyLock<Regex> =
    LazyLock::new(|| regex(r"(?i)cudaErrorMemoryAllocation|\brmm\b|/rmm/|rmm::"));

/// How a line tells of a failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Voice {
    /// Somebody speaks of it: a title, a sentence.
    Mention,
    /// A program printed it.
    Machine,
}

/// A failure that a line tells of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Failure {
    pub(super) symptom: Symptom,
    pub(super) voice: Voice,
}

/// The failure that a line tells of; `around` is the text near it, where the line itself does not name what
/// failed.
pub(super) fn failure(line: &str, around: &str) -> Option<Failure> {
    let event = EVENT.find(line)?;
    if CODE.is_match(line) || DENIED.is_match(line) || OTHER_THINGS.is_match(line) {
        return None;
    }
    // Advice behind a failure belongs to it; alone it is none.
    if HINT.find(line).is_some_and(|hint| hint.start() < event.start()) {
        return None;
    }
    let spoken = is_prose(line) && !is_quoted(line, event.start());
    let voice = if spoken { Voice::Mention } else { Voice::Machine };
    Some(Failure { symptom: symptom(line, around)?, voice })
}

/// Whether a line is somebody's sentence.
pub(super) fn is_prose(line: &str) -> bool {
    PROSE.is_match(line)
}

/// Whether a place in a line is inside quotes: what a program printed, in somebody's sentence.
fn is_quoted(line: &str, at: usize) -> bool {
    let opened = |quote: char| line[..at].matches(quote).count() % 2 == 1;
    let quoted = |quote: char| opened(quote) && line[at..].contains(quote);
    quoted('"') || quoted('`') || line[..at].contains('“') && line[at..].contains('”')
}

/// What failed, by the subject that the line names, or else what is near it. Where nothing is named, a device's
/// memory is meant: that is what the text was brought for.
fn symptom(line: &str, around: &str) -> Option<Symptom> {
    if PINNED.is_match(line) {
        return Some(Symptom::PinnedOutOfMemory);
    }
    let (host, device) = (HOST.is_match(line), DEVICE.is_match(line) || OF_CUDA.is_match(line));
    match (host, device) {
        (true, false) => Some(Symptom::HostOutOfMemory),
        (_, true) => Some(Symptom::DeviceOutOfMemory),
        (false, false) => match HOST.is_match(around) && !DEVICE.is_match(around) {
            true => Some(Symptom::HostOutOfMemory),
            false => Some(Symptom::DeviceOutOfMemory),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failures_are_known_in_anybodys_words() {
        use Symptom::{DeviceOutOfMemory as Device, HostOutOfMemory as Host, PinnedOutOfMemory};
        for (line, symptom) in [
            (
                "cu->cuMemAlloc(&data, size) failed -> CUDA_ERROR_OUT_OF_MEMORY: out of memory",
                Device,
            ),
            ("PxgCudaDeviceMemoryAllocator fail to allocate memory 339738624 bytes!!", Device),
            ("[TRT] [E] 2: [virtualMemoryBuffer.cpp::145] Error Code 2: OutOfMemory", Device),
            ("RuntimeError: CUDA failed with error out of memory", Device),
            ("CUDA error in cudaMalloc: cudaErrorMemoryAllocation", Device),
            ("Failed to allocate 2.0 GiB on the GPU", Device),
            ("Could not allocate 512 MB on the GPU", Device),
            ("Can not allocate 3 GiB of device memory", Device),
            ("java.lang.OutOfMemoryError: GC overhead limit exceeded", Host),
            ("terminate called after throwing an instance of 'std::bad_alloc'", Host),
            ("Error: unable to allocate CUDA0 buffer", Device),
            ("System is out of GPU memory", Device),
            ("MemoryError: Unable to allocate 8.00 GiB for an array with shape (1,)", Host),
            ("OSError: [Errno 12] Cannot allocate memory", Host),
            ("Failed to allocate pinned memory.", PinnedOutOfMemory),
        ] {
            let found = failure(line, "").map(|failure| failure.symptom);
            assert_eq!(found, Some(symptom), "{line}");
        }
    }

    #[test]
    fn what_only_speaks_of_one_is_told_apart() {
        for line in [
            "except torch.cuda.OutOfMemoryError:",
            "    raise MemoryError(\"out of memory\")",
            "To avoid out of memory errors, try a smaller batch",
            "There is plenty of room in the zoom tool",
        ] {
            assert_eq!(failure(line, "cuda"), None, "{line}");
        }
        let mention = failure("# CUDA out of memory after a few epochs", "").map(|one| one.voice);
        assert_eq!(mention, Some(Voice::Mention));
    }
}
