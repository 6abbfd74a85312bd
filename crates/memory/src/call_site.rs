//! Where in the program a stack leads to, in the words of its author.

use whyoom_trace::{Bytes, FrameText, StackId, Tables};

use crate::block::Usage;

/// Only the largest stacks are looked at: the rest changes no sum that anybody is shown.
const MANY_STACKS: usize = 64;

/// What is told where a stack leads to nothing that has a name.
pub const UNKNOWN_CALL_SITE: &str = "unknown call site (no Python frame)";

/// The call site in the program that a stack leads to: its innermost frame outside libraries.
#[must_use]
pub fn call_site(tables: &Tables, stack: StackId) -> String {
    if let Some(frame) = python_line(tables, stack) {
        return line_text(&frame);
    }
    if let Some(node) = tables.frames(stack).find_map(|frame| autograd_node(frame.function)) {
        return format!("backward of {node}");
    }
    match caller_of_wrapper(tables, stack).or_else(|| native(tables, stack)) {
        Some(frame) if frame.line > 0 => line_text(&frame),
        Some(frame) => format!("{} in {}", name(frame.function), file_name(frame.file)),
        None => UNKNOWN_CALL_SITE.to_owned(),
    }
}

/// A line of a source file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourceLine {
    /// The file, as the program was started with it.
    pub file: String,
    /// The line in it.
    pub line: u32,
}

/// The line that a call site names, with the whole path of its file. Nothing where it names none, such as a node of
/// autograd. Looks at every stack.
#[must_use]
pub fn source_line(tables: &Tables, call_site: &str) -> Option<SourceLine> {
    let frame_of = |stack| {
        let native = || caller_of_wrapper(tables, stack).or_else(|| native(tables, stack));
        python_line(tables, stack).or_else(native).filter(|frame| frame.line > 0)
    };
    let mut frames = (0..tables.stack_count() as u32).filter_map(|stack| frame_of(StackId(stack)));
    let frame = frames.find(|frame| line_text(frame) == call_site)?;
    Some(SourceLine { file: frame.file.to_owned(), line: frame.line })
}

/// The innermost frame of Python code outside libraries, or else within.
fn python_line(tables: &Tables, stack: StackId) -> Option<FrameText<'_>> {
    let python = || tables.frames(stack).filter(FrameText::is_python);
    python().find(|frame| !is_library_file(frame.file)).or_else(|| python().next())
}

fn line_text(frame: &FrameText<'_>) -> String {
    let function = if frame.is_python() { frame.function } else { name(frame.function) };
    format!("{}:{} {function}", short(frame.file), frame.line)
}

/// Whether a file of Python code is of a library, and not of the program.
#[must_use]
pub fn is_library_file(file: &str) -> bool {
    file.contains("site-packages") || file.contains("dist-packages") || file.contains("/lib/python")
}

/// Whose code a stack leads to, of code that was compiled: the innermost file that is neither CUDA's nor
/// the system's.
#[must_use]
pub fn library(tables: &Tables, stack: StackId) -> Option<&str> {
    native(tables, stack).map(|frame| code_of(&frame))
}

/// Whoever called the program's own wrapper of the allocation, past all such wrappers: a line that every allocation
/// goes through tells nobody anything.
fn caller_of_wrapper(tables: &Tables, stack: StackId) -> Option<FrameText<'_>> {
    let is_wrapper = |frame: &FrameText<'_>| name(frame.function).to_lowercase().contains("alloc");
    let mut own = tables.frames(stack).filter(is_own);
    let is_wrapped = own.next().is_some_and(|innermost| is_wrapper(&innermost));
    own.find(|frame| is_wrapped && !is_wrapper(frame) && !frame.function.contains("+0x"))
}

/// The innermost frame of compiled code that is neither CUDA's nor the system's.
fn native(tables: &Tables, stack: StackId) -> Option<FrameText<'_>> {
    tables.frames(stack).find(is_own)
}

/// Whether a frame is of compiled code that is neither CUDA's nor the system's.
fn is_own(frame: &FrameText<'_>) -> bool {
    let known = !matches!(frame.file, "" | "??" | "[unknown]");
    let plumbing = is_plumbing(code_of(frame)) || is_plumbing(file_name(frame.file));
    let header = ["/include/c++/", "/include/crt/", "/crt/", "cudafe"];
    let generated = header.iter().any(|part| frame.file.contains(part))
        || frame.function.starts_with("__device_stub_")
        || frame.function.starts_with("__cuda");
    known && !frame.is_python() && !plumbing && !generated
}

/// The library or program that a frame's code lies in, or else its source file.
fn code_of<'a>(frame: &FrameText<'a>) -> &'a str {
    file_name(if frame.library.is_empty() { frame.file } else { frame.library })
}

/// Files that only pass a call on: CUDA's own, the recorder, the system's.
fn is_plumbing(file: &str) -> bool {
    const PLUMBING: [&str; 14] = [
        "libcuda.so",
        "libcudart",
        "libwhyoom",
        "libnvidia",
        "libc.so",
        "libc-",
        "libpthread",
        "libstdc++",
        "libgcc",
        "libffi",
        "ld-linux",
        "libdl",
        "linux-vdso",
        "cuda_runtime",
    ];
    PLUMBING.iter().any(|prefix| file.starts_with(prefix))
}

