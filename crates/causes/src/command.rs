//! The command of a run, and what of it can be made smaller.

use crate::shell_line::ShellLine;

/// Option names that set the amount of work, by kind, in the order in which they are tried: a smaller batch costs the
/// user less than a shorter sequence.
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

/// Programs that start the rest of their command line, once or several times.
const LAUNCHERS: [&str; 12] = [
    "torchrun",
    "deepspeed",
    "srun",
    "horovodrun",
    "env",
    "nohup",
    "nice",
    "ionice",
    "taskset",
    "numactl",
    "timeout",
    "time",
];

/// Launchers of MPI: their `-n` is the number of processes.
const MPI_LAUNCHERS: [&str; 5] = ["mpirun", "mpiexec", "mpiexec.hydra", "orterun", "prterun"];

/// Modules of Python that are launchers, after `python -m`.
const LAUNCHER_MODULES: [&str; 4] = [
    "torch.distributed.run",
    "torch.distributed.launch",
    "accelerate.commands.launch",
    "deepspeed.launcher.runner",
];

/// Options of launchers that set the number of processes on a machine.
const PROCESS_COUNTS: [&str; 8] = [
    "--nproc-per-node",
    "--nproc_per_node",
    "--num-processes",
    "--num_processes",
    "--num-gpus",
    "--num_gpus",
    "-np",
    "--np",
];

/// An option that sets the batch size, length or other size.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Size {
    /// The option as the command has it: `--batch`.
    pub(crate) option: String,
    /// Its value.
    pub(crate) value: u64,
    /// The name of the placeholder in the pattern.
    name: String,
    /// The command with the name in braces in place of the value.
    pattern: Vec<String>,
}

impl Size {
    /// Returns the size option of a command. Returns `None` if there is none, or its value is below 2.
    pub(crate) fn of(words: &[&str]) -> Option<Self> {
        let program = program_index(words)?;
        KINDS.iter().find_map(|(kind, names)| {
            // A later argument overrides an earlier one.
            (program + 1..words.len()).rev().find_map(|index| size_at(words, index, kind, names))
        })
    }

    /// Returns the option's name from [`KINDS`], never text of the command.
    pub(crate) fn trusted_name(&self) -> &str {
        &self.name
    }

    /// Adds the search for the largest value that fits to a line, up to the `--` before the program.
    pub(crate) fn search(&self, line: ShellLine) -> ShellLine {
        let Self { name, value, pattern, .. } = self;
        let line = match gpus_of_launcher(pattern) {
            Some(count) => line.literal("--gpus").word(count.to_string()),
            None => line,
        };
        line.literal("--vary").word(format!("{name}=1..{value}")).literal("--")
    }

    /// Adds the command to a line, with the placeholder for the value in its place.
    pub(crate) fn add_program(&self, line: ShellLine) -> ShellLine {
        line.pattern(&self.pattern, &format!("{{{}}}", self.name))
    }
}

/// Returns the size option at `index`, for `--key value`, `--key=value` and `a.key=value`.
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
    let placeholder = format!("{{{name}}}");
    let mut pattern: Vec<String> = words.iter().map(|&word| word.to_owned()).collect();
    match attached {
        Some(_) => pattern[index] = format!("{key}={placeholder}"),
        None => pattern[index + 1] = placeholder,
    }
    (value > 1).then_some(Size { option: key.to_owned(), value, name, pattern })
}

/// Returns the number of processes that a launcher starts, if more than one. Each of them uses one GPU.
fn gpus_of_launcher(words: &[String]) -> Option<u64> {
    let mut of_mpi = false;
    for (index, word) in words.iter().enumerate() {
        of_mpi |= MPI_LAUNCHERS.contains(&file_name(word));
        let (key, value) = match word.split_once('=') {
            Some((key, value)) => (key, Some(value)),
            None => (word.as_str(), words.get(index + 1).map(String::as_str)),
        };
        let is_count = PROCESS_COUNTS.contains(&key) || of_mpi && key == "-n";
        if is_count && let Some(count) = value.and_then(|value| value.parse().ok()) {
            return (count > 1).then_some(count);
        }
        if is_python(word) {
            of_mpi = false;
        }
    }
    None
}

