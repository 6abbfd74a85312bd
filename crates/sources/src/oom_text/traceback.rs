//! The Python traceback that led to a message: as the interpreter prints it, as IPython does, and as rich does.

use std::sync::LazyLock;

use regex::Regex;
use whyoom_trace::{FrameId, StackId, Tables};

use super::{
    amount::regex,
    window::{Window, line_marker},
};

const BEGINNING: &str = "Traceback (most recent call last)";
/// The frame of a rich traceback.
const BOX: [char; 3] = ['│', '|', ' '];

/// A line of Python's own traceback, perhaps behind what a logger writes before it.
static FRAME: LazyLock<Regex> =
    LazyLock::new(|| regex(r#"(?:^|\s)File "([^"]+)", line (\d+), in (\S+)"#));
/// A frame of IPython's: `File /usr/lib/x.py:12, in Trainer.train(self)`, or up to version 7 `/usr/lib/x.py in f(x)`.
static IPYTHON_FRAME: LazyLock<Regex> =
    LazyLock::new(|| regex(r"^File (\S+\.py):(\d+), in ([\w.<>]+)"));
static OLD_IPYTHON_FRAME: LazyLock<Regex> =
    LazyLock::new(|| regex(r"^([~/]\S*\.py|[A-Za-z]:\\\S*\.py) in ([\w.<>]+)\("));
/// The line within an IPython frame.
static ARROW: LazyLock<Regex> = LazyLock::new(|| regex(r"^-+> (\d+)"));
/// A frame of rich's: `/usr/lib/x.py:12 in train`.
static RICH_FRAME: LazyLock<Regex> =
    LazyLock::new(|| regex(r"^([~/]\S*\.py|[A-Za-z]:\\\S*\.py):(\d+) in ([\w.<>]+)$"));

/// Maximum number of frames of a stack. Python's own limit of recursion is 1,000. Chosen, not measured.
const MAX_FRAMES: usize = 256;
/// Maximum number of bytes between the innermost frame and the message. More than that is another traceback, of a failure that
/// the program handled before. Chosen, not measured.
const MAX_BYTES_AFTER_FRAMES: usize = 4 << 10;

/// A frame as it was read. The innermost comes last.
struct Frame {
    function: String,
    file: String,
    line: u32,
}

/// Returns the stack of the traceback that ends where the message starts. Empty if there is none.
pub(super) fn stack(window: &Window<'_>, tables: &mut Tables) -> StackId {
    let before = window.far_before();
    let Some(start) = before.rfind(BEGINNING) else { return StackId(0) };
    let marker = line_marker(window.prefix());
    // Other ranks write in between: their lines carry another mark.
    let lines: Vec<&str> =
        before[start..].lines().filter_map(|line| line.strip_prefix(marker)).collect();
    if ends_early(&before[start..]) {
        return StackId(0);
    }
    let mut frames = of_python(&lines);
    if frames.is_empty() {
        frames = of_ipython(&lines);
    }
    if frames.is_empty() {
        frames = of_rich(&lines);
    }
    let ids = frames.iter().rev().take(MAX_FRAMES);
    let ids: Vec<FrameId> =
        ids.map(|frame| tables.frame_text(&frame.function, &frame.file, frame.line)).collect();
    tables.stack(&ids)
}

/// Returns true if a Python traceback ends long before its text does.
fn ends_early(text: &str) -> bool {
    let last = FRAME.find_iter(text).last();
    last.is_some_and(|last| text.len() - last.end() > MAX_BYTES_AFTER_FRAMES)
}

fn of_python(lines: &[&str]) -> Vec<Frame> {
    let found = lines.iter().filter_map(|line| FRAME.captures(line));
    found
        .map(|found| Frame {
            function: found[3].to_owned(),
            file: found[1].to_owned(),
            line: found[2].parse().unwrap_or(0),
        })
        .collect()
}

fn of_ipython(lines: &[&str]) -> Vec<Frame> {
    let mut frames: Vec<Frame> = Vec::new();
    for line in lines {
        if let Some(found) = IPYTHON_FRAME.captures(line) {
            let (file, function) = (found[1].to_owned(), found[3].to_owned());
            frames.push(Frame { function, file, line: found[2].parse().unwrap_or(0) });
        } else if let Some(found) = OLD_IPYTHON_FRAME.captures(line) {
            let (file, function) = (found[1].to_owned(), found[2].to_owned());
            frames.push(Frame { function, file, line: 0 });
        } else if let Some(found) = ARROW.captures(line)
            && let Some(frame) = frames.last_mut().filter(|frame| frame.line == 0)
        {
            frame.line = found[1].parse().unwrap_or(0);
        }
    }
    frames
}

/// Rich breaks a long path where its box ends.
fn of_rich(lines: &[&str]) -> Vec<Frame> {
    let mut frames = Vec::new();
    let mut begun = String::new();
    for line in lines {
        let line = line.trim_matches(BOX);
        let whole = format!("{begun}{line}");
        if let Some(found) = RICH_FRAME.captures(&whole) {
            let (file, function) = (found[1].to_owned(), found[3].to_owned());
            frames.push(Frame { function, file, line: found[2].parse().unwrap_or(0) });
            begun.clear();
        } else if line.starts_with(['/', '~']) || line.get(1..3) == Some(":\\") {
            line.clone_into(&mut begun);
        } else {
            begun.clear();
        }
    }
    frames
}

#[cfg(test)]
mod tests {
    use super::*;

    fn innermost(text: &str) -> Option<(String, String, u32)> {
        let message = b"\nOutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.";
        let log = [text.as_bytes(), message].concat();
        let at = log.len() - message.len() + 19;
        let mut tables = Tables::default();
        let stack = stack(&Window::around(&log, at), &mut tables);
        let frame = tables.frames(stack).next()?;
        Some((frame.function.to_owned(), frame.file.to_owned(), frame.line))
    }

    fn frame(function: &str, file: &str, line: u32) -> Option<(String, String, u32)> {
        Some((function.to_owned(), file.to_owned(), line))
    }

    #[test]
    fn a_loggers_words_before_each_line_are_passed_over() {
        let text = "(Worker pid=226322) ERROR 10-25 13:12:42 [multiproc_executor.py:671] Traceback (most recent call last):\n\
                    (Worker pid=226322) ERROR 10-25 13:12:42 [multiproc_executor.py:671]   File \"/v/vllm/v1/worker/gpu_model_runner.py\", line 3221, in _dummy_sampler_run";
        let message = "\n(Worker pid=226322) ERROR 10-25 13:12:42 [multiproc_executor.py:671] ";
        let expected = frame("_dummy_sampler_run", "/v/vllm/v1/worker/gpu_model_runner.py", 3221);
        let log = format!("{text}{message}torch.OutOfMemoryError: CUDA out of memory.");
        let at = log.rfind("CUDA").unwrap();
        let mut tables = Tables::default();
        let stack = stack(&Window::around(log.as_bytes(), at), &mut tables);
        let read = tables.frames(stack).next().unwrap();
        assert_eq!(Some((read.function.to_owned(), read.file.to_owned(), read.line)), expected);
    }

    #[test]
    fn frames_of_ipython_are_read() {
        let text = "OutOfMemoryError      Traceback (most recent call last)\n\
                    Cell In[21], line 2\n\
                    File /usr/local/lib/python3.8/dist-packages/transformers/trainer.py:2113, in Trainer.evaluate(self, eval_dataset)\n\
                    \x20  2110 start_time = time.time()\n\
                    -> 2113 output = eval_loop(\n";
        let file = "/usr/local/lib/python3.8/dist-packages/transformers/trainer.py";
        assert_eq!(innermost(text), frame("Trainer.evaluate", file, 2113));
        let old = "RuntimeError      Traceback (most recent call last)\n\
                   ~/envs/m/lib/python3.8/site-packages/sentence_transformers/util.py in cos_sim(a, b)\n\
                   \x20    40     a_norm = 1\n\
                   ---> 41     return a\n";
        let file = "~/envs/m/lib/python3.8/site-packages/sentence_transformers/util.py";
        assert_eq!(innermost(old), frame("cos_sim", file, 41));
    }

    #[test]
    fn frames_of_rich_are_read_where_its_box_breaks_them() {
        let text = "╭──── Traceback (most recent call last) ────╮\n\
                    │ /home/u/envs/longeval/lib/python3.10/site-packages/torch/distributed/fsdp/fla │\n\
                    │ t_param.py:462 in _init_flat_param                                            │\n\
                    │                                                                               │\n\
                    │    459 │   │   │   \"Passed-in `params`\"                                       │\n\
                    │ ❱  462 │   │   self.flat_param = FlatParamHandle.flatten_params(              │\n";
        let file = "/home/u/envs/longeval/lib/python3.10/site-packages/torch/distributed/fsdp/flat_param.py";
        assert_eq!(innermost(text), frame("_init_flat_param", file, 462));
    }
}
