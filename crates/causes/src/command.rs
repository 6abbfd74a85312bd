//! The command of a run, and what of it can be made smaller.

use crate::shell_line::ShellLine;

/// What people call the number of things that are worked on at once, and what it is for people. The earlier
/// is tried first: a batch is given up sooner than a length.
const KINDS: [(&str, &[&str]); 3] = [
    (
        "batch",
        &[
            "batch",
            "batch-size",
            "batchsize",
            "bs",
            "b",
            "train-batch-size",
            "eval-batch-size",
            "micro-batch-size",
            "micro-batch",
            "mbs",
            "per-device-batch-size",
            "per-device-train-batch-size",
            "per-device-eval-batch-size",
            "num-samples",
            "n-samples",
            "samples",
            "requests",
            "num-requests",
            "max-num-seqs",
            "sequences",
            "num-sequences",
            "num-return-sequences",
            "num-beams",
            "beams",
            "prompts",
            "queries",
            "images",
            "num-images",
            "clips",
            "envs",
            "num-envs",
            "particles",
            "walkers",
            "users",
            "streams",
            "concurrency",
        ],
    ),
    (
        "length",
        &[
            "seq-len",
            "seq-length",
            "seqlen",
            "sequence-length",
            "max-length",
            "max-len",
            "max-seq-len",
            "max-seq-length",
            "max-model-len",
            "max-tokens",
            "max-new-tokens",
            "block-size",
            "context",
            "context-length",
            "context-len",
            "ctx",
            "ctx-size",
            "length",
            "tokens",
            "frames",
            "num-frames",
        ],
    ),
    (
        "size",
        &[
            "chunk",
            "chunk-size",
            "tile",
            "tile-size",
            "tiles",
            "resolution",
            "image-size",
            "img-size",
            "imgsz",
            "width",
            "height",
            "size",
            "points",
            "rows",
            "n",
        ],
    ),
];

/// An argument that says how much is worked on at once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Size {
    /// What it is called in the command: `--batch`.
    pub(crate) option: String,
    /// Its value.
    pub(crate) value: u64,
    /// The name that stands for it in a pattern.
    name: String,
    /// The command with the name in braces in place of the value.
    pattern: Vec<String>,
}

impl Size {
    /// The argument of a command that reads most like it, if one does and can be lowered.
    pub(crate) fn of(words: &[&str]) -> Option<Self> {
        KINDS.iter().find_map(|(kind, names)| {
            // The first word is the program; a later argument overrides an earlier one.
            (1..words.len()).rev().find_map(|index| size_at(words, index, kind, names))
        })
    }

    /// Returns a word for the argument that is our own, whoever wrote the command.
    pub(crate) fn known_name(&self) -> &str {
        &self.name
    }

    /// Adds the search for the largest value that fits to a line, up to the `--` before the program.
    pub(crate) fn search(&self, line: ShellLine) -> ShellLine {
        let Self { name, value, pattern, .. } = self;
        let line = match processes(pattern) {
            Some(count) => line.own("--gpus").word(count.to_string()),
            None => line,
        };
        line.own("--vary").word(format!("{name}=1..{value}")).own("--")
    }

    /// Adds the command to a line, with the mark for the value in its place.
    pub(crate) fn add_program(&self, line: ShellLine) -> ShellLine {
        line.pattern(&self.pattern, &format!("{{{}}}", self.name))
    }
}

/// The size that the word at an index names, in one of the ways in which people write options.
fn size_at(
    words: &[&str],
    index: usize,
    kind: &'static str,
    names: &[&'static str],
) -> Option<Size> {
    let word = words[index];
    let (key, attached) = match word.split_once('=') {
        Some((key, value)) => (key, Some(value)),
        None => (word, None),
    };
    if attached.is_none() && !key.starts_with('-') {
        return None;
    }
    // Some write model.batch_size=8.
    let plain = key.trim_start_matches('-').rsplit('.').next()?.to_lowercase().replace('_', "-");
    if !names.contains(&plain.as_str()) {
        return None;
    }
    let value: u64 = attached.or(words.get(index + 1).copied())?.parse().ok()?;
    let name = if plain.len() > 1 { plain.replace('-', "_") } else { kind.to_owned() };
    let mark = format!("{{{name}}}");
    let mut pattern: Vec<String> = words.iter().map(|&word| word.to_owned()).collect();
    match attached {
        Some(_) => pattern[index] = format!("{key}={mark}"),
        None => pattern[index + 1] = mark,
    }
    (value > 1).then_some(Size { option: key.to_owned(), value, name, pattern })
}

/// How many processes a launcher starts, each of which has a GPU.
fn processes(words: &[String]) -> Option<u64> {
    let names = ["--nproc-per-node", "--nproc_per_node", "--num_processes", "--num_gpus"];
    let count = words.iter().enumerate().find_map(|(index, word)| {
        let (key, attached) =
            word.split_once('=').map_or((word.as_str(), None), |(k, v)| (k, Some(v)));
        let value = || attached.or(words.get(index + 1).map(String::as_str));
        names.contains(&key).then(value).flatten()?.parse().ok()
    });
    count.filter(|count| *count > 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn search(command: &str) -> Option<String> {
        let words: Vec<&str> = command.split(' ').collect();
        let size = Size::of(&words)?;
        size.add_program(size.search(ShellLine::new("whyoom fit --gpu l4"))).text()
    }

    #[test]
    fn what_reads_like_a_size_can_be_searched() {
        for (command, expected) in [
            (
                "python train.py --batch 64",
                "whyoom fit --gpu l4 --vary batch=1..64 -- python train.py --batch {batch}",
            ),
            (
                "python train.py --seq-len 4096 --batch_size=8",
                "whyoom fit --gpu l4 --vary batch_size=1..8 -- python train.py --seq-len 4096 \
                 --batch_size={batch_size}",
            ),
            (
                "python run.py -b 16",
                "whyoom fit --gpu l4 --vary batch=1..16 -- python run.py -b {batch}",
            ),
            (
                "python run.py model.seq_len=2048",
                "whyoom fit --gpu l4 --vary seq_len=1..2048 -- python run.py model.seq_len={seq_len}",
            ),
            (
                "torchrun --nproc-per-node 4 train.py --bs 32",
                "whyoom fit --gpu l4 --gpus 4 --vary bs=1..32 -- torchrun --nproc-per-node 4 train.py \
                 --bs {bs}",
            ),
        ] {
            assert_eq!(search(command).as_deref(), Some(expected), "{command}");
        }
    }

    #[test]
    fn what_cannot_be_lowered_is_left_alone() {
        for command in [
            "python train.py",
            "python train.py --batch 1",
            "python train.py --batch auto",
            "python train.py --epochs 64",
            "./batch 64",
            "python batch 64",
        ] {
            assert_eq!(search(command), None, "{command}");
        }
    }
}