/// Returns the index of the program whose options are looked at: the first word, or the program that launchers before
/// it start. Options of a launcher are not the program's: `-n` is the number of ranks for `mpirun`. `None` if no word
/// after a launcher can be told from a value of its options.
fn program_index(words: &[&str]) -> Option<usize> {
    let mut index = 0;
    while let Some(first_option) = launcher_end(words, index) {
        index = started_index(words, first_option)?;
    }
    Some(index)
}

/// Returns the index after the words of the launcher at an index. `None` if there is no launcher.
fn launcher_end(words: &[&str], index: usize) -> Option<usize> {
    let name = file_name(words.get(index)?);
    let (next, after) = (words.get(index + 1), words.get(index + 2));
    if name == "accelerate" {
        return (next == Some(&"launch")).then_some(index + 2);
    }
    if is_python(name) {
        let is_launcher =
            next == Some(&"-m") && after.is_some_and(|module| LAUNCHER_MODULES.contains(module));
        return is_launcher.then_some(index + 3);
    }
    (LAUNCHERS.contains(&name) || MPI_LAUNCHERS.contains(&name)).then_some(index + 1)
}

/// Returns the index of the program that a launcher with options from an index on starts. An option of a launcher may
/// have a value or none, so Python, a script and a module are looked for first.
fn started_index(words: &[&str], first_option: usize) -> Option<usize> {
    for index in first_option..words.len() {
        let (word, before) = (words[index], words[index - 1]);
        let is_launcher = launcher_end(words, index).is_some() && !before.starts_with('-');
        let is_module = ["-m", "--module"].contains(&before) && word.contains('.');
        if is_launcher || is_python(word) || word.ends_with(".py") || is_module {
            return Some(index);
        }
    }
    let is_program = |index: &usize| {
        let (word, before) = (words[*index], words[index - 1]);
        let may_be_value =
            *index > first_option && before.starts_with('-') && !before.contains('=');
        // `env` sets variables before the program.
        !word.starts_with('-') && !word.contains('=') && !may_be_value
    };
    (first_option..words.len()).find(is_program)
}

/// Returns the last part of a path.
fn file_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// Returns true for `python`, `python3`, `/usr/bin/python3.12`.
fn is_python(word: &str) -> bool {
    let version = file_name(word).strip_prefix("python");
    version.is_some_and(|version| version.chars().all(|c| c.is_ascii_digit() || c == '.'))
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
            (
                "mpirun -n 8 python train.py --batch 64",
                "whyoom fit --gpu l4 --gpus 8 --vary batch=1..64 -- mpirun -n 8 python train.py \
                 --batch {batch}",
            ),
            (
                "nice -n 5 /usr/bin/python3.12 train.py -n 9",
                "whyoom fit --gpu l4 --vary size=1..9 -- nice -n 5 /usr/bin/python3.12 train.py -n {size}",
            ),
            (
                "mpiexec --bind-to core -np 2 ./train --batch 64",
                "whyoom fit --gpu l4 --gpus 2 --vary batch=1..64 -- mpiexec --bind-to core -np 2 ./train \
                 --batch {batch}",
            ),
            (
                "accelerate launch --num-processes 2 -m pkg.train --bs 32",
                "whyoom fit --gpu l4 --gpus 2 --vary bs=1..32 -- accelerate launch --num-processes 2 -m \
                 pkg.train --bs {bs}",
            ),
            (
                "python -m torch.distributed.run --nproc-per-node=2 train.py -n 7",
                "whyoom fit --gpu l4 --gpus 2 --vary size=1..7 -- python -m torch.distributed.run \
                 --nproc-per-node=2 train.py -n {size}",
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
            "mpirun -n 8 python train.py",
            "mpirun -n 8 ./train",
            "env A=1 nohup mpirun --n=8 python train.py",
            "srun -n 8 -m block python train.py",
            "nice -n 5 ./train",
            "python -m torch.distributed.run -n 4 train.py",
            "mpirun -n 8",
        ] {
            assert_eq!(search(command), None, "{command}");
        }
    }
}
