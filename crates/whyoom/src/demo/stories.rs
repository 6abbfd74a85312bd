//! The stories. Each has a folder in `demo`, with the program and its recording.

/// A run that whyoom carries with it.
pub(super) struct Story {
    pub(super) name: &'static str,
    /// What a person with this problem asks.
    pub(super) question: &'static str,
    /// What the program does.
    pub(super) about: &'static str,
    program: &'static str,
    pub(super) recorded_with: &'static str,
    /// The folder of `whyoom run`: a compressed tar archive.
    pub(super) recording: &'static [u8],
    /// A command that also shows it, on a simulated GPU: the GPU's options, and whyoom's own words.
    pub(super) live: Option<Live>,
    /// What to type for one's own program, and what that does.
    pub(super) next: &'static [(&'static str, &'static str)],
}

/// What runs on a simulated GPU now.
#[derive(Clone, Copy)]
pub(super) struct Live {
    pub(super) lab: &'static [&'static str],
    pub(super) words: &'static [&'static str],
}

impl Story {
    /// The first function of the program, with its line numbers.
    pub(super) fn excerpt(&self) -> impl Iterator<Item = (usize, &'static str)> {
        let lines = self.program.lines().zip(1..).map(|(line, number)| (number, line));
        let lines = lines.skip_while(|(_, line)| !line.starts_with("def "));
        lines.take_while(|(_, line)| !line.is_empty())
    }
}

macro_rules! program {
    ($name:literal) => {
        include_str!(concat!("../../demo/", $name, "/train.py"))
    };
}

macro_rules! recording {
    ($name:literal) => {
        include_bytes!(concat!("../../demo/", $name, "/recording.tar.gz"))
    };
}

const RUN: (&str, &str) = ("whyoom run -- python train.py", "records it; explains an OOM");

pub(super) const STORIES: &[Story] = &[
    Story {
        name: "fragmented",
        question: "CUDA out of memory although memory is free?",
        about: "\
A program encodes texts, each of another length, and keeps the newest, up to a limit.
What is kept never exceeds the limit. In the end 282 MiB fails while 1.78 GiB is reserved but unallocated.",
        program: program!("fragmented"),
        recorded_with: "whyoom run -- python train.py",
        recording: recording!("fragmented"),
        live: None,
        next: &[
            RUN,
            ("whyoom run --apply -- python train.py", "and reruns it with the setting that fits"),
        ],
    },
    Story {
        name: "growing",
        question: "CUDA out of memory, but only after a while?",
        about: "\
A program evaluates batches of the same size and keeps what it needs for a metric at the end.
The first hundred batches fit.",
        program: program!("growing"),
        recorded_with: "whyoom run --keepers -- python train.py",
        recording: recording!("growing"),
        live: None,
        next: &[
            RUN,
            ("whyoom run --keepers -- python train.py", "also names the variable that keeps it"),
        ],
    },
    Story {
        name: "other-process",
        question: "CUDA out of memory although the program is small?",
        about: "\
A program trains a small model that needs less than 1 GiB. On the same GPU, notebook.py was left open.
(Process numbers in the verdict are those of the recording: there is nothing to end on this machine.)",
        program: program!("other-process"),
        recorded_with: "whyoom run -- python train.py",
        recording: recording!("other-process"),
        live: Some(Live {
            lab: &["--gpu", "rtx-3060", "--memory", "4GiB", "--fault", "orphan=3GiB"],
            words: &["who"],
        }),
        next: &[("whyoom who", "who holds GPU memory on this machine, and how to free it"), RUN],
    },
    Story {
        name: "too-large",
        question: "CUDA out of memory in the first step: how large may the batch be?",
        about: "\
A program trains a transformer with --batch 1024 on a GPU with 4 GiB.
It fails in the first forward pass.",
        program: program!("too-large"),
        recorded_with: "whyoom run -- python train.py --batch 1024",
        recording: recording!("too-large"),
        live: None,
        next: &[
            RUN,
            (
                "whyoom fit --vary batch=1..1024 -- python train.py --batch {batch}",
                "the largest batch that fits, without a GPU",
            ),
        ],
    },
    Story {
        name: "healthy",
        question: "Is the memory of my program all right?",
        about: "\
A program trains for 40 steps and keeps each loss as a number. It succeeds; nvidia-smi shows more
memory in use than its tensors need.",
        program: program!("healthy"),
        recorded_with: "whyoom run -- python train.py",
        recording: recording!("healthy"),
        live: None,
        next: &[
            RUN,
            ("whyoom run --report run.html -- python train.py", "and shows its memory over time"),
        ],
    },
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_story_fits_on_a_screen() {
        for Story { name, question, about, next, .. } in STORIES {
            assert!(name.len() + question.len() < 96, "{name}");
            assert!(about.lines().all(|line| line.len() <= 110), "{name}");
            assert!(!next.is_empty(), "{name}");
        }
    }

    #[test]
    fn every_program_shows_a_function() {
        for story in STORIES {
            let lines = story.excerpt().count();
            assert!((2..=12).contains(&lines), "{}: {lines} lines", story.name);
        }
    }

    #[test]
    fn all_together_they_stay_small() {
        let bytes: usize = STORIES.iter().map(|story| story.recording.len()).sum();
        assert!(bytes < 300 * 1024, "{bytes}");
    }
}