/// A function's name without its arguments: they are long, and tell a person little.
fn name(function: &str) -> &str {
    // A name may begin with one: `(anonymous namespace)::take`.
    let from = function.find("anonymous namespace)").map_or(0, |at| at + 20);
    function[from..].find('(').map_or(function, |end| &function[..from + end])
}

fn file_name(path: &str) -> &str {
    path.rsplit(['/', '\\']).next().unwrap_or(path)
}

/// Sums by stack as sums by call site, the most first: several stacks may lead to one line.
#[must_use]
pub fn sums_by_call_site(tables: &Tables, stacks: Vec<(StackId, Usage)>) -> Vec<(String, Bytes)> {
    let mut call_sites: Vec<(String, Bytes)> = Vec::new();
    for (stack, usage) in stacks.into_iter().take(MANY_STACKS) {
        let call_site = call_site(tables, stack);
        match call_sites.iter_mut().find(|(known, _)| *known == call_site) {
            Some((_, bytes)) => *bytes = bytes.plus(usage.bytes),
            None => call_sites.push((call_site, usage.bytes)),
        }
    }
    call_sites.sort_by_key(|(_, bytes)| std::cmp::Reverse(*bytes));
    call_sites
}

/// A path without most of its folders.
fn short(path: &str) -> &str {
    let mut slashes = path.rmatch_indices(['/', '\\']);
    slashes.nth(1).map_or(path, |(at, _)| &path[at + 1..])
}

/// The autograd node that a C++ frame belongs to: `MulBackward0`.
pub(crate) fn autograd_node(function: &str) -> Option<&str> {
    let path = function.split('(').next()?;
    let node = match path.strip_prefix("torch::autograd::generated::") {
        Some(generated) => generated.split("::").next()?.split("_apply_functional").next()?,
        None => path.strip_suffix("::apply")?.rsplit("::").next()?,
    };
    (node.contains("Backward") || node == "AccumulateGrad").then_some(node)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The call site of a stack given as (function, file, line), innermost first.
    fn place_of(frames: &[(&str, &str, u32)]) -> (String, Option<String>) {
        let mut tables = Tables::default();
        let frames: Vec<_> =
            frames.iter().map(|(name, file, line)| tables.frame_text(name, file, *line)).collect();
        let stack = tables.stack(&frames);
        (call_site(&tables, stack), library(&tables, stack).map(str::to_owned))
    }

    const CUDART: (&str, &str, u32) = ("cudaMalloc", "/usr/lib/libcudart.so.13", 0);

    #[test]
    fn compiled_code_is_named_by_its_innermost_own_frame() {
        let (call_site, library) = place_of(&[
            ("cuMemAlloc_v2", "/opt/libcuda.so.1", 0),
            CUDART,
            ("leaky_scale", "/opt/lib/libleaky.so", 0),
            ("main", "/home/me/program12.cu", 20),
        ]);
        assert_eq!(
            (call_site.as_str(), library.as_deref()),
            ("leaky_scale in libleaky.so", Some("libleaky.so"))
        );
        let (call_site, _) =
            place_of(&[CUDART, ("process_batch(int)", "/home/me/src/program10.cu", 22)]);
        assert_eq!(call_site, "src/program10.cu:22 process_batch");
        assert_eq!(place_of(&[("__clone", "??", 0)]).0, "unknown call site (no Python frame)");
    }

    #[test]
    fn python_behind_compiled_code_is_the_place() {
        let (call_site, _) = place_of(&[
            ("c10::cuda::malloc", "/lib/site-packages/torch/lib/libc10_cuda.so", 0),
            ("at::native::mm", "/lib/site-packages/torch/lib/libtorch_cuda.so", 0),
            ("forward", "/lib/site-packages/torch/nn/modules/linear.py", 125),
            ("forward", "/home/me/model.py", 40),
            ("main", "/home/me/train.py", 12),
        ]);
        assert_eq!(call_site, "me/model.py:40 forward");
    }

    #[test]
    fn a_call_site_leads_back_to_its_line() {
        let mut tables = Tables::default();
        for (name, file, line) in [
            ("forward", "/lib/site-packages/torch/nn/modules/linear.py", 125),
            ("process_batch(int)", "/home/me/src/program10.cu", 22),
            ("forward", "/home/you/me/model.py", 41),
            ("forward", "/home/me/model.py", 40),
        ] {
            let frame = tables.frame_text(name, file, line);
            tables.stack(&[frame]);
        }
        let found = |call_site| source_line(&tables, call_site).map(|line| (line.file, line.line));
        let model = ("/home/me/model.py".to_owned(), 40);
        assert_eq!(found("me/model.py:40 forward"), Some(model));
        let native = ("/home/me/src/program10.cu".to_owned(), 22);
        assert_eq!(found("src/program10.cu:22 process_batch"), Some(native));
        assert_eq!(found("backward of MmBackward0"), None);
        assert_eq!(found("me/model.py:42 forward"), None);
    }

    #[test]
    fn backward_is_named_by_its_node() {
        for function in [
            "torch::autograd::generated::MmBackward0::apply(std::vector<at::Tensor>&&)",
            "MmBackward0::apply",
        ] {
            let frames = [("at::mm", "libtorch.so", 0), (function, "libtorch_cpu.so", 0)];
            assert_eq!(place_of(&frames).0, "backward of MmBackward0");
        }
    }
}
